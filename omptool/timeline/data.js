// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// ---- data: the trace, as tables and as columns of its events ----

const byId = (id) => document.getElementById(id);

// Returns the text of a block of data, and removes the block: memory holds a large trace once.
function taken(id) {
  const block = byId(id);
  const text = block.textContent;
  block.remove();
  return text;
}

function decoded(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const letters = atob(text); // browsers from before 2025
  const bytes = new Uint8Array(letters.length);
  for (let at = 0; at < bytes.length; ++at) bytes[at] = letters.charCodeAt(at);
  return bytes;
}

const column = (name, Type) => new Type(decoded(taken(`column-${name}`)).buffer);

const tables = JSON.parse(taken("tables"));
const start = column("start", Float64Array); // nanoseconds
const duration = column("duration", Float32Array); // nanoseconds; 0: an instant
const labelOf = column("label", Uint32Array);
const constructOf = column("construct", Uint32Array); // 0: none
const sizeOf = column("size", Uint32Array);
const kindOf = column("kind", Uint8Array);
const eventCount = start.length;

const endOf = (event) => start[event] + duration[event];
const bytesOf = (event) => tables.sizes[sizeOf[event]];

const labels = tables.labels.map(([short, name, source, reason, entry, references, device, failed]) => ({
  short: tables.texts[short], // readable: function and line of a kernel
  name: tables.texts[name],
  source: tables.texts[source],
  reason: tables.texts[reason],
  entry: tables.texts[entry],
  references,
  device,
  failed,
}));

const KIND = Object.fromEntries(tables.kinds.map((name, number) => [name, number]));
const TRANSFERS = new Set(tables.kinds.flatMap((name, number) => (name.startsWith("copy ") ? [number] : [])));

// ---- numbers as text ----

const UNITS_OF_TIME = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
const UNITS_OF_SIZE = [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]];

// Returns a number with so many digits behind the point, and at most `most` digits.
function inUnits(number, units, digits, most = 20) {
  const [unit, name] = units.find(([unit]) => Math.abs(number) >= unit) ?? units.at(-1);
  const value = number / unit;
  const before = Math.trunc(Math.abs(value)).toString().length;
  return `${Number.isInteger(value) ? value : value.toFixed(Math.max(0, Math.min(digits, most - before)))} ${name}`;
}

const timeText = (nanoseconds, digits = 3, most = 20) => inUnits(nanoseconds, UNITS_OF_TIME, digits, most);
const sizeText = (bytes) => inUnits(bytes, UNITS_OF_SIZE, 1);
const countText = (count) => count.toLocaleString("en");
