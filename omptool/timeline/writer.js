// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// ---- writer: the names, the axis and the marks over the events ----

const FONT = "11px ui-monospace, monospace";
const SMALL_FONT = "10px ui-monospace, monospace";
const INDENT = 14; // of a lane's name
let letterWidth = 7;

const lettersIn = (width) => Math.floor(width / letterWidth);

// Height of the text of a kind in its row; null: the kind has no text.
const MIDDLES = tables.kinds.map((kind) => {
  if (kind === "memory" || kind === "wait" || kind === "mapping") return null;
  return { "copy to device": 9.5, "copy to host": 5.5, "copy between devices": 8, construct: 7 }[kind] ?? 8;
});

function writeNames() {
  for (const { event, row, left, right } of shown) {
    const width = (right - left) / size.ratio - 6;
    const middle = MIDDLES[kindOf[event]];
    if (row.height < ROW || middle === null || width < 3 * letterWidth) continue;
    const isCopy = TRANSFERS.has(kindOf[event]);
    const text = isCopy ? sizeText(bytesOf(event)) : labels[labelOf[event]].short;
    context.font = isCopy ? SMALL_FONT : FONT;
    context.fillStyle = textColourOf(event);
    const fits = isCopy ? text.length <= lettersIn(width) : true;
    if (fits) context.fillText(shortened(text, lettersIn(width)), size.gutter + left / size.ratio + 3, yOf(row) + middle);
  }
  context.font = FONT;
}

// Returns the name of a lane, shortened to "transfers" right below the lane of the same thread or queue.
function nameOfLane(lane, before) {
  const [own, rest] = lane.name.split(/, (?=transfers$)/);
  return rest && before?.name === own && !before.isHidden ? `  ${rest}` : lane.name;
}

function writeGroup(group) {
  const y = AXIS + group.top - view.top;
  const count = group.lanes.length;
  const note = group.isFolded ? `  ${countText(count)} ${count === 1 ? "lane" : "lanes"}` : "";
  if (y > -HEADING && y < size.height) {
    context.font = `bold ${FONT}`;
    context.fillStyle = colours.ink;
    const text = `${group.isFolded ? "▸" : "▾"} ${group.name}${note}`;
    context.fillText(shortened(text, lettersIn(size.width - 10)), 4, y + HEADING / 2 + 1);
    context.font = FONT;
  }
  context.fillStyle = colours.faint;
  group.lanes.forEach((lane, number) => {
    const top = AXIS + lane.top - view.top;
    if (lane.isHidden || top < -ROW || top > size.height) return;
    const name = nameOfLane(lane, group.lanes[number - 1]);
    context.fillText(shortened(name, lettersIn(size.gutter - INDENT - 4)), INDENT, top + ROW / 2);
  });
  if (group.quiet && !group.isFolded) {
    const text = `${group.showsQuiet ? "▾" : "▸"} ${countText(group.quiet)} quiet`;
    context.fillText(text, INDENT, AXIS + group.quietTop - view.top + FOLDED / 2 - 1);
  }
}

function writeLanes() {
  context.save();
  context.beginPath();
  context.rect(0, AXIS, size.width, size.height - AXIS);
  context.clip();
  for (const group of groups) writeGroup(group);
  writeNames();
  drawArrows();
  drawSelection();
  context.restore();
  drawRange();
}

// Ticks are 1, 2 or 5 of a power of ten apart, and some 110 pixels at least.
function writeAxis() {
  const rough = ((view.end - view.begin) / plotWidth()) * 110;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
  const first = Math.ceil((view.begin - whole.begin) / step);
  context.font = FONT;
  context.fillStyle = colours.faint;
  context.strokeStyle = colours.line;
  context.beginPath();
  for (let tick = first; whole.begin + tick * step <= view.end; ++tick) {
    const x = Math.round(xOf(whole.begin + tick * step)) + 0.5;
    context.moveTo(x, AXIS - 6);
    context.lineTo(x, AXIS);
    const text = timeText(tick * step, step < 1 ? 3 : 2);
    if (x + 3 + text.length * letterWidth < size.width) context.fillText(text, x + 3, AXIS / 2);
  }
  context.moveTo(0, AXIS - 0.5);
  context.lineTo(size.width, AXIS - 0.5);
  context.moveTo(size.gutter - 0.5, 0);
  context.lineTo(size.gutter - 0.5, size.height);
  context.stroke();
}

function drawSelection() {
  if (selected === null) return;
  const row = rowOf(selected);
  if (row.height === 0) return;
  const left = Math.max(size.gutter, xOf(start[selected]));
  const width = Math.max(2, xOf(endOf(selected)) - left);
  context.strokeStyle = colours.focus;
  context.lineWidth = 2;
  context.strokeRect(left - 1, yOf(row) - 1, width + 2, row.height + 1);
  context.lineWidth = 1;
}
