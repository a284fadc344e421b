// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// ---- tables: rows of totals, sorted by their headers ----

const MOST_ROWS = 1000; // in the page; the others come first in another order

const LETTERS = { narrow: 24, wide: 44, others: 24 }; // of a name
const DIGITS = 4; // of a time
const isNarrow = matchMedia("(max-width: 600px)");

const shortTime = (time) => timeText(time, 3, DIGITS);
const COLUMNS_OF_REGIONS = [
  ["short", "Region", String],
  ["times", "Times", countText],
  ["fallbacks", "Fallbacks", countText],
  ["device", "On devices", shortTime],
  ["mean", "Mean", shortTime],
  ["longest", "Longest", shortTime],
  ["host", "On the host", shortTime],
  ["bytes", "Bytes", sizeText],
];
const COLUMNS_OF_OTHERS = [
  ["short", "Event", String],
  ["times", "Times", countText],
  ["total", "Total", shortTime],
  ["mean", "Mean", shortTime],
  ["longest", "Longest", shortTime],
];
const COLUMNS_OF_MOVED = [
  ["device", "Device", String],
  ["what", "What", String],
  ["times", "Times", countText],
  ["bytes", "Bytes", sizeText],
  ["total", "Time", shortTime],
];

function cells(kind, texts) {
  const row = document.createElement("tr");
  for (const text of texts) {
    const cell = document.createElement(kind);
    cell.textContent = text;
    row.append(cell);
  }
  return row;
}

function lettersOf(kind) {
  if (isNarrow.matches) return LETTERS.narrow;
  return kind === "region" ? LETTERS.wide : LETTERS.others;
}

// Shortens the name of a row. That of a region has its colour, and a click searches for it. The title is the whole name.
function nameRow(cell, { name, kind }) {
  if (name === undefined) return;
  cell.title = name;
  cell.textContent = shortened(cell.textContent, lettersOf(kind));
  if (kind !== "region") return;
  const short = shortOf.get(name) ?? name;
  cell.dataset.region = "";
  cell.style.setProperty("--chip", `var(--region-${slotOfName(short)})`);
  cell.addEventListener("click", () => searchFor(short));
}

function fillBody(table, columns, data) {
  const body = data.slice(0, MOST_ROWS).map((one) => {
    const row = cells("td", columns.map(([key, , text]) => text(one[key])));
    row.classList.toggle("fallback", one.fallbacks > 0);
    nameRow(row.firstChild, one);
    return row;
  });
  if (data.length > MOST_ROWS) body.push(cells("td", [`… and ${countText(data.length - MOST_ROWS)} more`]));
  table.tBodies[0].replaceChildren(...body);
}

// Fills a table, and sorts it by its headers: by text from the first letter on, by numbers from the largest on.
function sortable(id, columns, data, first) {
  const table = byId(id);
  const head = document.createElement("tr");
  const fill = () => fillBody(table, columns, data);
  for (const [key, title] of columns) {
    const [cell, button] = [document.createElement("th"), document.createElement("button")];
    button.type = "button";
    button.textContent = title;
    button.addEventListener("click", () => {
      const isText = typeof data[0]?.[key] === "string";
      const before = cell.getAttribute("aria-sort");
      const rises = before ? before === "descending" : isText;
      for (const other of head.children) other.removeAttribute("aria-sort");
      cell.setAttribute("aria-sort", rises ? "ascending" : "descending");
      const order = (one, other) => (one[key] < other[key] ? -1 : one[key] > other[key] ? 1 : 0);
      data.sort((one, other) => (rises ? order(one, other) : order(other, one)));
      fill();
    });
    cell.scope = "col";
    cell.append(button);
    head.append(cell);
    if (key === first) queueMicrotask(() => button.click());
  }
  table.tHead.replaceChildren(head);
  isNarrow.addEventListener("change", fill);
}

// Marks the boxes that go on at their right edge or below.
function markEdges() {
  for (const box of document.querySelectorAll(".scrolls")) {
    box.classList.toggle("goes-on", box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
    box.classList.toggle("goes-below", box.scrollTop + box.clientHeight < box.scrollHeight - 1);
  }
}

function fillTables() {
  const all = moved();
  const total = (key) => all.reduce((sum, row) => sum + row[key], 0);
  const [regions, others] = [[], []];
  for (const row of entries()) (row.kind === "region" ? regions : others).push(row);
  sortable("entries", COLUMNS_OF_REGIONS, regions, "device");
  sortable("others", COLUMNS_OF_OTHERS, others, "total");
  sortable("moved", COLUMNS_OF_MOVED, all, "bytes");
  const sum = cells("td", ["In all", "", countText(total("times")), sizeText(total("bytes")), shortTime(total("total"))]);
  byId("moved").tFoot.replaceChildren(sum);
  for (const box of document.querySelectorAll(".scrolls")) {
    box.addEventListener("scroll", markEdges, { passive: true });
    new ResizeObserver(markEdges).observe(box);
    new ResizeObserver(markEdges).observe(box.firstElementChild);
  }
}
