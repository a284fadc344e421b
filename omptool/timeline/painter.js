// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// ---- painter: draws the events in view ----
//
// Events go into an array of pixels, row by row. A pixel has room for one event: when it is coloured, the
// next event is the first one that ends behind it. So a picture costs by its pixels, not by its events.
// A row has four bands, one above the other. The bands that an event colours are the shape of its kind.

const context = canvas.getContext("2d");
const WIDE_ENOUGH = 3; // CSS pixels of an event that gets a name and an arrow
const MOST_SHOWN = 4000;
const SAMPLES = 16; // of the events of a pixel
const BANDS = [4, 11, 13, 15]; // ends in CSS pixels, of a row of 15
const STRIPE = 6; // device pixels of a stripe of a fallback and of the next one
let picture = null; // the pixels of the lanes
let bands = []; // pixels of the bands of one row
let shown = []; // events of at least WIDE_ENOUGH pixels
const took = { draw: 0 };

// Bands of a kind: 0 empty, 1 its colour, 2 its pale colour.
const SHAPES = tables.kinds.map((kind) => {
  const shapes = {
    construct: [2, 2, 2, 1],
    routine: [2, 2, 2, 1],
    "copy to device": [0, 1, 1, 1],
    "copy to host": [1, 1, 0, 0],
    "copy between devices": [0, 1, 1, 0],
    memory: [0, 0, 1, 1],
    wait: [0, 2, 0, 0],
  };
  return shapes[kind] ?? [1, 1, 1, 1];
});

// Returns the first place in [from, to) of an event that ends behind `time`. Steps double: it is mostly near.
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

function colourPixels(event, left, right) {
  const shape = SHAPES[kindOf[event]];
  const colour = colourOf(event);
  const pale = colour === dimPixel ? dimPixel : paleOf(event);
  for (let band = 0; band < bands.length; ++band) {
    const found = shape[band] === 0 ? 0 : shape[band] === 2 ? pale : colour;
    if (right === left + 1) bands[band][left] = found;
    else bands[band].fill(found, left, right);
  }
  if (kindOf[event] === KIND.fallback && colour !== dimPixel) stripe(left, right);
}

// Draws the slanted stripes of a fallback: colour-blind people cannot tell it by red alone.
function stripe(left, right) {
  for (let band = 0; band < bands.length; ++band) {
    for (let x = left; x < right; ++x) if ((x + 3 * band) % (2 * STRIPE) >= STRIPE) bands[band][x] = stripePixel;
  }
}

// Colours the bands by the events in [from, to); `chosen` are numbers of events, else they are the events.
function colourLine(from, to, chosen, row) {
  const { width } = picture;
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
      colourPixels(longest(at, next, chosen), left, right);
      at = next;
      continue;
    }
    colourPixels(event, left, right);
    if (right - left >= wide) {
      for (const band of bands) band[right - 1] = 0; // a gap before the next event
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
    if (row.height === 0 || bottom <= 0 || top >= height) continue;
    for (const band of bands) band.fill(0);
    colourLine(row.from, row.to, null, row);
    colourChosen(row, fallbacks); // above the other events
    colourChosen(row, hits);
    for (let y = Math.max(0, top); y < Math.min(bottom, height); ++y) {
      const inRow = ((y - top) / (bottom - top)) * BANDS.at(-1);
      pixels.set(bands[BANDS.findIndex((end) => inRow < end)], y * width);
    }
  }
}

function fitPicture() {
  const left = Math.round(size.gutter * size.ratio);
  const top = Math.round(AXIS * size.ratio);
  const width = Math.max(1, canvas.width - left);
  const height = Math.max(1, canvas.height - top);
  if (picture?.width !== width || picture?.height !== height) {
    picture = context.createImageData(width, height);
    bands = BANDS.map(() => new Uint32Array(width));
  }
  return [left, top];
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
  context.textBaseline = "middle";
  writeAxis();
  writeLanes();
  took.draw = performance.now() - began;
}
