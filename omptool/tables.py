"""Tables for people, whatever is in them and however long they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Row = dict[str, Any]
Columns = dict[str, Sequence[Any]]
# A column is as wide as its widest cell in every row: characters of one, and room for one in a
# long table. Documents have names whole.
LARGEST = 1 << 24
NARROW = 256
# From this number of rows on tables are laid out here: tabulate looks at each cell a dozen times,
# which takes longer than reading the file that they are about.
LONG = 1000
# What tabulate adds to a title, and puts between columns.
PADDING, GAP = 2, "  "


def table(title: str, rows: Sequence[Row]) -> str:
    """A table with its title; columns that are empty throughout are left out."""
    names = rows[0] if rows else {}
    return column_table(title, {name: [row[name] for row in rows] for name in names})


def column_table(title: str, columns: Columns) -> str:
    """The same of columns, which are of one length."""
    kept = {name: cells for name, cells in columns.items() if not {None, ""}.issuperset(cells)}
    length = max(map(len, kept.values()), default=0)
    if not length:
        return f"no {title}"
    room = max(NARROW, LARGEST // length)
    shown = {name: _cells(values, room) for name, values in kept.items()}
    is_number = [any(isinstance(value, int) for value in values) for values in kept.values()]
    layout = _long if length >= LONG else _short
    return f"{title}:\n{layout(shown, is_number)}"


def _short(columns: dict[str, list[str]], is_number: Sequence[bool]) -> str:
    from tabulate import tabulate

    align = ["right" if number else "left" for number in is_number]
    rows = list(zip(*columns.values(), strict=True))
    return tabulate(rows, list(columns), disable_numparse=True, colalign=align)


def _long(columns: dict[str, list[str]], is_number: Sequence[bool]) -> str:
    """The same text."""
    padded = []
    for (name, cells), to_right in zip(columns.items(), is_number, strict=True):
        stripped = list(map(str.strip, cells))
        width = max(len(name) + PADDING, max(map(len, stripped)))
        place = str.rjust if to_right else str.ljust
        padded.append([place(cell, width) for cell in (name, "-" * width, *stripped)])
    return "\n".join(GAP.join(line).rstrip() for line in zip(*padded, strict=True))


def _cells(values: Sequence[object], room: int) -> list[str]:
    cells = ["-" if value is None or value == "" else str(value) for value in values]
    return cells if max(map(len, cells)) <= room else [_cut(cell, room) for cell in cells]


def _cut(cell: str, room: int) -> str:
    return cell if len(cell) <= room else f"{cell[:room]}… ({len(cell)} characters)"


def hexadecimal(value: int | None) -> str | None:
    """A number as addresses and offsets are shown."""
    return None if value is None else f"{value:#x}"


def counted(number: int, one: str, many: str) -> str:
    """A number and the word for what is counted."""
    return f"{number} {one if number == 1 else many}"
