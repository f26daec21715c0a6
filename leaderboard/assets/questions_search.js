// What the question explorer looks things up with: the files of its page, the search by words, the filters.
"use strict";

const questionSearch = (() => {
  const MISSING = "auf";
  const OUTCOMES = {
    correct: "c", "not-correct": `i${MISSING}`, incorrect: "i", missing: MISSING, abstained: "a", unparseable: "u", failed: "f",
  };
  const OF_ALL = {
    "none-correct": (c, i, m) => c === 0 && i + m > 0,
    "none-attempted": (c, i, m) => c + i === 0 && m > 0,
    "one-correct": (c) => c === 1,
    "all-correct": (c, i, m) => c > 0 && i + m === 0,
    some: (c, i, m) => c > 0 && i + m > 0,
  };
  const here = new URL(".", location.href);
  const root = new URL("../../", here);
  const kept = new Map();

  function load(url, kind = "json") {
    if (!kept.has(url.href)) {
      kept.set(url.href, fetch(url).then((answer) => {
        if (!answer.ok) throw new Error(`${answer.status} ${url.href}`);
        return answer[kind]();
      }));
      kept.get(url.href).catch(() => kept.delete(url.href));
    }
    return kept.get(url.href);
  }

  // Text search

  let searcher = null;

  function loadSearcher() {
    searcher ??= Promise.all([import(new URL("search/pagefind.js", here).href), load(new URL("search/numbers.json", here))])
      .then(([pagefind, numbers]) => ({
        // On this page's own thread: a worker would not be bound by its policy.
        pagefind: pagefind.createInstance({ basePath: new URL("search/", here).href, noWorker: true }),
        numbers: new Map(numbers.ids.map((id, number) => [id, number])),
      }));
    searcher.catch(() => { searcher = null; });
    return searcher;
  }

  // The questions that hold the words, best first; null where no words were given.
  async function matching(index, words) {
    if (!words) return null;
    const same = index.ids.findIndex((id) => id.toLowerCase() === words.toLowerCase());
    if (same >= 0) return [same];
    if (!index.search) return [];
    const { pagefind, numbers } = await loadSearcher();
    const { results } = await pagefind.search(words);
    return results.map((result) => numbers.get(result.id)).filter((number) => number !== undefined);
  }

  // Filters: each is a function of a question's number

  async function outcomesAre(index, system, outcome) {
    const letters = OUTCOMES[outcome];
    const place = index.systems.findIndex((one) => `${one.table}/${one.slug}` === system);
    if (place < 0) return null;
    const line = await load(new URL(index.systems[place].outcomes, root), "text");
    return (number) => (letters ?? "ciauf").includes(line[number]);
  }

  async function filtersOf(index, values) {
    const filters = [];
    const lesson = index.lessons.findIndex((one) => one.slug === values.lesson);
    if (lesson >= 0) filters.push((number) => index.lesson[number] === lesson);
    const kind = index.kinds.indexOf(values.kind);
    if (kind >= 0) filters.push((number) => index.kind[number] === kind);
    if (values.flag === "none") {
      const flagged = new Set(Object.values(index.flags).flat());
      filters.push((number) => !flagged.has(number));
    } else if (Object.hasOwn(index.flags, values.flag)) {
      const flagged = new Set(index.flags[values.flag]);
      filters.push((number) => flagged.has(number));
    }
    const slice = index.slices.find((one) => values.slice.startsWith(`${one.attribute}:`));
    const value = slice ? slice.values.indexOf(values.slice.slice(slice.attribute.length + 1)) : -1;
    if (value >= 0) filters.push((number) => slice.at[number] === value.toString(36));
    if (Object.hasOwn(OF_ALL, values.of)) {
      const { correct, incorrect, missing } = index.counts;
      filters.push((number) => OF_ALL[values.of](correct[number], incorrect[number], missing[number]));
    }
    for (const [system, outcome] of [[values.a, values.ao], [values.b, values.bo]]) {
      const filter = system ? await outcomesAre(index, system, outcome) : null;
      if (filter) filters.push(filter);
    }
    return filters;
  }

  return { here, load, matching, filtersOf };
})();
