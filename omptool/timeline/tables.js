// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// ---- tables: rows of totals, sorted by their headers ----

const MOST_ROWS = 1000; // in the page; the others come first in another order

const COLUMNS_OF_ENTRIES = [
  ["short", "Entry", String],
  ["kind", "Kind", String],
  ["times", "Times", countText],
  ["fallbacks", "Fallbacks", countText],
  ["device", "On devices", timeText],
  ["mean", "Mean", timeText],
  ["longest", "Longest", timeText],
  ["host", "On the host", timeText],
  ["bytes", "Bytes", sizeText],
];
const COLUMNS_OF_MOVED = [
  ["device", "Device", String],
  ["what", "What", String],
  ["times", "Times", countText],
  ["bytes", "Bytes", sizeText],
  ["total", "Time", timeText],
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

// A table that its headers sort: by text from the first letter on, by numbers from the largest on.
function sortable(id, columns, data, first) {
  const table = byId(id);
  const head = document.createElement("tr");
  const fill = () => {
    const body = data.slice(0, MOST_ROWS).map((one) => {
      const row = cells("td", columns.map(([key, , text]) => text(one[key])));
      row.classList.toggle("fallback", one.fallbacks > 0);
      if (one.name) row.firstChild.title = one.name;
      return row;
    });
    if (data.length > MOST_ROWS) body.push(cells("td", [`… and ${countText(data.length - MOST_ROWS)} more`]));
    table.tBodies[0].replaceChildren(...body);
  };
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
}

function fillTables() {
  const all = moved();
  const total = (key) => all.reduce((sum, row) => sum + row[key], 0);
  sortable("entries", COLUMNS_OF_ENTRIES, entries(), "device");
  sortable("moved", COLUMNS_OF_MOVED, all, "bytes");
  const sum = cells("td", ["In all", "", countText(total("times")), sizeText(total("bytes")), timeText(total("total"))]);
  byId("moved").tFoot.replaceChildren(sum);
}
