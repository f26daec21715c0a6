// The question explorer: controls, results and address. Every question is on a lesson page, too.
"use strict";

{ // A scope for these names: board.js shares the outer one.
  const { here, load, matching, filtersOf } = questionSearch;
  const PAGE = 50;
  const FIELDS = ["q", "lesson", "kind", "flag", "slice", "of", "a", "ao", "b", "bo"];
  const SLICES = { n_choices: "Number of choices", leak: "Pages that hold the question" };

  const find = document.getElementById("find");
  const form = find.querySelector("form");
  const status = find.querySelector(".count");
  const list = find.querySelector(".found");
  const turn = find.querySelector(".turn");
  let index = null;
  let shown = 0; // The first result of this page.
  let asked = 0; // Answers that come after a newer question are thrown away.

  // Results

  function made(name, className, ...children) {
    const element = document.createElement(name);
    if (className) element.className = className;
    element.append(...children);
    return element;
  }

  function bar(counts) {
    const [width, total] = [90, counts.reduce((sum, [, n]) => sum + n, 0)];
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    for (const [name, value] of [["class", "outcomes"], ["width", width], ["height", 12], ["viewBox", "0 0 100 12"], ["preserveAspectRatio", "none"], ["aria-hidden", "true"]]) svg.setAttribute(name, value);
    let x = 0;
    for (const [outcome, n] of counts) {
      const rect = document.createElementNS(svg.namespaceURI, "rect");
      const part = (100 * n) / total;
      for (const [name, value] of [["class", `o-${outcome}`], ["x", x], ["width", part], ["height", 12]]) rect.setAttribute(name, value);
      if (n) svg.append(rect);
      x += part;
    }
    return svg;
  }

  function line(number, text) {
    const lesson = index.lessons[index.lesson[number]];
    const [correct, incorrect, missing] = ["correct", "incorrect", "missing"].map((name) => index.counts[name][number]);
    const link = made("a", "", made("bdi", "", text));
    const address = new URL(`${lesson.slug}.html`, here);
    address.hash = index.anchors[number] ?? index.ids[number];
    link.href = address.href;
    const flags = Object.keys(index.flags).filter((flag) => index.flags[flag].includes(number));
    const about = [index.ids[number], index.kinds[index.kind[number]], ...flags].map((word) => word.replaceAll("_", " "));
    about[0] = index.ids[number];
    const tally = made("span", "tally");
    if (correct + incorrect + missing) {
      tally.append(bar([["correct", correct], ["incorrect", incorrect], ["abstained", missing]]));
      tally.append(`correct ${correct} · incorrect ${incorrect} · missing ${missing}`);
    }
    return made("li", "", link, made("span", "about", made("bdi", "", about.join(" · "))), tally);
  }

  async function show(numbers) {
    const some = numbers.slice(shown, shown + PAGE);
    const size = index.list_size;
    const lists = new Map(await Promise.all([...new Set(some.map((number) => Math.floor(number / size)))].map(
      async (chunk) => [chunk, (await load(new URL(`list/${chunk}.json`, here))).texts],
    )));
    return some.map((number) => line(number, lists.get(Math.floor(number / size))[number % size]));
  }

  function count(n, any) {
    const words = n === 1 ? "1 question" : `${n.toLocaleString("en")} questions`;
    return any ? `${words} of ${index.n.toLocaleString("en")}` : words;
  }

  function turnPage(n) {
    const [before, after] = turn.querySelectorAll("button");
    turn.hidden = n <= PAGE;
    before.disabled = shown === 0;
    after.disabled = shown + PAGE >= n;
    turn.querySelector("span").textContent = `${shown + 1}–${Math.min(shown + PAGE, n)} of ${n.toLocaleString("en")}`;
  }

  // Until something is asked for, the lessons below are the way in, and no list of all questions is loaded.
  async function apply() {
    const mine = (asked += 1);
    const values = state();
    const any = FIELDS.some((name) => values[name] && name !== "ao" && name !== "bo");
    find.setAttribute("aria-busy", "true");
    try {
      const [words, filters] = await Promise.all([matching(index, values.q.trim()), filtersOf(index, values)]);
      const all = words ?? index.ids.keys();
      const numbers = any ? [...all].filter((number) => filters.every((holds) => holds(number))) : [];
      if (mine !== asked) return;
      if (shown >= numbers.length) shown = 0;
      const lines = await show(numbers);
      if (mine !== asked) return;
      list.replaceChildren(...lines);
      list.start = shown + 1;
      status.textContent = count(any ? numbers.length : index.n, any);
      turnPage(numbers.length);
    } catch (error) {
      if (mine === asked) status.textContent = `The files of the search could not be loaded: ${error.message}`;
    } finally {
      if (mine === asked) find.removeAttribute("aria-busy");
    }
  }

  // State in the address

  function state() {
    return Object.fromEntries(FIELDS.map((name) => [name, form.elements[name]?.value ?? ""]));
  }

  function remember(push) {
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(state())) if (value) search.set(name, value);
    if (shown) search.set("from", String(shown + 1));
    const query = search.toString();
    const address = `${location.pathname}${query ? `?${query}` : ""}`;
    if (address === location.pathname + location.search) return;
    history[push ? "pushState" : "replaceState"](null, "", address);
  }

  function recall() {
    const search = new URLSearchParams(location.search);
    for (const name of FIELDS) {
      const field = form.elements[name];
      if (!field) continue;
      field.value = search.get(name) ?? "";
      if (field.value !== (search.get(name) ?? "")) field.value = ""; // An option that is not there.
    }
    const from = Number(search.get("from") ?? 1);
    shown = Number.isInteger(from) && from > 1 ? Math.floor((from - 1) / PAGE) * PAGE : 0;
  }

  // Controls

  function addOptions(name, options) {
    const field = form.elements[name];
    if (!field) return;
    for (const [value, words] of options) field.append(new Option(words, value));
  }

  // Slices of the scorecards that have no control of their own.
  function addSlices() {
    const field = form.elements.slice;
    for (const { attribute, values, at } of index.slices) {
      const group = document.createElement("optgroup");
      group.label = SLICES[attribute] ?? attribute.replaceAll("_", " ");
      const numbers = new Map(values.map((value) => [value, 0]));
      for (const digit of at) if (digit !== "-") numbers.set(values[parseInt(digit, 36)], numbers.get(values[parseInt(digit, 36)]) + 1);
      for (const [value, n] of numbers) group.append(new Option(`${attribute === "n_choices" ? `${value} choices` : value} (${n.toLocaleString("en")})`, `${attribute}:${value}`));
      field.append(group);
    }
    field.closest(".field").hidden = !index.slices.length;
  }

  function fillControls() {
    addOptions("lesson", index.lessons.map((one) => [one.slug, `${one.title} (${one.n})`]));
    addOptions("kind", index.kinds.filter((_, place) => index.kind.includes(place)).map((kind) => [kind, kind.replaceAll("_", " ")]));
    addSlices();
    addOptions("flag", Object.keys(index.flags).map((flag) => [flag, `${flag.replaceAll("_", " ")} (${index.flags[flag].length.toLocaleString("en")})`]));
    for (const name of ["a", "b"]) {
      const field = form.elements[name];
      if (!field) continue;
      for (const table of index.tables) {
        const group = document.createElement("optgroup");
        group.label = table.text;
        for (const one of index.systems) if (one.table === table.id) group.append(new Option(one.name, `${one.table}/${one.slug}`));
        field.append(group);
      }
    }
  }

  function changed(push) {
    shown = 0;
    remember(push);
    apply();
  }

  function only(first, second) {
    form.elements[`${first}o`].value = "correct";
    form.elements[`${second}o`].value = "not-correct";
    changed(true);
  }

  function go(step) {
    shown += step * PAGE;
    remember(true);
    apply().then(() => { status.focus(); status.scrollIntoView({ block: "start" }); });
  }

  function listen() {
    let waiting = 0;
    form.addEventListener("submit", (event) => event.preventDefault());
    form.elements.q.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => changed(false), 200);
    });
    form.addEventListener("change", (event) => { if (event.target.name !== "q") changed(true); });
    form.addEventListener("reset", () => setTimeout(() => changed(true)));
    form.elements["only-a"]?.addEventListener("click", () => only("a", "b"));
    form.elements["only-b"]?.addEventListener("click", () => only("b", "a"));
    const [before, after] = turn.querySelectorAll("button");
    before.addEventListener("click", () => go(-1));
    after.addEventListener("click", () => go(1));
    addEventListener("popstate", () => { recall(); apply(); });
    addEventListener("keydown", (event) => {
      const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
      if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      form.elements.q.focus();
    });
  }

  async function start() {
    if (!location.protocol.startsWith("http")) { // A browser lets no page from a folder read other files.
      document.getElementById("no-host").hidden = false;
      return;
    }
    find.hidden = false;
    status.textContent = "Loading …";
    try {
      index = await load(new URL("index.json", here));
    } catch (error) {
      status.textContent = `The files of the search could not be loaded: ${error.message}`;
      return;
    }
    fillControls();
    recall();
    listen();
    await apply();
  }

  start();
}
