// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// ---- layout: where lanes and their rows are, in pixels from the top of all lanes ----

const AXIS = 22; // pixels of the time axis
const ROW = 16;
const THIN = 6; // of a row that has instants, or waits, memory and mappings alone
const HEADING = 20; // of a process
const FOLDED = 18; // of the line that stands for a group's quiet lanes
const GAP = 3;

// Rows in the order of their events. `from` and `to` are numbers of events. A hidden row has no height.
const rows = [];
const lanes = [];
const groups = []; // lanes of a process or device, below a heading that folds them
let heightOfAll = 0;

function makeRows() {
  let from = 0;
  const addRow = (lane, count, full, isOfInstants) => {
    const row = { lane, from, to: from + count, full, top: 0, height: full, isOfInstants };
    rows.push(row);
    lane.ownRows.push(row);
    from += count;
  };
  for (const lane of tables.lanes) {
    lane.ownRows = [];
    for (const count of lane.rows) addRow(lane, count, isQuietRow(from, from + count) ? THIN : ROW, false);
    if (lane.instants) addRow(lane, lane.instants, THIN, true);
    lanes.push(lane);
    groupOf(lane).lanes.push(lane);
  }
  markQuiet();
  layOut();
}

function groupOf(lane) {
  if (groups.at(-1)?.name !== lane.process) {
    groups.push({ name: lane.process, lanes: [], isFolded: false, showsQuiet: false, top: 0, quiet: 0, quietTop: 0 });
  }
  lane.group = groups.at(-1);
  return lane.group;
}

const QUIET = new Set([KIND.memory, KIND.load, KIND.wait, KIND.mapping]);
const isQuietRow = (from, to) => kindOf.subarray(from, to).every((kind) => QUIET.has(kind));

// A lane is quiet if it has waits, memory and mappings alone: no kernel or copy, and no construct that made one.
function markQuiet() {
  for (const lane of lanes) lane.isQuiet = lane.ownRows.every(({ from, to }) => isQuietRow(from, to));
  if (lanes.every((lane) => lane.isQuiet)) for (const lane of lanes) lane.isQuiet = false;
  for (const group of groups) group.quiet = group.lanes.filter((lane) => lane.isQuiet).length;
}

function layOut() {
  heightOfAll = 0;
  for (const group of groups) {
    group.top = heightOfAll;
    heightOfAll += HEADING;
    for (const lane of group.lanes) placeLane(lane);
    group.quietTop = heightOfAll;
    if (group.quiet && !group.isFolded) heightOfAll += FOLDED;
  }
}

function placeLane(lane) {
  lane.isHidden = lane.group.isFolded || (lane.isQuiet && !lane.group.showsQuiet);
  lane.top = heightOfAll;
  for (const row of lane.ownRows) {
    row.top = heightOfAll;
    row.height = lane.isHidden ? 0 : row.full;
    heightOfAll += row.height;
  }
  if (!lane.isHidden) heightOfAll = Math.max(heightOfAll, lane.top + ROW) + GAP; // its name has room
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

const isHeadingAt = (group, y) => y >= group.top && y < group.top + HEADING;
const isQuietAt = (group, y) =>
  group.quiet > 0 && !group.isFolded && y >= group.quietTop && y < group.quietTop + FOLDED;

const isFold = (y) => groups.some((group) => isHeadingAt(group, y) || isQuietAt(group, y));

// Folds or unfolds what a heading or a line of quiet lanes at this height stands for. Returns whether there is one.
function foldAt(y) {
  for (const group of groups) {
    const [heading, quiet] = [isHeadingAt(group, y), isQuietAt(group, y)];
    if (heading) group.isFolded = !group.isFolded;
    if (quiet) group.showsQuiet = !group.showsQuiet;
    if (heading || quiet) return true;
  }
  return false;
}

function unfold(lane) {
  lane.group.isFolded = false;
  lane.group.showsQuiet ||= lane.isQuiet;
}
