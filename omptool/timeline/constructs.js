// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// ---- constructs: the events of the host that kernels and copies belong to ----

// By the number of a construct: its event on the host, the reason of its fallback, the raw name of its kernel.
const launchOf = new Map();
const reasonOf = new Map();
const regionOfConstruct = new Map();
const shortOf = new Map(); // readable name of a region, by its raw name
let fallbacks = new Uint32Array(0); // events of constructs that ran on the host instead of a device

// Fills the tables above.
function indexConstructs() {
  const found = [];
  for (const { from, to, lane, isOfInstants } of rows) {
    for (let event = from; event < to; ++event) {
      const number = constructOf[event];
      const label = labels[labelOf[event]];
      const isFallback = kindOf[event] === KIND.fallback;
      if (isFallback) found.push(event);
      if (isFallback && isOfInstants) reasonOf.set(number, label.reason);
      if (lane.device === null && !isOfInstants && isConstruct(event)) launchOf.set(number, event);
      if (kindOf[event] === KIND.kernel) regionOfConstruct.set(number, label.name);
    }
  }
  for (const { entry, name, short } of labels) shortOf.set(entry || name, short);
  for (const event of found) {
    const { entry } = labels[labelOf[event]];
    if (entry) regionOfConstruct.set(constructOf[event], entry);
  }
  for (const table of [launchOf, reasonOf, regionOfConstruct]) table.delete(0); // 0: no construct
  fallbacks = Uint32Array.from(found);
}

const isConstruct = (event) => kindOf[event] === KIND.construct || kindOf[event] === KIND.fallback;

// Returns the event of the construct that an event is part of, if the trace has it.
const constructEvent = (event) => launchOf.get(constructOf[event]);

const launcher = (event) => (kindOf[event] === KIND.kernel ? constructEvent(event) : undefined);
