// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// ---- colours: the style sheet's, in the forms that the canvas needs ----
//
// Regions have colours of their own, on the host and on devices. Other events have that of their kind.

const colours = { ink: "", faint: "", line: "", paper: "", focus: "", arrow: "", range: "" };
const REGIONS = 9; // colours of regions, by number in the style sheet
const FIRST_OF_REGIONS = tables.kinds.length; // behind the colours of kinds
const COUNT = FIRST_OF_REGIONS + REGIONS;
const pixels = new Uint32Array(COUNT);
const palePixels = new Uint32Array(COUNT);
const texts = new Array(COUNT); // colours of text on each
let dimPixel = 0;
let stripePixel = 0;

// Returns the same number for the same name in all traces: FNV-1a, with the last step of MurmurHash3.
function hashed(name) {
  let hash = 0x811c9dc5;
  for (let at = 0; at < name.length; ++at) hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

const slotOfName = (short) => hashed(short) % REGIONS;
const slots = labels.map(({ short }) => FIRST_OF_REGIONS + slotOfName(short));

// Returns the number of an event's colour.
function slotOf(event) {
  const kind = kindOf[event];
  const isOfRegion = kind === KIND.kernel || (kind === KIND.construct && labels[labelOf[event]].entry);
  return isOfRegion ? slots[labelOf[event]] : kind;
}

const colourOf = (event) => (isHit && !isHit[labelOf[event]] ? dimPixel : pixels[slotOf(event)]);
const paleOf = (event) => palePixels[slotOf(event)];

function textColourOf(event) {
  const isPale = SHAPES[kindOf[event]].includes(2) || (isHit && !isHit[labelOf[event]]);
  return isPale ? colours.ink : texts[slotOf(event)];
}

// Returns red, green and blue of a colour of the style sheet. The colour depends on the scheme, so an element is
// asked for it.
function resolved(name) {
  const probe = byId("legend");
  probe.style.color = `var(--${name})`;
  const found = getComputedStyle(probe).color;
  probe.style.color = "";
  return found.match(/[\d.]+/g).slice(0, 3).map(Number);
}

// The bytes of a pixel are red, green, blue and opacity, the first one being the lowest.
const pixel = ([red, green, blue]) => ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
const css = (colour) => `rgb(${colour.join(" ")})`;

const mixed = (one, other, part) => one.map((value, at) => Math.round(value * part + other[at] * (1 - part)));

// https://www.w3.org/TR/WCAG22/#dfn-relative-luminance
function luminance(colour) {
  const [red, green, blue] = colour.map((value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

const DARK_ENOUGH = 0.18; // luminance at which black and white text contrast alike

function readColours() {
  for (const name of Object.keys(colours)) colours[name] = css(resolved(name));
  const paper = resolved("paper");
  const names = tables.kinds.map((kind) => `kind-${kind.replaceAll(" ", "-")}`);
  for (let number = 0; number < REGIONS; ++number) names.push(`region-${number}`);
  names.forEach((name, slot) => {
    const colour = resolved(name);
    pixels[slot] = pixel(colour);
    palePixels[slot] = pixel(mixed(colour, paper, 0.3));
    texts[slot] = luminance(colour) < DARK_ENOUGH ? "#ffffff" : "#000000";
  });
  dimPixel = pixel(resolved("dim"));
  stripePixel = pixel(resolved("stripe"));
}

const prefersDark = matchMedia("(prefers-color-scheme: dark)");

function switchScheme() {
  const root = document.documentElement;
  const isDark = (root.style.colorScheme || (prefersDark.matches ? "dark" : "light")) === "dark";
  root.style.colorScheme = isDark ? "light" : "dark";
  readColours();
  redraw();
}

function fillLegend() {
  const used = new Set(kindOf);
  tables.kinds.forEach((kind, number) => {
    if (!used.has(number)) return;
    const item = document.createElement("li");
    item.dataset.kind = kind;
    item.textContent = kind;
    byId("legend").append(item);
  });
}
