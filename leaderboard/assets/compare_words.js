// Numbers and sentences of a comparison, as `edu-rag compare` writes them.
"use strict";

const compareWords = (() => {
  const ALPHA = 0.05;
  const MINUS = "\u2212";

  // Of two decimals that are equally near, JavaScript takes the larger, Python the even one. A double has an exact
  // expansion, so that 40 digits more than asked for tell whether both are equally near.
  function isMiddle(tail) {
    return /^50*$/.test(tail);
  }

  function isEven(text) {
    return Number(text.at(-1)) % 2 === 0;
  }

  function fixed(value, digits) {
    const size = Math.abs(value);
    const long = size.toFixed(digits + 40);
    const cut = long.slice(0, -40).replace(/\.$/, "");
    const text = isMiddle(long.slice(-40)) && isEven(cut) ? cut : size.toFixed(digits);
    return value < 0 ? `-${text}` : text;
  }

  function signed(value, digits = 3) {
    const text = fixed(value, digits);
    return Number(text) === 0 ? text.replace("-", "") : text.replace("-", MINUS);
  }

  function delta(value, digits = 3) {
    const text = signed(value, digits);
    return Number(text.replace(MINUS, "-")) > 0 ? `+${text}` : text;
  }

  function percent(rate) {
    return rate === null ? "–" : fixed(rate * 100, 1);
  }

  // Two significant digits, as Python's %.2g.
  function general(value) {
    if (value === 0) return "0";
    const [long, places] = value.toExponential(41).split("e");
    const cut = long.slice(0, 3);
    const [text, exponent] = isMiddle(long.slice(3)) && isEven(cut) ? [cut, places] : value.toExponential(1).split("e");
    const power = Number(exponent);
    const short = (shown) => (shown.includes(".") ? shown.replace(/\.?0+$/, "") : shown);
    if (power < -4 || power >= 2) return `${short(text)}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
    const digits = text.replace(".", "");
    return short(power < 0 ? `0.${"0".repeat(-power - 1)}${digits}` : power === 0 ? text : digits);
  }

  function count(n) {
    return n.toLocaleString("en-US");
  }

  // A p-value as a share of tests.
  function chance(p) {
    if (p >= 0.995) return "nearly all";
    for (const outOf of [100, 1000, 10000]) {
      if (p * outOf >= 1) return `about ${count(Number(fixed(p * outOf, 0)))} of ${count(outOf)}`;
    }
    return "fewer than 1 of 10,000";
  }

  function same(pair) {
    return pair.a.predictions_sha256 !== "" && pair.a.predictions_sha256 === pair.b.predictions_sha256;
  }

  function inOrder(pair) {
    return pair.difference > 0 ? [pair.a.slug, pair.b.slug] : [pair.b.slug, pair.a.slug];
  }

  // Who scores how much more.
  function lead(pair) {
    const questions = `these ${count(pair.n)} questions`;
    if (same(pair)) return `${pair.a.slug} and ${pair.b.slug} are the same predictions.`;
    if (pair.difference === 0) return `${pair.a.slug} and ${pair.b.slug} have the same score on ${questions}.`;
    const [ahead, behind] = inOrder(pair);
    const [low, high] = pair.difference > 0 ? [pair.low, pair.high] : [-pair.high, -pair.low];
    return `${ahead} scores ${signed(Math.abs(pair.difference))} more than ${behind} on ${questions}; ` +
      `the 95 % interval of the difference is ${signed(low)} to ${signed(high)}.`;
  }

  // Whether that is established, and why.
  function because(pair) {
    if (same(pair)) return "There is nothing to compare.";
    const said = `a difference at least this large turns up in ${chance(pair.p)} tests between equally good systems`;
    const asked = `(p = ${general(pair.p)}, at most ${ALPHA} is asked for)`;
    if (pair.p > ALPHA) return `Not established, because ${said} ${asked}.`;
    const [ahead, behind] = inOrder(pair);
    return `Established, because ${said} ${asked}. So ${ahead} is better than ${behind}.`;
  }

  function* edge(pair) {
    if ((pair.low <= 0 && pair.high >= 0) === (pair.p <= ALPHA) && pair.difference !== 0) {
      yield "Interval and test are made in different ways and disagree here, at the edge: the test decides.";
    }
  }

  function* detectable(pair) {
    if (pair.detectable === null) return;
    const size = signed(pair.detectable);
    yield pair.p > ALPHA
      ? "What is not established is not shown to be nothing: with this many questions, a true difference of " +
        `${size} is found in 4 of 5 cases, and a smaller one easily goes unnoticed.`
      : `With this many questions, a true difference of ${size} is found in 4 of 5 cases.`;
  }

  // Why one system scores more although the other is right more often.
  function* contrary(pair) {
    if (pair.difference * (pair.first_only - pair.second_only) >= 0) return;
    const [ahead, behind] = inOrder(pair);
    const [mine, other] = pair.difference > 0 ? [pair.letters[0], pair.letters[1]] : [pair.letters[1], pair.letters[0]];
    let held = 0;
    for (let at = 0; at < mine.length; at += 1) held += "auf".includes(mine[at]) && other[at] === "i";
    const wrong = (letters) => count(letters.split("i").length - 1);
    const gave = held ? `; it gives no answer to ${count(held)} of the questions on which ${behind} is wrong` : "";
    yield `${ahead} scores more although ${behind} is right more often: a wrong answer costs a point, and ${behind} is ` +
      `wrong on ${wrong(other)} questions, ${ahead} on ${wrong(mine)}${gave}.`;
  }

  // What else a reader should know.
  function remarks(pair) {
    const lessons = pair.n_units === pair.n ? "" : ` Questions of one lesson are drawn together (${count(pair.n_units)} lessons).`;
    return [
      ...edge(pair),
      ...detectable(pair),
      `Only ${pair.a.slug} is right on ${count(pair.first_only)} questions, only ${pair.b.slug} on ` +
        `${count(pair.second_only)} (exact McNemar test on being right: p = ${general(pair.mcnemar_p)}).`,
      ...contrary(pair),
      `If unparseable and failed cost a point too, the difference is ${signed(pair.strict_difference)} ` +
        `(${signed(pair.strict_low)} to ${signed(pair.strict_high)}, p = ${general(pair.strict_p)}).`,
      `Interval: paired bootstrap; test: exact sign-flip.${lessons} This is one test of one pair: whoever picks the ` +
        `best of many systems must correct for that. After Holm’s correction over all ${count(pair.n_pairs)} pairs of ` +
        `this table p is ${general(pair.p_holm)}, and McNemar’s ${general(pair.mcnemar_p_holm)}.`,
    ];
  }

  // The page offers all pairs of a table: one that was picked for its scores must stand among all of them.
  function* picked(pair) {
    if (same(pair) || pair.p > ALPHA || pair.p_holm <= ALPHA) return;
    yield `that is for this pair alone. Among all ${count(pair.n_pairs)} pairs of the table it is not established ` +
      `(p = ${general(pair.p_holm)} after Holm’s correction), which counts if you picked the two for their scores.`;
  }

  // What must be known before believing the rest.
  function caveats(pair) {
    const found = [...picked(pair), ...pair.table_caveats.map((text) => `${text}.`)];
    const versions = [...new Set([pair.a.dataset, pair.b.dataset])].sort();
    if (versions.length > 1) found.push(`the dataset’s versions differ (${versions.join(" and ")}): same questions, but other pages or evidence.`);
    if (pair.a.judges !== pair.b.judges) found.push("free text was graded by different judges.");
    for (const system of [pair.a, pair.b]) {
      if (system.made_on) found.push(`${system.slug} answered on ${system.made_on}, not on ${system.dataset}.`);
    }
    return found;
  }

  return { ALPHA, fixed, signed, delta, percent, general, count, lead, because, remarks, caveats };
})();
