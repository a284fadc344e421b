// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// ---- arrows: from the construct of the host that launched a kernel to the kernel ----

const MOST_ARROWS = 300; // more arrows would hide the events

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
