// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// ---- details: all that is known of one event ----

const NEAR = 3; // pixels by which the pointer may miss an event

// Returns the event under a point of the canvas, or null.
function eventAt(x, y) {
  const row = x >= GUTTER && y >= AXIS ? rowAt(y - AXIS + view.top) : undefined;
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
    ["name", label.name],
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
    ["entry", label.entry],
    ["reason", reason],
    ["failed", label.failed ? "yes" : ""],
  ].filter(([, value]) => value !== "");
}

function showDetails(event, x, y) {
  const box = byId("details");
  const list = document.createElement("dl");
  for (const [key, value] of described(event)) {
    const [term, description] = [document.createElement("dt"), document.createElement("dd")];
    term.textContent = key;
    description.textContent = value;
    list.append(term, description);
  }
  box.replaceChildren(list);
  box.hidden = false;
  const left = Math.min(Math.max(x + 12, 4), Math.max(4, size.width - box.offsetWidth - 4));
  const isBelow = y + 14 + box.offsetHeight <= size.height;
  box.style.left = `${left}px`;
  box.style.top = `${isBelow ? y + 14 : Math.max(4, y - box.offsetHeight - 10)}px`;
}

function hideDetails() {
  byId("details").hidden = true;
}
