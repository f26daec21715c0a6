// Sorting by any column and filtering by text. The page is complete without this file.
"use strict";

function valueOf(row, column, numeric) {
  const text = row.cells[column].dataset.value || "";
  if (!numeric) return text;
  return text === "" ? null : Number(text);
}

// Empty values stay at the end in both directions; equal ones keep the order of the page.
function sortRows(table, column, numeric, direction) {
  const body = table.tBodies[0];
  const rows = Array.from(body.rows, (row) => ({ row, place: Number(row.dataset.place), value: valueOf(row, column, numeric) }));
  const empty = (value) => value === null || value === "";
  rows.sort((a, b) => {
    if (empty(a.value) || empty(b.value)) return empty(a.value) - empty(b.value) || a.place - b.place;
    const order = numeric ? a.value - b.value : a.value < b.value ? -1 : a.value > b.value ? 1 : 0;
    return order * direction || a.place - b.place;
  });
  for (const { row } of rows) body.append(row);
}

function makeSortable(table) {
  Array.from(table.tBodies[0].rows).forEach((row, place) => { row.dataset.place = place; });
  const heads = Array.from(table.tHead.rows[0].cells);
  heads.forEach((head, column) => {
    if (!head.dataset.type) return;
    const numeric = head.dataset.type === "number";
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const now = head.getAttribute("aria-sort");
      // Numbers start with the largest, except ranks; a second press turns the order round.
      const first = numeric && column > 0 ? "descending" : "ascending";
      const next = now === null ? first : now === "ascending" ? "descending" : "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", next);
      sortRows(table, column, numeric, next === "ascending" ? 1 : -1);
    });
  });
}

function makeFilter(section) {
  const tools = section.querySelector(".tools");
  const table = section.querySelector("table");
  if (!tools || !table) return;
  const input = tools.querySelector("input");
  const status = tools.querySelector("[role=status]");
  const rows = Array.from(table.tBodies[0].rows);
  tools.hidden = false;
  const apply = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      // Not the badges: one of them names other teams.
      const named = Array.from(row.querySelectorAll("th > a, th .team"), (part) => part.textContent);
      const text = named.join(" ").toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      if (!row.hidden) shown += 1;
    }
    status.textContent = words.length ? `${shown} of ${rows.length}` : "";
  };
  input.addEventListener("input", apply);
  apply(); // A reload may keep what was typed.
}

// On a web host the line that shows a badge is one to copy: it has the board's own address.
function nameAddress(code) {
  if (!location.protocol.startsWith("http")) return;
  code.textContent = code.textContent.replaceAll("(SITE/", `(${new URL("../../", location.href).href}`);
}

for (const code of document.querySelectorAll("code.address")) nameAddress(code);
for (const table of document.querySelectorAll("table.board, table.slices")) makeSortable(table);
for (const section of document.querySelectorAll("section")) makeFilter(section);
