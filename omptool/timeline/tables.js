// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// ---- tables: what each entry took, and what moved ----

const MOST_ROWS = 1000; // in the page; the others come first in another order

function sums() {
  const count = labels.length;
  const all = {
    times: new Float64Array(count),
    fallbacks: new Float64Array(count),
    total: new Float64Array(count),
    longest: new Float64Array(count),
    bytes: new Float64Array(count),
    kind: new Uint8Array(count),
  };
  for (let event = 0; event < eventCount; ++event) {
    const label = labelOf[event];
    all.times[label] += 1;
    all.total[label] += duration[event];
    if (kindOf[event] !== KIND.mapping) all.bytes[label] += bytesOf(event); // a mapping moves nothing
    if (duration[event] > all.longest[label]) all.longest[label] = duration[event];
    if (kindOf[event] === KIND.fallback) all.fallbacks[label] += 1;
    else all.kind[label] = kindOf[event];
  }
  return all;
}

// Returns a row for each name. A fallback counts for the entry that it is about.
function entries() {
  const all = sums();
  const found = new Map();
  labels.forEach((label, number) => {
    if (!all.times[number]) return;
    const isFallback = label.name === "fallback";
    const name = isFallback ? label.entry || label.reason || label.name : label.name;
    if (!found.has(name)) {
      const short = isFallback && !label.entry ? name : label.short;
      found.set(name, { name, short, kind: "", times: 0, fallbacks: 0, total: 0, mean: 0, longest: 0, bytes: 0 });
    }
    const row = found.get(name);
    row.kind = isFallback ? row.kind || "fallback" : tables.kinds[all.kind[number]];
    row.times += isFallback ? 0 : all.times[number];
    row.fallbacks += all.fallbacks[number];
    row.total += all.total[number];
    row.longest = Math.max(row.longest, all.longest[number]);
    row.bytes += all.bytes[number];
    row.mean = row.times ? row.total / row.times : 0;
  });
  return [...found.values()];
}

// Returns a row for each device and direction.
function moved() {
  const found = new Map();
  for (const { from, to, lane } of rows) {
    for (let event = from; event < to; ++event) {
      if (!TRANSFERS.has(kindOf[event])) continue;
      const key = `${lane.process}\n${kindOf[event]}`;
      if (!found.has(key)) {
        found.set(key, { device: lane.process, what: tables.kinds[kindOf[event]], times: 0, bytes: 0, total: 0 });
      }
      const row = found.get(key);
      row.times += 1;
      row.bytes += bytesOf(event);
      row.total += duration[event];
    }
  }
  return [...found.values()];
}

const COLUMNS_OF_ENTRIES = [
  ["short", "Entry", String],
  ["kind", "Kind", String],
  ["times", "Times", countText],
  ["fallbacks", "Fallbacks", countText],
  ["total", "Total", timeText],
  ["mean", "Mean", timeText],
  ["longest", "Longest", timeText],
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
  sortable("entries", COLUMNS_OF_ENTRIES, entries(), "total");
  sortable("moved", COLUMNS_OF_MOVED, all, "bytes");
  const sum = cells("td", ["In all", "", countText(total("times")), sizeText(total("bytes")), timeText(total("total"))]);
  byId("moved").tFoot.replaceChildren(sum);
}
