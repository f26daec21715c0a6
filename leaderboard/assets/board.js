// Sorting, filters, columns, and their state in the page's address. The page is complete without this file.
"use strict";

const PICKS = ["kind", "openness", "model"]; // the filters that are chosen from a list
const root = document.documentElement;
const tools = document.querySelector(".tools");
const boards = Array.from(document.querySelectorAll("table.board"));

// --- sorting: any table with th[data-type]; a cell's key is its data-value, else its text

function keyOf(row, column, numeric) {
  const cell = row.cells[column];
  const text = cell.dataset.value ?? cell.textContent.trim();
  if (!numeric) return { unit: 0, key: text === "–" ? "" : text.toLowerCase() };
  // Amounts of different units (dollars, tokens) are not compared: they are sorted by unit.
  return { unit: Number(cell.dataset.unit || 0), key: Number.isNaN(Number.parseFloat(text)) ? null : Number.parseFloat(text) };
}

// Empty values stay at the end in both directions; equal ones keep the order of the page.
function sortRows(table, column, numeric, direction) {
  const body = table.tBodies[0];
  const rows = Array.from(body.rows, (row) => ({ row, place: Number(row.dataset.place), ...keyOf(row, column, numeric) }));
  const empty = (key) => key === null || key === "";
  rows.sort((a, b) => {
    if (empty(a.key) || empty(b.key)) return empty(a.key) - empty(b.key) || a.place - b.place;
    const order = a.key < b.key ? -1 : a.key > b.key ? 1 : 0;
    return a.unit - b.unit || order * direction || a.place - b.place;
  });
  body.append(...rows.map(({ row }) => row));
}

function headsOf(table) {
  return Array.from(table.tHead.rows[0].cells);
}

function sortBy(table, head, direction) {
  const heads = headsOf(table);
  if (head.getAttribute("aria-sort") === direction) return;
  for (const other of heads) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", direction);
  sortRows(table, heads.indexOf(head), head.dataset.type === "number", direction === "ascending" ? 1 : -1);
}

// A second press turns the order round.
function nextDirection(head) {
  const now = head.getAttribute("aria-sort");
  if (now === null) return head.dataset.first || (head.dataset.type === "number" ? "descending" : "ascending");
  return now === "ascending" ? "descending" : "ascending";
}

function makeSortable(table, pressed) {
  Array.from(table.tBodies[0].rows).forEach((row, place) => { row.dataset.place = place; });
  for (const head of headsOf(table)) {
    if (!head.dataset.type) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => pressed(table, head, nextDirection(head)));
  }
}

// --- the state: what was chosen, for all tables of the page; the address holds it, so that it can be shared

function stateOf(address) {
  const said = new URLSearchParams(address);
  const state = { q: said.get("q") || "", columns: null, sort: ["rank", "ascending"] };
  for (const name of PICKS) state[name] = said.get(name) || "";
  if (said.get("columns") !== null) state.columns = said.get("columns").split(",").filter(Boolean);
  const [column, direction] = (said.get("sort") || "").split(".");
  const known = boards.some((table) => headsOf(table).some((head) => head.dataset.type && head.dataset.column === column));
  if (known) state.sort = [column, direction === "descending" ? "descending" : "ascending"];
  return state;
}

function addressOf(state) {
  const said = new URLSearchParams();
  for (const name of ["q", ...PICKS]) if (state[name]) said.set(name, state[name]);
  if (state.sort.join(".") !== "rank.ascending") said.set("sort", state.sort.join("."));
  if (state.columns) said.set("columns", state.columns.join(","));
  const text = said.toString().replaceAll("%2C", ","); // a comma needs no escape
  return text && `?${text}`;
}

const named = new WeakMap();

// Not the badges: one of them names other teams.
function nameOf(row) {
  if (!named.has(row)) {
    const parts = Array.from(row.querySelectorAll("th > a, [data-column=team]"), (part) => part.textContent);
    named.set(row, parts.join(" ").toLowerCase());
  }
  return named.get(row);
}

function isShown(row, state, words) {
  const is = row.dataset.is.split(" ");
  if (state.kind && !is.includes(state.kind)) return false;
  if (state.openness && !is.includes(state.openness)) return false;
  if (state.model && !(row.dataset.models || "").split("\n").includes(state.model)) return false;
  return words.every((word) => nameOf(row).includes(word));
}

