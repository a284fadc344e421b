#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draw the rooms (folders) of the three trees and their dependencies: docs/rooms.svg.

Usage: scripts/draw_rooms.py [--check]

An arrow points to a room whose files are included or imported; arrows implied by others are
omitted. With --check nothing is written, and the exit code is 1 if the drawing is outdated.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

import include_directions
import python_rooms

ROOT = Path(__file__).parents[1]
DRAWING = ROOT / "docs" / "rooms.svg"
WIDTH, HEIGHT, GAP, MARGIN, LANE = 190, 30, 24, 24, 9
COLUMN = 2 * WIDTH + 130
Uses = Mapping[str, set[str]]


@dataclass(frozen=True)
class Tree:
    """A tree: its rooms from the top, and the rooms that each uses."""

    name: str
    levels: Sequence[Sequence[str]]
    uses: Uses


def main() -> None:
    """Draw, or check the drawing."""
    drawing = draw([python_tree("omptool"), python_tree("packager"), runtime_tree()])
    if "--check" not in sys.argv[1:]:
        DRAWING.write_text(drawing)
    elif not DRAWING.exists() or DRAWING.read_text() != drawing:
        sys.exit(f"{DRAWING.relative_to(ROOT)} is not of this code: run scripts/draw_rooms.py")


# ---- what there is ----


def python_tree(name: str) -> Tree:
    """Return the rooms of a Python package; its top-level modules are one room, "the door"."""
    levels = (*python_rooms.levels(name), ("the door",))
    rooms = {room for level in levels for room in level}
    files = sorted((ROOT / name).rglob("*.py"))

    def room_of(file: Path) -> str:
        below = file.relative_to(ROOT / name).parents  # a room may have rooms of its own
        return next((room for room in map(Path.as_posix, below) if room in rooms), "the door")

    uses: dict[str, set[str]] = {room: set() for room in rooms}
    for file in files:
        room = room_of(file)
        for module in imported(file):
            if module.startswith(f"{name}."):
                target = ROOT / module.replace(".", "/")
                uses[room].add(room_of(target / "__init__.py" if target.is_dir() else target))
    return Tree(name, levels, uses)


def imported(file: Path) -> Iterator[str]:
    """Yield the full names of the modules that a file imports."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                path = ROOT / whole.replace(".", "/")
                yield whole if path.is_dir() or path.with_suffix(".py").is_file() else node.module


def runtime_tree() -> Tree:
    """Return the rooms of the runtime's agnostic layer."""
    runtime, prefix = ROOT / "runtime", "libomptarget/"
    levels = [
        [room.removeprefix(prefix) for room in level if room.startswith(prefix)]
        for level in include_directions.LEVELS
    ]
    levels = [level for level in levels if level]
    uses: dict[str, set[str]] = {room: set() for level in levels for room in level}
    for path in sorted((runtime / "libomptarget").rglob("*")):
        if path.suffix not in {".h", ".cpp"}:
            continue
        file = path.relative_to(runtime).as_posix()
        room = include_directions.room_of(file).removeprefix(prefix)
        for target in include_directions.included(runtime, file):
            there = include_directions.room_of(target).removeprefix(prefix)
            if there in uses:
                uses[room].add(there)
    return Tree("runtime/libomptarget", levels, uses)


def needed(uses: Uses) -> Iterator[tuple[str, str]]:
    """Yield the arrows that no chain of other arrows implies."""

    def leads(start: str, end: str) -> bool:
        return any(mid == end or leads(mid, end) for mid in uses[start] if mid != start)

    for room, targets in uses.items():
        others = targets - {room}
        for target in sorted(others):
            if not any(mid != target and leads(mid, target) for mid in others):
                yield room, target


# ---- the drawing ----


def draw(trees: Sequence[Tree]) -> str:
    """Return the whole drawing as SVG."""
    rows = max(len(tree.levels) for tree in trees)
    height = 2 * MARGIN + 30 + rows * (HEIGHT + GAP)
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {COLUMN * len(trees)} {height}"'
            ' font-family="sans-serif" font-size="13">'
        ),
        (
            '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7"'
            ' markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" fill="#567"/></marker></defs>'
        ),
        f'<rect width="{COLUMN * len(trees)}" height="{height}" fill="#fff"/>',
    ]
    for number, tree in enumerate(trees):
        parts += draw_tree(tree, number * COLUMN + MARGIN)
    return "\n".join([*parts, "</svg>", ""])


def draw_tree(tree: Tree, left: int) -> Iterator[str]:
    """Yield the SVG of one tree, in its own column."""
    yield f'<text x="{left}" y="{MARGIN + 8}" font-weight="bold">{escape(tree.name)}</text>'
    boxes: dict[str, Box] = {}
    for row, level in enumerate(tree.levels):
        width = (2 * WIDTH - 10 * (len(level) - 1)) / len(level)
        for place, room in enumerate(level):
            top = MARGIN + 30 + row * (HEIGHT + GAP)
            boxes[room] = Box(left + place * (width + 10), top, width)
    lane = left + 2 * WIDTH
    for room, target in sorted(needed(tree.uses), key=lambda arrow: (-boxes[arrow[0]].top, arrow)):
        start, end = boxes[room], boxes[target]
        is_next = end.top - start.top < 1.5 * (HEIGHT + GAP)
        lane += 0 if is_next else LANE
        path = straight(start, end) if is_next else around(start, end, lane)
        yield f'<path d="{path}" fill="none" stroke="#567" marker-end="url(#head)"/>'
    for room, box in boxes.items():
        yield from draw_box(box, room)


@dataclass(frozen=True)
class Box:
    """The place where a room is drawn."""

    left: float
    top: float
    width: float

    @property
    def middle(self) -> float:
        return self.left + self.width / 2


def straight(start: Box, end: Box) -> str:
    """Return the path of an arrow to the next level."""
    narrow, wide = sorted((start, end), key=lambda box: box.width)
    at = min(max(narrow.middle, wide.left), wide.left + wide.width)
    return f"M{at:.0f} {start.top + HEIGHT}V{end.top}"


def around(start: Box, end: Box, lane: float) -> str:
    """Return the path of an arrow past the levels between, on a lane beside them."""
    down = 5 + lane // LANE % 3 * 6  # neighbours do not share a line
    begin = f"M{start.middle + 40:.0f} {start.top + HEIGHT}v{down:.0f}"
    return f"{begin}H{lane:.0f}V{end.top + HEIGHT / 2:.0f}H{end.left + end.width:.0f}"


def draw_box(box: Box, room: str) -> Iterator[str]:
    """Yield the SVG of a room."""
    yield (
        f'<rect x="{box.left:.0f}" y="{box.top}" width="{box.width:.0f}" height="{HEIGHT}" rx="4"'
        ' fill="#eef3f8" stroke="#345"/>'
    )
    yield (
        f'<text x="{box.middle:.0f}" y="{box.top + HEIGHT / 2 + 4:.0f}" text-anchor="middle">'
        f"{escape(room)}</text>"
    )


if __name__ == "__main__":
    main()
