// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// ---- colours: those of the style sheet, as a canvas and its pixels want them ----

const colours = { ink: "", faint: "", line: "", paper: "", focus: "", arrow: "", textOnEvent: "" };
const pixelOfKind = new Uint32Array(tables.kinds.length);
let dimPixel = 0;

// A colour of the style sheet depends on the scheme: only an element has the one that holds now.
function resolved(name) {
  const probe = byId("legend");
  probe.style.color = `var(--${name})`;
  const found = getComputedStyle(probe).color;
  probe.style.color = "";
  return found;
}

// The bytes of a pixel are red, green, blue and opacity, the first one being the lowest.
function pixel(colour) {
  const [red, green, blue] = colour.match(/[\d.]+/g).map(Number);
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

function readColours() {
  for (const name of Object.keys(colours)) {
    colours[name] = resolved(name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`));
  }
  tables.kinds.forEach((kind, number) => {
    pixelOfKind[number] = pixel(resolved(`kind-${kind.replaceAll(" ", "-")}`));
  });
  dimPixel = pixel(resolved("dim"));
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
