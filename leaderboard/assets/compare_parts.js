// The pieces of a comparison's page: scores, the test in words, outcomes against one another.
"use strict";

const compareParts = (() => {
  const OUTCOMES = { c: "correct", i: "incorrect", a: "abstained", u: "unparseable", f: "failed" };
  const SVG = "http://www.w3.org/2000/svg";

  // An element with its attributes and children; texts become text nodes, never markup.
  function made(tag, attributes = {}, ...children) {
    return filled(document.createElement(tag), attributes, children);
  }

  function drawn(tag, attributes = {}, ...children) {
    return filled(document.createElementNS(SVG, tag), attributes, children);
  }

  function filled(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children.flat(9).filter((child) => child !== null && child !== undefined && child !== ""));
    return element;
  }

  function num(text, ...more) {
    return made("td", { class: "num" }, text, ...more);
  }

  function row(cells, attributes = {}) {
    return made("tr", attributes, ...cells);
  }

  function heads(names, numeric = () => true) {
    return made("thead", {}, row(names.map((name, at) => made("th", { scope: "col", class: at && numeric(at) ? "num" : null }, name))));
  }

  function table(kind, caption, head, rows) {
    return made("div", { class: kind.startsWith("small") ? "scroll fit" : "scroll", role: "region", "aria-label": caption, tabindex: "0" },
      made("table", { class: kind }, made("caption", { class: "hidden" }, caption), head, made("tbody", {}, ...rows)));
  }

  // A section whose heading can be linked to.
  function section(id, title, ...children) {
    return made("section", { "aria-labelledby": `${id}-heading`, id }, made("h2", { id: `${id}-heading` }, title), ...children);
  }

  function badge(letter) {
    const box = drawn("svg", { width: 11, height: 11, viewBox: "0 0 12 12", "aria-hidden": "true" },
      drawn("rect", { class: `o-${OUTCOMES[letter]}`, width: 12, height: 12 }));
    return made("span", { class: "outcome" }, box, "\u00a0", OUTCOMES[letter]);
  }

  function count(n) {
    return n.toLocaleString("en-US");
  }

  // A sum of points, which are whole numbers.
  function points(n) {
    return n > 0 ? `+${count(n)}` : count(n).replace("-", "\u2212");
  }

  // A value and its interval on the axis from -1 to +1; a difference may lie outside and is cut there.
  function intervalBar([value, low, high], label) {
    const place = (x) => (Math.max(-1, Math.min(1, x)) + 1) * 100;
    return drawn("svg", { class: "interval", width: 130, height: 16, viewBox: "0 0 200 24", role: "img", "aria-label": label },
      drawn("line", { class: "axis", x1: 0, y1: 12, x2: 200, y2: 12 }),
      drawn("line", { class: "zero", x1: 100, y1: 0, x2: 100, y2: 24 }),
      drawn("rect", { class: "range", x: place(low), y: 7, width: Math.max(place(high) - place(low), 0.5), height: 10, rx: 2 }),
      drawn("line", { class: "at", x1: place(value), y1: 3, x2: place(value), y2: 21 }));
  }

  function outcomeBar(counts, n, label) {
    const pieces = [];
    let done = 0;
    for (const [name, k] of Object.entries(counts)) {
      if (k) pieces.push(drawn("rect", { class: `o-${name}`, x: (100 * done) / n, y: 0, width: (100 * k) / n, height: 12 }));
      done += k;
    }
    return drawn("svg", { class: "outcomes", width: 90, height: 14, viewBox: "0 0 100 12", preserveAspectRatio: "none", role: "img", "aria-label": label }, ...pieces);
  }

  function systemCell(system) {
    const notes = [system.team && ["· ", made("bdi", {}, system.team)], system.blind && made("span", { class: "badge" }, "blind"),
      system.withdrawn && made("span", { class: "badge warn" }, "withdrawn")].filter(Boolean);
    return made("th", { scope: "row", class: "system" }, made("a", { href: system.page }, made("strong", {}, system.slug)),
      made("span", { class: "under" }, made("bdi", {}, system.name), ...notes.flatMap((note) => [" ", note])));
  }

  function scoreRow(system, n) {
    const { shown, interval } = system;
    return row([systemCell(system),
      num(made("strong", {}, shown.score), interval && made("span", { class: "under" }, shown.interval)),
      made("td", { class: "bar" }, interval ? intervalBar([system.rates.score, ...interval], shown.interval_told) : ""),
      made("td", { class: "bar" }, outcomeBar(system.counts, n, shown.outcomes_told)),
      ...["accuracy", "hallucination", "missing", "accuracy_given_attempted", "strict_score"].map((name) => num(shown[name]))]);
  }

  function differenceRow({ a, b, shown, place }) {
    const label = `${shown.difference}, 95 % interval ${shown.interval}, on an axis from \u22121 to +1`;
    return row([made("th", { scope: "row" }, "Difference", made("span", { class: "under" }, `${a.slug} \u2212 ${b.slug}`)),
      num(made("strong", {}, shown.difference), made("span", { class: "under" }, shown.interval)),
      made("td", { class: "bar" }, intervalBar(place, label)), made("td", {}),
      ...["accuracy_gap", "hallucination_gap", "missing_gap"].map((name) => num(shown[name])), num(""), num(shown.strict_difference)], { class: "sum" });
  }

  function scores(pair) {
    const small = (text, unit) => [text, " ", made("small", {}, unit)];
    const names = ["System", small("Score", "95 %"), "Score on its axis, \u22121 to +1", "Outcomes", small("Accuracy", "%"), small("Hallucination", "%"),
      small("Missing", "%"), small("Acc. given attempted", "%"), "Strict score"];
    return section("scores", "Scores", table("scores", "Both systems: score with its 95 % interval, outcomes and rates",
      heads(names, (at) => at !== 2 && at !== 3), [scoreRow(pair.a, pair.n), scoreRow(pair.b, pair.n), differenceRow(pair)]));
  }

  // The numbers of every test, side by side.
  function tests({ a, b, shown }) {
    const of = (name, ...texts) => row([made("th", { scope: "row" }, name), ...texts.map((text) => num(text))]);
    return table("small tests", "The tests in numbers", heads(["Test", `${a.slug} \u2212 ${b.slug}`, "95 % interval", "p", `p after Holm, ${shown.n_pairs} pairs`]), [
      of("Score, exact sign-flip", shown.difference, shown.interval, shown.p, shown.p_holm),
      of("Strict score, exact sign-flip", shown.strict_difference, shown.strict_interval, shown.strict_p, "–"),
      of("Being right, exact McNemar", `${shown.first_only} : ${shown.second_only}`, "–", shown.mcnemar_p, shown.mcnemar_p_holm),
    ]);
  }

  function test(pair) {
    return section("test", "The test, in words", ...pair.remarks.map((text) => made("p", {}, text)), tests(pair));
  }

  // How often each pair of outcomes occurred.
  function tally(pair) {
    const found = {};
    const [first, second] = pair.letters;
    for (let at = 0; at < first.length; at += 1) found[first[at] + second[at]] = (found[first[at] + second[at]] || 0) + 1;
    return found;
  }

  function crossed(pair) {
    const found = tally(pair);
    const letters = Object.keys(OUTCOMES);
    const corner = `${pair.a.slug} \u2193 ${pair.b.slug} \u2192`;
    const five = letters.map((a) => row([made("th", { scope: "row" }, badge(a)),
      ...letters.map((b) => made("td", { class: a === b ? "num same" : "num" }, count(found[a + b] || 0)))]));
    const right = found.cc || 0;
    const either = right + letters.reduce((sum, one) => sum + (one === "c" ? 0 : (found[`c${one}`] || 0) + (found[`${one}c`] || 0)), 0);
    const two = [["right", count(right), pair.shown.first_only], ["not right", pair.shown.second_only, count(pair.n - either)]]
      .map(([name, x, y]) => row([made("th", { scope: "row" }, name), num(x), num(y)]));
    return section("crossed", "Outcomes against one another",
      made("p", {}, `Each of the ${pair.shown.n} questions once: rows are what ${pair.a.slug} did, columns ${pair.b.slug}.`),
      made("div", { class: "pair" }, table("small crossed", "Five outcomes", heads([corner, ...Object.values(OUTCOMES)]), five),
        table("small crossed", "Right or not", heads([corner, "right", "not right"]), two)));
  }

  return { OUTCOMES, made, num, row, heads, table, section, badge, count, points, scores, test, crossed };
})();
