// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// ---- keys and buttons ----

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
  r: markByKey,
  f: foldByKey,
  l: writePlace,
};

const SCROLLING = /^(Arrow|Page)/; // keys for a box with the focus

function clear() {
  searchFor("");
  chooseNothing();
}

function chooseNothing() {
  range = null;
  select(null);
  canvas.focus();
}

// Folds or unfolds the lanes around the selected event; without one, those of all processes.
function foldByKey() {
  const found = selected === null ? groups : [rowOf(selected).lane.group];
  const folds = found.some((group) => !group.isFolded);
  for (const group of found) group.isFolded = folds;
  layOutAgain();
}

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const isEdited = event.target === field;
  const isButton = event.target instanceof HTMLButtonElement;
  if (SCROLLING.test(event.key) && event.target.matches(".scrolls")) return;
  if (event.key === "Escape") {
    clear();
  } else if (event.key === "Enter" && !isButton) {
    nextHit(!event.shiftKey);
  } else {
    const action = ACTIONS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (isEdited || !action) return;
    action();
  }
  event.preventDefault();
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
  byId("close").addEventListener("click", chooseNothing);
  window.addEventListener("hashchange", readPlace);
  prefersDark.addEventListener("change", () => {
    readColours();
    redraw();
  });
}
