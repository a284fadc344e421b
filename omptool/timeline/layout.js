// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// ---- layout: where lanes and their rows are, in pixels from the top of all lanes ----

const AXIS = 22; // pixels of the time axis
const GUTTER = 150; // pixels of the lanes' names
const ROW = 16;
const INSTANTS = 8;
const HEADING = 20; // of a process
const GAP = 5;

// Rows in the order of their events. `from` and `to` are numbers of events.
const rows = [];
const lanes = [];
const headings = [];
let heightOfAll = 0;

function addRow(lane, from, count, height, isOfInstants) {
  rows.push({ lane, from, to: from + count, top: heightOfAll, height, isOfInstants });
  heightOfAll += height;
}

function layOut() {
  let from = 0;
  let process = null;
  for (const lane of tables.lanes) {
    if (lane.process !== process) {
      process = lane.process;
      headings.push({ name: process, top: heightOfAll });
      heightOfAll += HEADING;
    }
    lane.top = heightOfAll;
    for (const count of lane.rows) {
      addRow(lane, from, count, ROW, false);
      from += count;
    }
    if (lane.instants) addRow(lane, from, lane.instants, INSTANTS, true);
    from += lane.instants;
    heightOfAll = Math.max(heightOfAll, lane.top + ROW); // its name has room
    lanes.push(lane);
    heightOfAll += GAP;
  }
}

// Returns the first number in [low, high) for which `isBehind` holds; all behind it must hold, too.
function firstWhere(low, high, isBehind) {
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBehind(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

const rowOf = (event) => rows[firstWhere(0, rows.length, (row) => rows[row].to > event)];

// Returns the row at a height, or undefined between rows.
function rowAt(y) {
  const row = rows[firstWhere(0, rows.length, (row) => rows[row].top + rows[row].height > y)];
  return row && row.top <= y ? row : undefined;
}
