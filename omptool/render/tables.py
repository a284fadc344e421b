"""Tables for people, whatever is in them and however long they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Row = dict[str, Any]
Columns = dict[str, Sequence[Any]]
# A column is as wide as its widest cell in every row: characters of one, and room for one in a
# table of many rows. Documents have names whole.
LARGEST = 1 << 24
NARROW = 256
# What is cut to the terminal's width stays as long as this; this is between columns, and behind
# headers.
SHORTEST = 24
GAP = 2


def table(
    title: str, rows: Sequence[Row], width: int | None = None, cut: Sequence[str] = ()
) -> str:
    """A table with its title; columns that are empty throughout are left out.

    Where it is wider than `width`, the columns `cut` are shortened.
    """
    names = rows[0] if rows else {}
    return column_table(title, {name: [row[name] for row in rows] for name in names}, width, cut)


def column_table(
    title: str, columns: Columns, width: int | None = None, cut: Sequence[str] = ()
) -> str:
    """The same of columns, which are of one length."""
    kept = {name: cells for name, cells in columns.items() if not {None, ""}.issuperset(cells)}
    length = max(map(len, kept.values()), default=0)
    if not length:
        return f"no {title}"
    room = max(NARROW, LARGEST // length)
    shown = {name: _cells(values, room) for name, values in kept.items()}
    if width is not None:
        shown = _fitted(shown, width, cut)
    is_number = [any(isinstance(value, int) for value in values) for values in kept.values()]
    align = ["right" if number else "left" for number in is_number]
    # Imported where a table is shown: starting is a feature.
    from tabulate import tabulate

    lines = tabulate(
        list(zip(*shown.values(), strict=True)), list(shown), disable_numparse=True, colalign=align
    )
    return f"{title}:\n{lines}"


def _fitted(shown: dict[str, list[str]], width: int, cut: Sequence[str]) -> dict[str, list[str]]:
    """Columns, those that may be cut so short that a row fits."""
    widths = {name: max(len(name) + GAP, *map(len, cells)) for name, cells in shown.items()}
    excess = sum(widths.values()) + GAP * (len(widths) - 1) - width
    for name in sorted((name for name in cut if name in shown), key=lambda one: -widths[one]):
        room = max(widths[name] - max(excess, 0), min(SHORTEST, widths[name]))
        excess -= widths[name] - room
        shown[name] = [shortened(cell, room) for cell in shown[name]]
    return shown


def shortened(text: str, room: int, gap: str = "…") -> str:
    """Return `text` in at most `room` characters: the middle gives way to `gap`.

    Names that begin alike, as those of kernels do, differ at their ends.
    """
    if len(text) <= room:
        return text
    kept = max(room - len(gap), 0)
    head = kept // 2
    return f"{text[:head]}{gap}{text[len(text) - kept + head :]}"


def _cells(values: Sequence[object], room: int) -> list[str]:
    cells = ["-" if value is None or value == "" else str(value) for value in values]
    return cells if max(map(len, cells)) <= room else [_cut(cell, room) for cell in cells]


def _cut(cell: str, room: int) -> str:
    return shortened(cell, room, f"…({len(cell)} characters)…")


def hexadecimal(value: int | None) -> str | None:
    """A number as addresses and offsets are shown."""
    return None if value is None else f"{value:#x}"


def counted(number: int, one: str, many: str) -> str:
    """A number and the word for what is counted."""
    return f"{number} {one if number == 1 else many}"
