// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// ---- view: the part of the trace that is shown ----

const NARROWEST = 50; // nanoseconds
const canvas = byId("canvas");
const view = { begin: 0, end: 1, top: 0 };
const whole = { begin: 0, end: 1 };
const NARROW = 600; // CSS pixels of a page whose lanes have shorter names
const GUTTERS = { narrow: 92, wide: 150 };
// The canvas in CSS pixels; `gutter` is the width of the lanes' names, `ratio` the device pixels in a CSS pixel.
const size = { width: 0, height: 0, gutter: GUTTERS.wide, ratio: 1 };

function findWhole() {
  if (eventCount === 0) return;
  whole.begin = Infinity;
  whole.end = -Infinity;
  for (const { from, to } of rows) {
    if (from === to) continue;
    whole.begin = Math.min(whole.begin, start[from]);
    whole.end = Math.max(whole.end, endOf(to - 1));
  }
  if (whole.end - whole.begin < NARROWEST) whole.end = whole.begin + NARROWEST;
}

const plotWidth = () => Math.max(1, size.width - size.gutter);
const xOf = (time) => size.gutter + ((time - view.begin) / (view.end - view.begin)) * plotWidth();
const timeAt = (x) => view.begin + ((x - size.gutter) / plotWidth()) * (view.end - view.begin);
const yOf = (row) => AXIS + row.top - view.top;

// Shows a range of time, within the trace and no shorter than NARROWEST.
function show(begin, end) {
  const length = Math.min(Math.max(end - begin, NARROWEST), whole.end - whole.begin);
  const middle = (begin + end) / 2;
  view.begin = Math.min(Math.max(middle - length / 2, whole.begin), whole.end - length);
  view.end = view.begin + length;
  redraw();
}

const showWhole = () => show(whole.begin, whole.end);

// Writes the part that is shown into the page's address: nanoseconds from the begin of the trace.
function writePlace() {
  const [begin, end] = [view.begin, view.end].map((time) => Math.round(time - whole.begin));
  history.replaceState(null, "", `#${begin}-${end}`);
}

// Shows the part of the trace that the page's address names.
function readPlace() {
  const found = /^#(\d{1,18})-(\d{1,18})$/.exec(location.hash);
  if (found) show(whole.begin + Number(found[1]), whole.begin + Number(found[2]));
}

function zoom(factor, x = size.gutter + plotWidth() / 2) {
  const fixed = timeAt(x);
  show(fixed - (fixed - view.begin) / factor, fixed + (view.end - fixed) / factor);
}

function pan(part) {
  const by = part * (view.end - view.begin);
  show(view.begin + by, view.end + by);
}

function scroll(pixels) {
  const most = Math.max(0, heightOfAll + AXIS - size.height);
  view.top = Math.min(Math.max(view.top + pixels, 0), most);
  redraw();
}

// Scrolls and zooms until an event is visible.
function reveal(event) {
  const length = view.end - view.begin;
  const isSmall = duration[event] < length / 200;
  const wanted = isSmall && duration[event] > 0 ? duration[event] * 50 : length;
  if (start[event] < view.begin || endOf(event) > view.end || isSmall) {
    const middle = start[event] + duration[event] / 2;
    show(middle - wanted / 2, middle + wanted / 2);
  }
  const { lane } = rowOf(event);
  if (lane.isHidden) {
    unfold(lane);
    layOutAgain();
  }
  const y = yOf(rowOf(event));
  if (y < AXIS || y + ROW > size.height) scroll(y - size.height / 2);
}

// Lays out all lanes after some were folded, and makes the canvas as high as they are.
function layOutAgain() {
  layOut();
  document.querySelector("main").style.setProperty("--lanes", `${AXIS + heightOfAll + 2}px`);
  measureCanvas();
}

function measureCanvas() {
  size.ratio = window.devicePixelRatio || 1;
  size.width = canvas.clientWidth;
  size.gutter = size.width < NARROW ? GUTTERS.narrow : GUTTERS.wide;
  size.height = canvas.clientHeight;
  canvas.width = Math.max(1, Math.round(size.width * size.ratio));
  canvas.height = Math.max(1, Math.round(size.height * size.ratio));
  scroll(0);
}

let isWaiting = false;

// Draws once for all changes before the next picture.
function redraw() {
  if (isWaiting) return;
  isWaiting = true;
  requestAnimationFrame(() => {
    isWaiting = false;
    draw();
  });
}
