// Two systems by URL: the choice is written to the address, the numbers come from the files that the build wrote.
"use strict";

(() => {
  const { made } = compareParts;
  const verdict = document.getElementById("verdict"); // heard when it changes
  const box = document.getElementById("comparison");
  const trouble = document.getElementById("trouble");
  const choose = {
    section: document.getElementById("choose"),
    table: document.getElementById("choose-table"),
    a: document.getElementById("choose-a"),
    b: document.getElementById("choose-b"),
    swap: document.getElementById("swap"),
  };
  const TITLE = document.title;
  const files = new Map();
  let tables = [];
  let asked = 0;

  // A file of the site, JSON or text, read once.
  function read(path) {
    if (!files.has(path)) {
      files.set(path, fetch(path).then((answer) => {
        if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
        return path.endsWith(".json") ? answer.json() : answer.text();
      }));
      files.get(path).catch(() => files.delete(path));
    }
    return files.get(path);
  }

  function fill(select, options) {
    select.replaceChildren(...options.map(([value, text]) => made("option", { value }, text)));
  }

  function tableNow() {
    return tables.find((table) => table.id === choose.table.value) || tables[0];
  }

  // Both lists of systems; what is not chosen yet says so.
  function offerSystems(table, chosen) {
    const options = table.systems.map((system) => [system.slug, `${system.slug} (${system.shown.score})`]);
    for (const [select, slug] of [[choose.a, chosen.a], [choose.b, chosen.b]]) {
      const offered = `${table.id} ${Boolean(slug)}`;
      if (select.dataset.offered !== offered) fill(select, slug ? options : [["", "choose a system"], ...options]);
      select.dataset.offered = offered;
      select.value = slug || "";
    }
  }

  // The address decides: it is shown, or the one reason why it cannot be.
  function fromAddress() {
    const wish = compareAddress.read(new URL(location.href).searchParams, tables);
    choose.table.value = wish.table.id;
    offerSystems(wish.table, wish);
    say(wish.trouble);
    return !wish.trouble;
  }

  // One message at a time; with it there is no comparison.
  function say(text) {
    trouble.textContent = text;
    trouble.hidden = !text;
    if (!text) return;
    asked += 1; // what is being read is not wanted any more
    document.title = TITLE;
    verdict.replaceChildren();
    box.replaceChildren();
    box.removeAttribute("aria-busy");
  }

  function toAddress() {
    const url = new URL(location.href);
    if (url.searchParams.get("table") !== choose.table.value) url.searchParams.delete("among"); // another table has other slices
    for (const [name, value] of [["table", choose.table.value], ["a", choose.a.value], ["b", choose.b.value]]) url.searchParams.set(name, value);
    url.hash = "";
    if (url.href !== location.href) history.pushState(null, "", url);
  }

  // Everything that a page says of two systems, from the first one's file.
  function pairOf(table, first, second) {
    const [a, b] = [first, second].map((file) => table.systems.find((system) => system.slug === file.system));
    const at = first.with.indexOf(second.system);
    const [ahead, behind] = first.difference[at] > 0 ? [a, b] : [b, a];
    const shown = { first: a.slug, second: b.slug, ahead: ahead.slug, behind: behind.slug };
    for (const [name, texts] of Object.entries(first.shown)) shown[name] = Array.isArray(texts) ? texts[at] : texts;
    const filled = (number) => first.texts[number].replace(/\{(\w+)\}/g, (_, name) => shown[name]);
    return {
      a, b, shown, table: table.id, n: table.n, questions: table.questions, slices: table.slices,
      letters: [first.outcomes, second.outcomes], place: [first.difference[at], first.low[at], first.high[at]],
      lead: filled(first.lead[at]), because: filled(first.because[at]), remarks: first.remarks[at].map(filled),
      notes: first.notes[at].map((number) => first.texts[number]), // complete: they have names from outside
    };
  }

  function judged(pair) {
    return [made("h2", {}, `${pair.a.slug} against ${pair.b.slug}`),
      made("p", { class: "lead" }, `${pair.lead} `, made("strong", {}, pair.because)),
      ...pair.notes.map((text) => made("p", { class: "warn" }, `Note: ${text}`))];
  }

  function details(pair) {
    return [compareParts.scores(pair), compareParts.test(pair), compareParts.crossed(pair), compareFlips.section(pair, read)];
  }

  async function show() {
    const mine = (asked += 1);
    const table = tableNow();
    const [a, b] = [choose.a.value, choose.b.value];
    box.setAttribute("aria-busy", "true");
    try {
      const [first, second] = await Promise.all([a, b].map((slug) => read(`pairs/${table.id}/${slug}.json`)));
      if (mine !== asked) return; // another pair was chosen meanwhile
      const pair = pairOf(table, first, second);
      document.title = `${pair.a.slug} against ${pair.b.slug} – EDU-RAG board`;
      verdict.replaceChildren(...judged(pair));
      box.replaceChildren(...details(pair));
    } catch (error) {
      if (mine !== asked) return;
      say(`The numbers of this pair could not be read (${error.message}).`);
    }
    box.removeAttribute("aria-busy");
  }

  // The reader's choice becomes the address.
  function chosen() {
    const [a, b] = [choose.a.value, choose.b.value];
    if (!a || !b) {
      say("Choose two systems.");
      return;
    }
    toAddress();
    if (fromAddress()) show();
  }

  async function start() {
    if (!location.protocol.startsWith("http")) {
      // A browser reads no files for a page that was opened from the disk.
      choose.section.hidden = false;
      choose.section.querySelector(".choose").hidden = true;
      say("To compare any two systems here, look at the site through a web server: edu-rag serve SITE. The tables below need none.");
      return;
    }
    tables = (await read("data/compare.json")).tables;
    fill(choose.table, tables.map((table) => [table.id, `${table.title}: ${compareParts.count(table.n)} questions, ${table.systems.length} systems`]));
    choose.section.hidden = false;
    choose.table.addEventListener("change", () => {
      const [a, b] = tableNow().first;
      offerSystems(tableNow(), { a, b });
      chosen();
    });
    choose.a.addEventListener("change", chosen);
    choose.b.addEventListener("change", chosen);
    choose.swap.addEventListener("click", () => {
      [choose.a.value, choose.b.value] = [choose.b.value, choose.a.value];
      chosen();
    });
    addEventListener("popstate", () => {
      if (fromAddress()) show();
    });
    if (fromAddress()) await show();
  }

  start().catch((error) => {
    choose.section.hidden = false;
    choose.section.querySelector(".choose").hidden = true;
    say(`The list of systems could not be read (${error.message}). The tables below do not need it.`);
  });
})();
