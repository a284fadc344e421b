// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// ---- arrows: from the construct of the host that launched a kernel to the kernel ----

const MOST_ARROWS = 300; // more would hide what they are about
const launchOf = new Map(); // the event of a construct, by its number
const reasonOf = new Map(); // why a construct fell back, by its number
const regionOfConstruct = new Map(); // raw name of the kernel of a construct, by its number
const shortOf = new Map(); // of a region what people call it, by its raw name
let fallbacks = new Uint32Array(0); // the events that ran on the host instead

function findLaunches() {
  const found = [];
  for (const { from, to, lane, isOfInstants } of rows) {
    for (let event = from; event < to; ++event) {
      if (kindOf[event] === KIND.fallback) found.push(event);
      if (kindOf[event] === KIND.fallback && constructOf[event] && isOfInstants) {
        reasonOf.set(constructOf[event], labels[labelOf[event]].reason);
      }
      if (lane.device === null && !isOfInstants && constructOf[event] && isConstruct(event)) {
        launchOf.set(constructOf[event], event);
      }
      if (kindOf[event] === KIND.kernel) regionOfConstruct.set(constructOf[event], labels[labelOf[event]].name);
    }
  }
  for (const { entry, name, short } of labels) shortOf.set(entry || name, short);
  for (const event of found) {
    const { entry } = labels[labelOf[event]];
    if (entry) regionOfConstruct.set(constructOf[event], entry);
  }
  regionOfConstruct.delete(0); // events of no construct
  fallbacks = Uint32Array.from(found);
}

const isConstruct = (event) => kindOf[event] === KIND.construct || kindOf[event] === KIND.fallback;

// Returns the event of the construct that an event is part of, if the trace has it.
const constructEvent = (event) => launchOf.get(constructOf[event]);

const launcher = (event) => (kindOf[event] === KIND.kernel ? constructEvent(event) : undefined);

function drawArrows() {
  let room = MOST_ARROWS;
  context.strokeStyle = colours.arrow;
  context.fillStyle = colours.arrow;
  for (const { event } of shown) {
    const launch = launcher(event);
    if (launch !== undefined && rowOf(launch).height && room-- > 0) drawArrow(event);
  }
}

function drawArrow(kernel) {
  const launch = launcher(kernel);
  const [above, below] = [rowOf(launch), rowOf(kernel)];
  const x0 = Math.max(size.gutter, xOf(start[launch]));
  const y0 = yOf(above) + above.height - 1;
  const x1 = Math.max(size.gutter, xOf(start[kernel]));
  const y1 = yOf(below);
  const bend = Math.min(40, (y1 - y0) / 2);
  context.beginPath();
  context.moveTo(x0, y0);
  context.bezierCurveTo(x0, y0 + bend, x1, y1 - bend, x1, y1);
  context.stroke();
  context.beginPath();
  context.moveTo(x1, y1 + 2);
  context.lineTo(x1 - 3, y1 - 4);
  context.lineTo(x1 + 3, y1 - 4);
  context.fill();
}
