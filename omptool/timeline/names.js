// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// ---- names: shortened so that their end stays, where functions and lines are ----

const OPENING = "(<[{";
const CLOSING = ")>]}";

// Returns where each part of a name begins that no bracket is around.
function topLevel(name, isPart) {
  const found = [];
  let depth = 0;
  for (let at = 0; at < name.length; ++at) {
    if (CLOSING.includes(name[at])) depth -= 1;
    if (depth === 0 && isPart(at)) found.push(at);
    if (OPENING.includes(name[at])) depth += 1;
  }
  return found;
}

// Returns the name without the parameters of its function: "f(int):5" becomes "f:5".
function withoutParameters(name) {
  const isOpening = (at) => name[at] === "(" && at > 0 && name[at - 1] !== ":" && !name.slice(0, at).endsWith("operator");
  const [open] = topLevel(name, isOpening);
  if (open === undefined) return name;
  const line = /:\d+$/.exec(name);
  return name.slice(0, open) + (line ? line[0] : "");
}

// Returns a name with ever fewer of its namespaces and classes: "a::B<c::d>::f:5", "B<c::d>::f:5", "f:5".
const unqualified = (name) => [name, ...topLevel(name, (at) => name.startsWith("::", at)).map((at) => name.slice(at + 2))];

// Returns the name with its middle left out; the end gets two thirds of the room.
function withoutMiddle(name, letters) {
  if (name.length <= letters) return name;
  if (letters < 3) return "";
  const head = Math.floor((letters - 1) / 3);
  return `${name.slice(0, head)}…${name.slice(name.length - (letters - 1 - head))}`;
}

// Returns the name of a template's region with the function around its lambda, in which its instances differ:
// "forall<int, halo::{lambda#1}>:15" becomes "foral…halo…:15". Returns null for other names, and for less room.
function aroundLambda(name, letters) {
  const at = name.lastIndexOf("::{lambda#");
  const found = at < 0 ? null : /\w+$/.exec(name.slice(0, at));
  if (!found || found.index === 0) return null;
  const end = `…${found[0]}…${/:\d+$/.exec(name)?.[0] ?? ""}`;
  if (end.length > letters) return null;
  return name.slice(0, Math.min(letters - end.length, found.index)) + end;
}

const ENOUGH = 0.6; // of the room that a name without namespaces has to fill

// Returns a name in at most so many letters: without parameters, without namespaces, without its middle.
function shortened(name, letters) {
  if (name.length <= letters) return name;
  const candidates = unqualified(withoutParameters(name));
  const first = candidates.findIndex((one) => one.length <= letters);
  if (first < 0) return aroundLambda(candidates.at(-1), letters) ?? withoutMiddle(candidates.at(-1), letters);
  const isMostlyEmpty = first > 0 && candidates[first].length < letters * ENOUGH;
  return isMostlyEmpty ? withoutMiddle(candidates[first - 1], letters) : candidates[first];
}
