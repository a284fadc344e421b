// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// ---- keys and pointer ----

const field = byId("search");
const PAN = 0.15; // of the view
const ZOOM = 1.5;

const ACTIONS = {
  ArrowLeft: () => pan(-PAN),
  a: () => pan(-PAN),
  ArrowRight: () => pan(PAN),
  d: () => pan(PAN),
  ArrowUp: () => zoom(ZOOM),
  w: () => zoom(ZOOM),
  ArrowDown: () => zoom(1 / ZOOM),
  s: () => zoom(1 / ZOOM),
  PageUp: () => scroll(-size.height / 2),
  PageDown: () => scroll(size.height / 2),
  Home: showWhole,
  "/": () => field.focus(),
  ",": () => step(-1),
  ".": () => step(1),
};

function clear() {
  field.value = "";
  search("");
  select(null);
}

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const isEdited = event.target === field;
  const isButton = event.target instanceof HTMLButtonElement;
  if (event.key === "Escape") {
    clear();
    canvas.focus();
  } else if (event.key === "Enter" && !isButton) {
    nextHit(!event.shiftKey);
  } else {
    const action = ACTIONS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (isEdited || !action) return;
    action();
  }
  event.preventDefault();
}

function listenToPointer() {
  let held = null;
  canvas.addEventListener("pointerdown", (event) => {
    held = { x: event.offsetX, y: event.offsetY, moved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    const { offsetX: x, offsetY: y } = event;
    if (held === null) return hover(x, y);
    held.moved ||= Math.abs(x - held.x) + Math.abs(y - held.y) > NEAR;
    if (!held.moved) return;
    hideDetails();
    pan((held.x - x) / plotWidth());
    scroll(held.y - y);
    [held.x, held.y] = [x, y];
  });
  canvas.addEventListener("pointerup", (event) => {
    if (held && !held.moved) select(eventAt(event.offsetX, event.offsetY));
    held = null;
  });
  canvas.addEventListener("pointercancel", () => (held = null));
  canvas.addEventListener("pointerleave", hideDetails);
  canvas.addEventListener("dblclick", (event) => {
    const found = eventAt(event.offsetX, event.offsetY);
    if (found !== null) show(start[found] - duration[found] / 8, endOf(found) + duration[found] / 8);
  });
  canvas.addEventListener("wheel", turned, { passive: false });
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
  if (event === null) hideDetails();
  else showDetails(event, x, y);
}

function toggleHelp() {
  const help = byId("help");
  help.hidden = !help.hidden;
  byId("help-button").setAttribute("aria-expanded", String(!help.hidden));
}

function listen() {
  document.addEventListener("keydown", pressed);
  listenToPointer();
  field.addEventListener("input", () => search(field.value));
  byId("zoom-in").addEventListener("click", () => zoom(ZOOM));
  byId("zoom-out").addEventListener("click", () => zoom(1 / ZOOM));
  byId("whole").addEventListener("click", showWhole);
  byId("scheme").addEventListener("click", switchScheme);
  byId("help-button").addEventListener("click", toggleHelp);
  prefersDark.addEventListener("change", () => {
    readColours();
    redraw();
  });
}
