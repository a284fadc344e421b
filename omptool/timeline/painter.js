// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// ---- painter: draws what is in view ----
//
// Events go into an array of pixels, row by row. A pixel has room for one event: when it is coloured, the
// next event is the first one that ends behind it. So a picture costs by its pixels, not by its events.

const context = canvas.getContext("2d");
const FONT = "11px ui-monospace, monospace";
const WIDE_ENOUGH = 3; // CSS pixels of an event that tests and arrows count as shown
const MOST_SHOWN = 4000;
const SAMPLES = 16; // of the events of a pixel
let letterWidth = 7;
let picture = null; // the pixels of the lanes
let line = null; // those of one row
let shown = []; // events that are drawn by themselves
const took = { draw: 0 };

// Returns the first place in [from, to) of an event that ends behind `time`. It is near, mostly.
function firstEndingBehind(time, from, to, chosen) {
  const isBehind = (at) => endOf(chosen ? chosen[at] : at) > time;
  let low = from;
  let high = from;
  for (let step = 1; high < to && !isBehind(high); step *= 2) {
    low = high + 1;
    high += step;
  }
  return firstWhere(low, Math.min(high, to), isBehind);
}

const colourOf = (event) => (isHit && !isHit[labelOf[event]] ? dimPixel : pixelOfKind[kindOf[event]]);

// Returns the longest event of those that share a pixel, or of some of them where they are many.
function longest(from, to, chosen) {
  const stride = Math.ceil((to - from) / SAMPLES);
  let found = chosen ? chosen[from] : from;
  for (let at = from + stride; at < to; at += stride) {
    const event = chosen ? chosen[at] : at;
    if (duration[event] > duration[found]) found = event;
  }
  return found;
}

// Colours the line by the events in [from, to); `chosen` are numbers of events, else they are the events.
function colourLine(from, to, chosen, row) {
  const width = line.length;
  const scale = width / (view.end - view.begin);
  const wide = WIDE_ENOUGH * size.ratio;
  let at = firstEndingBehind(view.begin, from, to, chosen);
  while (at < to) {
    const event = chosen ? chosen[at] : at;
    if (start[event] >= view.end) break;
    const left = Math.max(0, Math.floor((start[event] - view.begin) * scale));
    const right = Math.min(width, Math.max(left + 1, Math.floor((endOf(event) - view.begin) * scale)));
    if (right === left + 1) {
      const next = firstEndingBehind(view.begin + right / scale, at + 1, to, chosen);
      line[left] = colourOf(longest(at, next, chosen));
      at = next;
      continue;
    }
    line.fill(colourOf(event), left, right);
    if (right - left >= wide) {
      line[right - 1] = 0; // parts it from the next one
      if (!chosen && shown.length < MOST_SHOWN) shown.push({ event, row, left, right });
    }
    ++at;
  }
}

function colourChosen(row, chosen) {
  if (chosen === null || chosen.length === 0) return;
  const from = firstWhere(0, chosen.length, (at) => chosen[at] >= row.from);
  const to = firstWhere(from, chosen.length, (at) => chosen[at] >= row.to);
  colourLine(from, to, chosen, row);
}

function paintRows() {
  const { width, height } = picture;
  const pixels = new Uint32Array(picture.data.buffer);
  pixels.fill(0);
  for (const row of rows) {
    const top = Math.round((row.top - view.top) * size.ratio);
    const bottom = Math.round((row.top + row.height - 1 - view.top) * size.ratio);
    if (bottom <= 0 || top >= height) continue;
    line.fill(0);
    colourLine(row.from, row.to, null, row);
    colourChosen(row, fallbacks); // no other event hides them
    colourChosen(row, hits);
    for (let y = Math.max(0, top); y < Math.min(bottom, height); ++y) pixels.set(line, y * width);
  }
}

function fitPicture() {
  const left = Math.round(GUTTER * size.ratio);
  const top = Math.round(AXIS * size.ratio);
  const width = Math.max(1, canvas.width - left);
  const height = Math.max(1, canvas.height - top);
  if (picture?.width !== width || picture?.height !== height) {
    picture = context.createImageData(width, height);
    line = new Uint32Array(width);
  }
  return [left, top];
}

const fitting = (text, width) => {
  const letters = Math.floor(width / letterWidth);
  return text.length <= letters ? text : letters < 3 ? "" : `${text.slice(0, letters - 1)}…`;
};

function writeNames() {
  context.fillStyle = colours.textOnEvent;
  for (const { event, row, left, right } of shown) {
    const width = (right - left) / size.ratio - 6;
    if (row.isOfInstants || width < 3 * letterWidth) continue;
    const text = fitting(labels[labelOf[event]].short, width);
    context.fillText(text, GUTTER + left / size.ratio + 3, yOf(row) + ROW / 2);
  }
}

function writeLanes() {
  context.save();
  context.beginPath();
  context.rect(0, AXIS, size.width, size.height - AXIS);
  context.clip();
  context.fillStyle = colours.ink;
  context.font = `bold ${FONT}`;
  for (const { name, top } of headings) {
    const y = AXIS + top - view.top;
    if (y > -HEADING && y < size.height) context.fillText(fitting(name, size.width - 10), 6, y + HEADING / 2 + 2);
  }
  context.font = FONT;
  context.fillStyle = colours.faint;
  for (const { name, top } of lanes) {
    const y = AXIS + top - view.top;
    if (y > -ROW && y < size.height) context.fillText(fitting(name, GUTTER - 18), 14, y + ROW / 2);
  }
  writeNames();
  drawArrows();
  drawSelection();
  context.restore();
}

// Ticks are 1, 2 or 5 of a power of ten apart, and some 110 pixels at least.
function writeAxis() {
  const rough = ((view.end - view.begin) / plotWidth()) * 110;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
  const first = Math.ceil((view.begin - whole.begin) / step);
  context.fillStyle = colours.faint;
  context.strokeStyle = colours.line;
  context.beginPath();
  for (let tick = first; whole.begin + tick * step <= view.end; ++tick) {
    const x = Math.round(xOf(whole.begin + tick * step)) + 0.5;
    context.moveTo(x, AXIS - 6);
    context.lineTo(x, AXIS);
    context.fillText(timeText(tick * step, step < 1 ? 3 : 2), x + 3, AXIS / 2);
  }
  context.moveTo(0, AXIS - 0.5);
  context.lineTo(size.width, AXIS - 0.5);
  context.moveTo(GUTTER - 0.5, 0);
  context.lineTo(GUTTER - 0.5, size.height);
  context.stroke();
}

function drawSelection() {
  if (selected === null) return;
  const row = rowOf(selected);
  const left = Math.max(GUTTER, xOf(start[selected]));
  const width = Math.max(2, xOf(endOf(selected)) - left);
  context.strokeStyle = colours.focus;
  context.lineWidth = 2;
  context.strokeRect(left - 1, yOf(row) - 1, width + 2, row.height + 1);
  context.lineWidth = 1;
}

function draw() {
  const began = performance.now();
  const [left, top] = fitPicture();
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, canvas.width, canvas.height);
  shown = [];
  paintRows();
  context.putImageData(picture, left, top);
  context.setTransform(size.ratio, 0, 0, size.ratio, 0, 0);
  context.font = FONT;
  context.textBaseline = "middle";
  writeAxis();
  writeLanes();
  took.draw = performance.now() - began;
}
