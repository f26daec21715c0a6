// The questions behind a comparison, where the site shows them: see leaderboard/questions/__init__.py for the files.
"use strict";

const compareQuestions = (() => {
  const { made, badge } = compareParts;
  const IN_THE_OPEN = 2;
  const UNKNOWN = { a: "I don’t know", u: "words that are not at hand", f: "no answer" };

  // The index of a table's questions: `numbers` leads from the place of an outcome letter to the exam's number of the
  // question, since a sample asks some of the exam's questions only. Null where the site does not show them.
  async function open(pair, read) {
    if (!pair.questions) return null;
    const index = await read(pair.questions);
    const place = (slug) => index.systems.findIndex((system) => system.table === pair.table && system.slug === slug);
    const systems = [place(pair.a.slug), place(pair.b.slug)];
    if (systems.includes(-1)) return null;
    const asked = (await read(index.systems[systems[0]].outcomes)).trim();
    const numbers = [];
    for (let at = 0; at < asked.length; at += 1) if (asked[at] !== "-") numbers.push(at);
    if (numbers.length !== pair.n) return null;
    return { index, systems, numbers, folder: pair.questions.replace(/[^/]*$/, ""), read, slices: await read(pair.slices) };
  }

  function lessonOf(exam, number) {
    return exam.index.lessons[exam.index.lesson[number]];
  }

  // The place of a question in the explorer.
  function permalink(exam, number) {
    const anchor = exam.index.anchors[number] || exam.index.ids[number];
    return `${exam.folder}${lessonOf(exam, number).slug}.html#${encodeURIComponent(anchor)}`;
  }

  // A question with what was said to it; its pages come with it.
  async function questionAt(exam, number) {
    const shard = await exam.read(`${exam.folder}data/${lessonOf(exam, number).slug}.json`);
    const question = shard.questions.find((one) => one.question_id === exam.index.ids[number]);
    return { question, pages: shard.pages };
  }

  function choices(question, answers, names) {
    const chips = (label) => answers.map((answer, at) => (answer && answer[2] === label ? [" ", made("span", { class: "badge chosen" }, names[at])] : ""));
    return made("ul", { class: "choices" }, ...Object.entries(question.choices).map(([label, text]) =>
      made("li", {}, made("b", {}, label), " ", made("bdi", {}, text), ...chips(label))));
  }

  function quote({ question, pages }, place) {
    const [page, , , , method] = question.quotes[place];
    const [, title, address] = pages[page];
    const from = made("bdi", {}, title || "untitled page");
    const methods = [...new Set(compareMarks.evidenceIn(question, place).map((one) => one[4]))];
    return made("figure", { class: "passage" },
      made("blockquote", { dir: "auto" }, ...compareMarks.marked(question, place)),
      made("figcaption", {}, address ? made("a", { href: address, rel: "nofollow noopener noreferrer" }, from) : from,
        methods.length ? ` · ${method === null ? "holds evidence" : "evidence"} (${methods.join(", ")})` : ""));
  }

  // What was said: a choice in full, other words, or why there are none.
  function answered(question, said, letter) {
    if (said === null) return made("em", {}, UNKNOWN[letter] || "an answer that is not at hand");
    if (!Object.hasOwn(question.choices, said)) return made("q", { dir: "auto" }, said);
    return [made("b", {}, said), " ", made("bdi", {}, question.choices[said])];
  }

  function side(found, answer, letter, system) {
    const heading = made("h4", {}, `${system.slug}: `, badge(letter));
    if (!system.answers) return made("div", { class: "side" }, heading);
    const [, , said, confidence, cited] = answer || [0, "", null, null, []];
    const sure = confidence === null ? "" : made("span", { class: "quiet" }, ` · confidence ${Number(confidence.toPrecision(2))}`);
    return made("div", { class: "side" }, heading, made("p", {}, answered(found.question, said, letter), sure), ...passages(found, cited));
  }

  // The first passages and those that hold evidence in the open, the others folded.
  function passages(found, cited) {
    if (!cited.length) return [made("p", { class: "quiet" }, "cites no passage")];
    const open = cited.filter((place, at) => at < IN_THE_OPEN || compareMarks.evidenceIn(found.question, place).length);
    const others = cited.filter((place) => !open.includes(place)).map((place) => quote(found, place));
    const folded = made("details", {}, made("summary", {}, `${others.length} more`), ...others);
    return [...open.map((place) => quote(found, place)), others.length ? folded : ""];
  }

  // The evidence that no passage shown here holds.
  function missed(found, answers) {
    const { question } = found;
    const cited = answers.flatMap((answer) => (answer ? answer[4] : []));
    const held = new Set(cited.flatMap((place) => compareMarks.evidenceIn(question, place)));
    const places = question.quotes.map((_, place) => place).filter((place) => question.quotes[place][4] !== null && !held.has(question.quotes[place]));
    if (!places.length) return "";
    const what = cited.length ? "Evidence that none of these passages holds" : "Evidence";
    return made("details", {}, made("summary", {}, `${what}: ${places.length}`), ...places.map((place) => quote(found, place)));
  }

  // One question with both answers side by side.
  async function article(exam, pair, place) {
    const number = exam.numbers[place];
    const found = await questionAt(exam, number);
    const answers = exam.systems.map((system) => found.question.answers.find((answer) => answer[0] === system));
    const systems = [pair.a, pair.b];
    return made("article", { class: "flip" },
      made("h3", {}, made("a", { href: permalink(exam, number) }, made("bdi", {}, found.question.question_id)),
        made("span", { class: "quiet" }, ` ${found.question.kind.replaceAll("_", " ")} · `, made("bdi", {}, lessonOf(exam, number).title))),
      made("p", { class: "asked", dir: "auto" }, found.question.text), choices(found.question, answers, systems.map((system) => system.slug)),
      made("div", { class: "sides" }, ...systems.map((system, at) => side(found, answers[at], pair.letters[at][place], system))),
      missed(found, answers));
  }

  // The places of each value, by the digit of its place in the list.
  function placesOf({ attribute, values, at }) {
    const found = values.map((value) => [attribute, value, []]);
    for (let place = 0; place < at.length; place += 1) if (at[place] !== "-") found[parseInt(at[place], 36)][2].push(place);
    return found;
  }

  // Slices of the table's questions: [attribute, value, places], lessons apart.
  function slices(exam) {
    const { index, numbers } = exam;
    const lessons = new Map();
    numbers.forEach((number, place) => {
      const { title } = lessonOf(exam, number);
      if (!lessons.has(title)) lessons.set(title, []);
      lessons.get(title).push(place);
    });
    return { few: exam.slices.attributes.flatMap(placesOf), lessons: [...lessons].sort(([x], [y]) => (x < y ? -1 : x > y ? 1 : 0)).map(([title, places]) => ["lesson", title, places]) };
  }

  return { open, article, slices };
})();
