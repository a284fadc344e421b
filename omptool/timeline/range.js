// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// ---- range: a part of the time that the user marks, and what ran in it ----

const MOST_REGIONS = 50; // of a range, by name
let range = null; // begin and end

function mark(begin, end) {
  const [first, last] = begin < end ? [begin, end] : [end, begin];
  range = { begin: Math.max(first, whole.begin), end: Math.min(last, whole.end) };
  redraw();
}

const lengthInRange = (event) => Math.min(endOf(event), range.end) - Math.max(start[event], range.begin);

// Calls `use` with each span in the range, and the length of its part there.
function eachInRange(row, use) {
  if (row.isOfInstants) return;
  for (let event = firstEndingBehind(range.begin, row.from, row.to, null); event < row.to; ++event) {
    if (start[event] >= range.end) break;
    use(event, lengthInRange(event));
  }
}

// Returns the length of the union of spans; they are pairs of begin and end.
function union(spans) {
  spans.sort((one, other) => one[0] - other[0]);
  let [sum, last] = [0, -Infinity];
  for (const [begin, end] of spans) {
    sum += Math.max(0, end - Math.max(begin, last));
    last = Math.max(last, end);
  }
  return sum;
}

// Returns how long each device ran kernels and copied, and how long each region's kernels ran.
function sumRange() {
  const devices = new Map();
  const regions = new Map();
  for (const row of rows) {
    if (row.lane.device === null) continue;
    const name = row.lane.process;
    if (!devices.has(name)) devices.set(name, { kernels: [], copies: [], bytes: 0 });
    const device = devices.get(name);
    eachInRange(row, (event, length) => {
      const span = [start[event], endOf(event)].map((time) => Math.min(Math.max(time, range.begin), range.end));
      if (kindOf[event] === KIND.kernel) {
        device.kernels.push(span);
        const { short } = labels[labelOf[event]];
        const region = regions.get(short) ?? { times: 0, time: 0 };
        regions.set(short, { times: region.times + 1, time: region.time + length });
      } else if (TRANSFERS.has(kindOf[event])) {
        device.copies.push(span);
        device.bytes += bytesOf(event);
      }
    });
  }
  return { devices, regions };
}

function describedRange() {
  const length = range.end - range.begin;
  const { devices, regions } = sumRange();
  const share = (time) => `${((100 * time) / length).toFixed(1)} %`;
  const found = [["from", `${timeText(range.begin - whole.begin)} to ${timeText(range.end - whole.begin)}`]];
  for (const [name, { kernels, copies, bytes }] of devices) {
    const moved = copies.length ? `, ${share(union(copies))} copying ${sizeText(bytes)}` : "";
    found.push([name, `${share(union(kernels))} busy with kernels${moved}`]);
  }
  const byTime = [...regions].sort(([, one], [, other]) => other.time - one.time);
  for (const [name, { times, time }] of byTime.slice(0, MOST_REGIONS)) {
    found.push([shortened(name, lettersOf("region")), `${timeText(time)} in ${countText(times)} ${times === 1 ? "kernel" : "kernels"}`]);
  }
  const left = byTime.length - MOST_REGIONS;
  if (left > 0) found.push(["…", `${countText(left)} more ${left === 1 ? "region" : "regions"}`]);
  if (byTime.length === 0) found.push(["kernels", "none"]);
  return found;
}

function showRange() {
  if (range === null || range.end <= range.begin) return;
  showBox(`Range of ${timeText(range.end - range.begin)}`, describedRange(), xOf((range.begin + range.end) / 2));
}

// Marks the selected event, or what is in view.
function markByKey() {
  if (selected === null) mark(view.begin, view.end);
  else mark(start[selected], endOf(selected));
  showRange();
}

function drawRange() {
  if (range === null) return;
  const left = Math.min(Math.max(size.gutter, xOf(range.begin)), size.width);
  const right = Math.min(Math.max(size.gutter, xOf(range.end)), size.width);
  if (right <= left) return;
  context.globalAlpha = 0.16;
  context.fillStyle = colours.range;
  context.fillRect(left, 0, right - left, size.height);
  context.globalAlpha = 1;
  context.fillRect(left, 0, 1, size.height);
  context.fillRect(right - 1, 0, 1, size.height);
  const text = timeText(range.end - range.begin);
  const width = text.length * letterWidth + 8;
  const x = Math.min(Math.max((left + right - width) / 2, size.gutter), size.width - width);
  context.fillRect(x, 2, width, AXIS - 5);
  context.fillStyle = colours.paper;
  context.fillText(text, x + 4, AXIS / 2);
}
