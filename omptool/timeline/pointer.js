// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// ---- pointer: mouse, pen and fingers over the lanes ----
//
// A mouse that drags marks a range; with Shift or another button it pans. A finger pans, and marks a range on
// the axis. Two fingers zoom.

const pointers = new Map(); // places of the pointers that are down, by their numbers
let gesture = null; // "press", "mark", "pan", "pinch", or null while nothing is held

const placeOf = ({ offsetX: x, offsetY: y }) => ({ x, y });

function down(event) {
  canvas.setPointerCapture(event.pointerId);
  pointers.set(event.pointerId, { ...placeOf(event), first: placeOf(event) });
  gesture = pointers.size === 1 ? "press" : "pinch";
}

function dragged(event) {
  const held = pointers.get(event.pointerId);
  const now = placeOf(event);
  if (!held) return hover(now.x, now.y);
  const far = Math.abs(now.x - held.first.x) + Math.abs(now.y - held.first.y) > NEAR;
  if (gesture === "press" && far) begin(event, held);
  if (gesture === "pinch") pinch(held, now);
  if (gesture === "pan") panBy(held, now);
  if (gesture === "mark") mark(timeAt(held.first.x), timeAt(Math.max(now.x, size.gutter)));
  Object.assign(held, now);
}

function begin(event, held) {
  const isMouse = event.pointerType === "mouse";
  const isOnAxis = held.first.y < AXIS;
  const marks = (isOnAxis || (isMouse && event.buttons === 1 && !event.shiftKey)) && held.first.x >= size.gutter;
  gesture = marks ? "mark" : "pan";
  hideDetails();
}

function panBy(held, now) {
  pan((held.x - now.x) / plotWidth());
  scroll(held.y - now.y);
}

// Keeps the times under both fingers there, as far as the view allows.
function pinch(held, now) {
  const other = [...pointers.values()].find((one) => one !== held);
  const before = Math.max(8, Math.hypot(held.x - other.x, held.y - other.y));
  const after = Math.max(8, Math.hypot(now.x - other.x, now.y - other.y));
  hideDetails();
  pan((held.x - now.x) / 2 / plotWidth());
  zoom(after / before, (now.x + other.x) / 2);
}

function up(event) {
  const held = pointers.get(event.pointerId);
  pointers.delete(event.pointerId);
  if (gesture === "press" && held) click(held);
  if (gesture === "mark") showRange();
  gesture = pointers.size && gesture === "pinch" ? "pan" : null; // the finger that stays goes on
}

function click({ x, y }) {
  if (y >= AXIS && foldAt(y - AXIS + view.top)) return layOutAgain();
  const found = eventAt(x, y);
  if (found === null) range = null;
  select(found);
}

function cancelled(event) {
  pointers.delete(event.pointerId);
  gesture = null;
}

function turned(event) {
  const turn = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 20 : 1;
  const [x, y] = [event.deltaX * turn, event.deltaY * turn];
  event.preventDefault();
  if (event.shiftKey || Math.abs(x) > Math.abs(y)) pan((x || y) / plotWidth());
  else zoom(Math.exp(-y / 300), event.offsetX);
}

function hover(x, y) {
  const event = eventAt(x, y);
  canvas.style.cursor = event !== null || (y >= AXIS && isFold(y - AXIS + view.top)) ? "pointer" : "";
  if (event === null) return showChosen();
  showDetails(event, x);
  byId("details").inert = true;
}

// Shows what the selection or the range is about, while the pointer is over nothing else.
function showChosen() {
  if (range !== null) showRange();
  else if (selected !== null) showDetails(selected, xOf(start[selected]));
  else hideDetails();
}

function listenToPointer() {
  canvas.addEventListener("pointerdown", down);
  canvas.addEventListener("pointermove", dragged);
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", cancelled);
  canvas.addEventListener("pointerleave", showChosen);
  canvas.addEventListener("dblclick", (event) => {
    const found = eventAt(event.offsetX, event.offsetY);
    if (found !== null) show(start[found] - duration[found] / 8, endOf(found) + duration[found] / 8);
  });
  canvas.addEventListener("wheel", turned, { passive: false });
}