function showRows(state) {
  const words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
  const filtered = words.length > 0 || PICKS.some((name) => state[name]);
  let shown = 0;
  let all = 0;
  for (const table of boards) {
    const rows = Array.from(table.tBodies[0].rows);
    for (const row of rows) row.hidden = !isShown(row, state, words);
    const left = rows.filter((row) => !row.hidden).length;
    table.closest("section").querySelector(".left").textContent = filtered ? `${left} of ${rows.length} systems` : "";
    shown += left;
    all += rows.length;
  }
  return filtered ? `${shown} of ${all} rows` : "";
}

function showColumns(state) {
  if (state.columns) root.dataset.columns = ["rank", "system", ...state.columns].join(" ");
  else delete root.dataset.columns;
}

// The boxes of the chooser say what is seen: by default that hangs on the window's width.
function tickColumns(state) {
  for (const box of tools.querySelectorAll("[name=column]")) {
    const head = boards[0].tHead.querySelector(`[data-column="${box.value}"]`);
    box.checked = state.columns ? state.columns.includes(box.value) : getComputedStyle(head).display !== "none";
  }
}

function show(state) {
  showColumns(state);
  const status = showRows(state);
  for (const table of boards) {
    const head = headsOf(table).find((one) => one.dataset.column === state.sort[0]);
    if (head) sortBy(table, head, state.sort[1]);
  }
  if (!tools) return;
  for (const name of ["q", ...PICKS]) {
    const field = tools.querySelector(`[name=${name}]`);
    if (field && field.value !== state[name]) field.value = state[name];
  }
  tools.querySelector("[role=status]").textContent = status;
  tools.querySelector("[name=reset]").hidden = addressOf(state) === "";
  if (tools.querySelector("details").open) tickColumns(state);
}

// --- what the reader does

let state = stateOf(location.search);
let typing = false;

// Each choice is a step back; what is typed in one go is one step.
function choose(change, typed = false) {
  state = { ...state, ...change };
  show(state);
  const address = location.pathname + addressOf(state) + location.hash;
  try {
    if (typed && typing) history.replaceState(null, "", address);
    else history.pushState(null, "", address);
  } catch {
    // Some browsers let no page of a file: address change it; the choice holds all the same.
  }
  typing = typed;
}

function listen() {
  tools.querySelector("[name=q]").addEventListener("input", (event) => choose({ q: event.target.value }, true));
  for (const field of tools.querySelectorAll("select")) {
    field.addEventListener("change", () => choose({ [field.name]: field.value }));
  }
  const boxes = Array.from(tools.querySelectorAll("[name=column]"));
  for (const box of boxes) {
    box.addEventListener("change", () => choose({ columns: boxes.filter((one) => one.checked).map((one) => one.value) }));
  }
  tools.querySelector("[name=reset]").addEventListener("click", () => {
    choose(stateOf(""));
    tools.querySelector("[name=q]").focus(); // The button that had the focus is gone.
  });
  const chooser = tools.querySelector("details");
  tools.querySelector("[name=usual]").addEventListener("click", () => choose({ columns: null }));
  // The toggle comes some time after the click: a box could be chosen before it.
  chooser.querySelector("summary").addEventListener("click", () => tickColumns(state));
  chooser.addEventListener("toggle", () => { if (chooser.open) tickColumns(state); });
  chooser.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    chooser.open = false;
    chooser.querySelector("summary").focus();
  });
  addEventListener("resize", () => { if (chooser.open) tickColumns(state); });
}

// On a web host the line that shows a badge is one to copy: it has the board's own address.
function nameAddress(code) {
  if (!location.protocol.startsWith("http")) return;
  code.textContent = code.textContent.replaceAll("(SITE/", `(${new URL("../../", location.href).href}`);
}

for (const code of document.querySelectorAll("code.address")) nameAddress(code);
for (const table of document.querySelectorAll("table.slices, table.numbers")) makeSortable(table, sortBy);
for (const table of boards) makeSortable(table, (_, head, direction) => choose({ sort: [head.dataset.column, direction] }));
if (boards.length) {
  root.classList.add("scripted");
  if (tools) listen();
  show(state);
  addEventListener("popstate", () => {
    typing = false;
    state = stateOf(location.search);
    show(state);
  });
}
