// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// ---- details: the box below the lanes, with the fields of an event ----

const NEAR = 3; // pixels by which the pointer may miss an event

// Returns the event under a point of the canvas, or null.
function eventAt(x, y) {
  const row = x >= size.gutter && y >= AXIS ? rowAt(y - AXIS + view.top) : undefined;
  if (!row) return null;
  const [early, late] = [timeAt(x - NEAR), timeAt(x + NEAR)];
  let found = null;
  let distance = Infinity;
  const time = timeAt(x);
  for (let event = firstEndingBehind(early, row.from, row.to, null); event < row.to; ++event) {
    const away = Math.max(start[event] - time, time - endOf(event), 0);
    if (start[event] > late || away >= distance) break;
    [found, distance] = [event, away];
  }
  return found;
}

// Returns the device of an event: that of its lane, or the one that a construct of the host is for.
function deviceOf(event) {
  const { lane } = rowOf(event);
  const { device } = labels[labelOf[event]];
  return lane.device !== null ? lane.process : device !== null ? `device ${device}` : "";
}

function described(event) {
  const label = labels[labelOf[event]];
  const { lane } = rowOf(event);
  const construct = constructEvent(event);
  const source = label.source || (construct === undefined ? "" : labels[labelOf[construct]].source);
  const reason = label.reason || (kindOf[event] === KIND.fallback && reasonOf.get(constructOf[event])) || "";
  return [
    ["kind", tables.kinds[kindOf[event]]],
    ["device", deviceOf(event)],
    ["process", lane.device === null ? lane.process : ""],
    ["lane", lane.name],
    ["begins at", timeText(start[event] - whole.begin)],
    ["duration", duration[event] ? timeText(duration[event]) : ""],
    ["source", source],
    ["bytes", bytesOf(event) ? `${countText(bytesOf(event))} (${sizeText(bytesOf(event))})` : ""],
    ["construct", constructOf[event] || ""],
    ["references", label.references ?? ""],
    ["symbol", regionOf(event) === label.short ? "" : regionOf(event)],
    ["reason", reason],
    ["failed", label.failed ? "yes" : ""],
  ].filter(([, value]) => value !== "");
}

const LEAST_HEIGHT = 180; // pixels of the box of details, where less of the window is left
const PART = 0.45; // of the window's height that the box takes at most

// Shows a title and rows of text below the lanes, near a place on the time axis.
function showBox(title, rowsOfText, x) {
  const box = byId("details");
  const list = document.createElement("dl");
  for (const [key, value] of rowsOfText) {
    const [term, description] = [document.createElement("dt"), document.createElement("dd")];
    term.textContent = key;
    description.textContent = value;
    list.append(term, description);
  }
  byId("details-title").textContent = title;
  box.querySelector("dl").replaceWith(list);
  box.hidden = false;
  box.inert = false;
  box.scrollTop = 0;
  const room = Math.min(window.innerHeight - box.getBoundingClientRect().top - 4, window.innerHeight * PART);
  box.style.maxHeight = `${Math.max(room, LEAST_HEIGHT)}px`;
  const left = Math.min(Math.max(x - box.offsetWidth / 4, 4), Math.max(4, size.width - box.offsetWidth - 4));
  box.style.left = `${left}px`;
  markEdges();
}

function showDetails(event, x) {
  showBox(labels[labelOf[event]].short, described(event), x);
}

function hideDetails() {
  byId("details").hidden = true;
}
