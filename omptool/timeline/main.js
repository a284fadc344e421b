// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// ---- main: the page, from its data to the first picture ----

function describePage() {
  document.title = `${tables.title}: timeline`;
  byId("title").textContent = tables.title;
  const instants = tables.lanes.reduce((sum, lane) => sum + lane.instants, 0);
  const parts = [
    `${countText(eventCount - instants)} spans`,
    `${countText(instants)} instants`,
    `${countText(lanes.length)} lanes`,
    timeText(whole.end - whole.begin),
  ];
  byId("summary").textContent = eventCount ? parts.join(", ") : "The trace has no events.";
  for (const note of tables.notes) {
    const item = document.createElement("li");
    item.textContent = note;
    byId("notes").append(item);
  }
}

makeRows();
findWhole();
indexConstructs();
describePage();
fillLegend();
readColours();
letterWidth = (() => {
  context.font = FONT;
  return context.measureText("m").width;
})();
[view.begin, view.end] = [whole.begin, whole.end];
layOutAgain();
draw();
const firstPicture = performance.now(); // since the page began to load
fillTables();
listen();
readPlace();
new ResizeObserver(measureCanvas).observe(canvas);

// For tests and benchmarks, which drive the page by keys and clicks.
window.timeline = {
  firstPicture,
  complete: performance.now(),
  view,
  took,
  show,
  place: (event) => [xOf(start[event]), yOf(rowOf(event))],
  colour: (event) => pixels[slotOf(event)] & 0xffffff,
  shortened,
  groups: () =>
    groups.map(({ name, isFolded, quiet, top, quietTop, lanes }) => ({
      name,
      isFolded,
      quiet,
      y: AXIS + top - view.top + HEADING / 2,
      quietY: AXIS + quietTop - view.top + FOLDED / 2,
      shown: lanes.filter((lane) => !lane.isHidden).map((lane) => lane.name),
    })),
  shown: () =>
    shown.map(({ event, row }) => ({
      event,
      name: labels[labelOf[event]].name,
      kind: tables.kinds[kindOf[event]],
      process: row.lane.process,
      lane: row.lane.name,
      begin: start[event],
      end: endOf(event),
      launcher: launcher(event) ?? null,
    })),
};
