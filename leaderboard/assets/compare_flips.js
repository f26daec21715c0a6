// Where two systems part: flips by group and by slice, and the questions with both answers side by side.
"use strict";

const compareFlips = (() => {
  const { made, num, row, heads, table, badge, count, points: signedPoints } = compareParts;
  const POINTS = { c: 1, i: -1, a: 0, u: 0, f: 0 };
  const AT_ONCE = 10;
  const LISTED = 500;

  function names(pair) {
    const [a, b] = [pair.a.slug, pair.b.slug];
    return {
      only_first: `Only ${a} is right`,
      only_second: `Only ${b} is right`,
      first_wrong: `${a} is wrong where ${b} gave no answer`,
      second_wrong: `${b} is wrong where ${a} gave no answer`,
      both: "Both are right",
      none: "Neither is right, and both earned the same",
    };
  }

  function groupOf(a, b) {
    if (a === "c" || b === "c") return a === b ? "both" : a === "c" ? "only_first" : "only_second";
    if ((a === "i") === (b === "i")) return "none";
    return a === "i" ? "first_wrong" : "second_wrong";
  }

  function grouped(pair) {
    const found = Object.fromEntries(Object.keys(names(pair)).map((name) => [name, []]));
    for (let at = 0; at < pair.n; at += 1) found[groupOf(pair.letters[0][at], pair.letters[1][at])].push(at);
    return found;
  }

  function points(pair, places) {
    return places.reduce((sum, at) => sum + POINTS[pair.letters[0][at]] - POINTS[pair.letters[1][at]], 0);
  }

  function groupTable(pair, groups) {
    const rows = Object.entries(names(pair)).map(([name, text]) =>
      row([made("th", { scope: "row" }, text), num(count(groups[name].length)), num(signedPoints(points(pair, groups[name])))]));
    return table("small groups", "Questions by group", heads(["Group", "Questions", `Points, ${pair.a.slug} \u2212 ${pair.b.slug}`]), rows);
  }

  function sliceRow(pair, groupAt, [attribute, value, places]) {
    const n = { both: 0, only_first: 0, only_second: 0 };
    for (const place of places) if (groupAt[place] in n) n[groupAt[place]] += 1;
    const none = places.length - n.both - n.only_first - n.only_second;
    return row([made("td", {}, attribute), made("th", { scope: "row" }, made("bdi", {}, value)),
      ...[places.length, n.both, n.only_first, n.only_second, none].map((k) => num(count(k))), num(signedPoints(points(pair, places)))]);
  }

  function sliceTable(pair, groupAt, slices, caption) {
    const head = heads(["Attribute", "Value", "Questions", "Both right", `Only ${pair.a.slug}`, `Only ${pair.b.slug}`, "Neither right", "Points"], (at) => at > 1);
    return table("slices by-slice", caption, head, slices.map((slice) => sliceRow(pair, groupAt, slice)));
  }

  // Lessons are many: their table is made when it is asked for, those that move the difference most first.
  function lessonTable(pair, groupAt, lessons) {
    const box = made("details", {}, made("summary", {}, `By lesson: ${count(lessons.length)}`));
    box.addEventListener("toggle", () => {
      const weight = new Map(lessons.map((slice) => [slice, Math.abs(points(pair, slice[2]))]));
      box.append(sliceTable(pair, groupAt, [...lessons].sort((x, y) => weight.get(y) - weight.get(x)), "Flips by lesson"));
    }, { once: true });
    return box;
  }

  function bySlice(pair, exam) {
    const groupAt = Array.from({ length: pair.n }, (_, at) => groupOf(pair.letters[0][at], pair.letters[1][at]));
    const { few, lessons } = compareQuestions.slices(exam);
    return [made("h3", { id: "by-slice" }, "By slice"), sliceTable(pair, groupAt, few, "Flips by slice"), lessonTable(pair, groupAt, lessons)];
  }

  // Without the questions there are places only, by what the two did there.
  function placesOnly(pair, places) {
    const found = new Map();
    for (const at of places) {
      const key = pair.letters[0][at] + pair.letters[1][at];
      if (!found.has(key)) found.set(key, []);
      found.get(key).push(`#${at + 1}`);
    }
    const listed = [...found].map(([[a, b], ids]) => [
      made("dt", {}, `${pair.a.slug} `, badge(a), `, ${pair.b.slug} `, badge(b), ` (${count(ids.length)})`),
      made("dd", {}, ids.slice(0, LISTED).join(" "), ids.length > LISTED ? ` and ${count(ids.length - LISTED)} more` : ""),
    ]);
    return [made("dl", { class: "places" }, ...listed), made("p", { class: "quiet" }, "#17 is the 17th question in order of id.")];
  }

  // Ten questions, and a button for ten more.
  async function more(pair, exam, places, list, button, status) {
    const from = list.children.length;
    button.disabled = true;
    const articles = await Promise.all(places.slice(from, from + AT_ONCE).map((place) => compareQuestions.article(exam, pair, place)));
    list.append(...articles);
    const left = places.length - list.children.length;
    button.disabled = false;
    button.hidden = left === 0;
    button.textContent = `Show ${Math.min(AT_ONCE, left)} more`;
    status.textContent = `${count(list.children.length)} of ${count(places.length)} shown`;
    if (from) articles[0].querySelector("a").focus();
  }

  function questions(pair, exam, places) {
    if (!places.length) return [made("p", {}, "There is no such question.")];
    if (!exam) return placesOnly(pair, places);
    const list = made("div", { class: "flips" });
    const button = made("button", { type: "button", class: "more" });
    const status = made("p", { class: "quiet", role: "status" });
    const go = () => more(pair, exam, places, list, button, status).catch((error) => {
      status.textContent = `These questions could not be read (${error.message}).`;
    });
    button.addEventListener("click", go);
    go();
    return [list, status, button];
  }

  // A choice that the address keeps.
  function kept(name, label, options, first) {
    const select = made("select", { id: name }, ...options.map(([value, text]) => made("option", { value }, text)));
    const wanted = new URL(location.href).searchParams.get(name);
    select.value = options.some(([value]) => value === wanted) ? wanted : first;
    select.addEventListener("change", () => {
      const url = new URL(location.href);
      url.searchParams.set(name, select.value);
      history.replaceState(null, "", url);
    });
    return [select, made("label", {}, `${label} `, select)];
  }

  function picker(pair, groups, exam) {
    const first = groups.only_first.length || !groups.only_second.length ? "only_first" : "only_second";
    const [show, showLabel] = kept("show", "Show", Object.entries(names(pair)).map(([name, text]) => [name, `${text} (${count(groups[name].length)})`]), first);
    const slices = new Map((exam ? compareQuestions.slices(exam).few : []).map(([attribute, value, places]) => [`${attribute}: ${value}`, places]));
    const [among, amongLabel] = kept("among", "Among", [["", `all ${count(pair.n)} questions`],
      ...[...slices].map(([name, places]) => [name, `${name} (${count(places.length)})`])], "");
    const box = made("div", {});
    const heading = made("h3", { id: "questions" });
    const fill = () => {
      heading.textContent = `The questions: ${names(pair)[show.value]}${among.value ? ` (${among.value})` : ""}`; // for print, too
      const within = new Set(slices.get(among.value));
      box.replaceChildren(...questions(pair, exam, groups[show.value].filter((place) => !among.value || within.has(place))));
    };
    show.addEventListener("change", fill);
    among.addEventListener("change", fill);
    fill();
    return [heading, made("div", { class: "choose" }, showLabel, slices.size ? amongLabel : ""),
      ...(exam ? legend(pair) : []), box];
  }

  // What the reader of the answers must know.
  function legend(pair) {
    const without = [pair.a, pair.b].filter((system) => !system.answers).map((system) => system.slug);
    const none = without.length ? [made("p", {}, `The predictions of ${without.join(" and ")} are not on this site: it knows whether the answers are right, but not what they are.`)] : [];
    if (without.length === 2) return none;
    return [...none, made("p", { class: "quiet" }, "Below each answer are the first passages that it cites, five at most, each cut after 300 characters; ",
      made("mark", {}, "marked"), ": evidence for the answer that counts as right.")];
  }

  // Why questions and slices are not here.
  function absent(pair, trouble) {
    if (trouble) return made("p", { class: "warn" }, `The questions could not be read (${trouble}).`);
    const command = made("code", {}, `edu-rag compare ${pair.a.slug} ${pair.b.slug} --dataset DIR --html FILE`);
    return made("p", {}, "This site was built without the questions of this table, so it names them by number, and shows neither slices nor answers. " +
      "Whoever has the dataset and both submissions sees them with ", command, ".");
  }

  // The section at once with its counts; slices and questions follow when their files are there.
  function section(pair, read) {
    const groups = grouped(pair);
    const rest = made("div", {});
    let trouble = "";
    compareQuestions.open(pair, read).catch((error) => {
      trouble = error.message;
      return null;
    }).then((exam) => {
      rest.replaceChildren(...(exam ? bySlice(pair, exam) : [absent(pair, trouble)]), ...picker(pair, groups, exam));
    });
    return compareParts.section("flips", "Where they part",
      made("p", {}, "Questions in the first four groups earned the two different points; together they are the difference of the scores."),
      groupTable(pair, groups), rest);
  }

  return { section };
})();
