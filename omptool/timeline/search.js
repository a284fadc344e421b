// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// ---- search: events whose name, source, entry or reason has a text ----

let isHit = null; // by label; null: nothing is searched for
let hits = null; // the events, in the order of their numbers
let current = null; // the event of the last jump to a hit
let selected = null; // an event

function search(text) {
  const wanted = text.trim().toLowerCase();
  isHit = null;
  hits = null;
  if (wanted) {
    isHit = Uint8Array.from(labels, ({ short, name, source, reason, entry }) =>
      [short, name, source, reason, entry].some((one) => one.toLowerCase().includes(wanted)) ? 1 : 0,
    );
    hits = eventsOf(isHit);
  }
  current = null;
  showCount();
  redraw();
}

// Searches for a text as if the user had typed it.
function searchFor(text) {
  field.value = text;
  search(text);
}

// Shows the place of the current hit in the order of time: "2 of 320".
function showCount() {
  let text = "";
  if (hits) text = `${countText(hits.length)} ${hits.length === 1 ? "hit" : "hits"}`;
  if (hits && current !== null) {
    const place = hits.reduce((count, hit) => count + (isEarlier(hit, current) ? 1 : 0), 1);
    text = `${countText(place)} of ${countText(hits.length)}`;
  }
  byId("hits").textContent = text;
}

function eventsOf(isWanted) {
  let count = 0;
  for (let event = 0; event < eventCount; ++event) count += isWanted[labelOf[event]];
  const found = new Uint32Array(count);
  count = 0;
  for (let event = 0; event < eventCount; ++event) if (isWanted[labelOf[event]]) found[count++] = event;
  return found;
}

const isEarlier = (one, other) => start[one] < start[other] || (start[one] === start[other] && one < other);

// Selects the next hit after the selected event in time, or the previous one; the first follows the last.
function nextHit(isForward) {
  if (!hits?.length) return;
  const inOrder = (one, other) => (isForward ? isEarlier(one, other) : isEarlier(other, one));
  let first = hits[0];
  let next = null;
  for (const hit of hits) {
    if (inOrder(hit, first)) first = hit;
    if (selected !== null && inOrder(selected, hit) && (next === null || inOrder(hit, next))) next = hit;
  }
  current = next ?? first;
  select(current);
  showCount();
}

function select(event) {
  selected = event;
  if (event === null) {
    hideDetails();
    redraw();
    return;
  }
  reveal(event);
  redraw();
  requestAnimationFrame(() => showDetails(event, xOf(start[event])));
}

// Selects the event before or after the selected one in its row; without one the first in view.
function step(by) {
  if (eventCount === 0) return;
  if (selected === null) return select(shown[0]?.event ?? 0);
  const row = rowOf(selected);
  select(Math.min(Math.max(selected + by, row.from), row.to - 1));
}
