// What an address asks for: a table and two of its systems, or the one reason why there is nothing to compare.
"use strict";

const compareAddress = (() => {
  const LONGEST = 60;
  const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

  // Anybody may write an address: a name from it is clipped, and nothing in it turns the text around.
  function named(text) {
    const letters = Array.from(text.replace(UNSEEN, "\ufffd"));
    return `“${letters.length > LONGEST ? `${letters.slice(0, LONGEST - 1).join("")}…` : letters.join("")}”`;
  }

  function has(table, slug) {
    return table.systems.some((system) => system.slug === slug);
  }

  function titles(tables, slug) {
    return tables.filter((table) => has(table, slug)).map((table) => table.title).join("; ");
  }

  // The table that is named, else the first that holds all systems that are.
  function tableOf(id, slugs, tables) {
    if (id !== null) return tables.find((table) => table.id === id);
    return tables.find((table) => slugs.every((slug) => has(table, slug)));
  }

  function why(id, table, slugs, tables) {
    if (id !== null && !table) return `There is no table ${named(id)} here.`;
    const unknown = slugs.find((slug) => !tables.some((one) => has(one, slug)));
    if (unknown !== undefined) return `There is no system ${named(unknown)} here.`;
    if (slugs.length === 2 && slugs[0] === slugs[1]) return "A and B are the same system.";
    const elsewhere = slugs.find((slug) => table && !has(table, slug));
    if (elsewhere !== undefined) return `${named(elsewhere)} answered other questions (${titles(tables, elsewhere)}) than those of this table (${table.title}).`;
    if (table) return "";
    return `These two never answered the same questions: ${slugs.map((slug) => `${named(slug)} those of ${titles(tables, slug)}`).join(", ")}.`;
  }

  // `given` are the parameters table, a and b. What it leaves open is the best of the table; both, its first pair.
  function read(given, tables) {
    const id = given.get("table");
    const [a, b] = ["a", "b"].map((name) => given.get(name));
    const slugs = [a, b].filter((slug) => slug !== null);
    const found = tableOf(id, slugs, tables);
    const trouble = why(id, found, slugs, tables);
    const table = found || tables.find((one) => slugs.some((slug) => has(one, slug))) || tables[0];
    const best = (other) => table.systems.find((system) => system.slug !== other).slug;
    if (!trouble && slugs.length === 0) return { table, a: table.first[0], b: table.first[1], trouble };
    if (!trouble) {
      const first = a === null ? best(b) : a;
      return { table, a: first, b: b === null ? best(first) : b, trouble };
    }
    // One choice stays open, so that the next one is a change.
    const [first, second] = [a, b].map((slug) => (slug !== null && has(table, slug) ? slug : ""));
    return { table, a: first, b: first ? "" : second, trouble: `${trouble} Choose two systems of one table.` };
  }

  return { read };
})();
