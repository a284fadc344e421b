# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables for people, whatever is in them and however long they are."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any

from omptool.console import coloured
from omptool.imports import import_tabulate
from omptool.render.cut_names import shortened, told_apart

Row = dict[str, Any]
Columns = dict[str, Sequence[Any]]
# Most characters in a table: each cell is padded to the widest one of its column. JSON documents
# have names whole.
LARGEST = 1 << 24
NARROW = 256
# Least length of a truncated name.
SHORTEST = 16
# Part of the width that names get before other columns.
PART_OF_NAMES = 0.75
PIECE = 400  # rows that are laid out together
GAP = 2  # spaces between columns
# Colours by a cell's first word: state of an entry, of a plugin, or where a region runs.
STATES = {
    "present": "green",
    "missing": "red",
    "misordered": "red",
    "size": "red",
    "kind": "red",
    "unknown": "yellow",
    "device": "green",
    "host": "yellow",
    "ready": "green",
    "refused": "red",
    "fails": "red",
}


class Number(str):
    """A number with its unit, as text; its column is aligned like numbers."""

    __slots__ = ()


def table(
    title: str,
    rows: Sequence[Row],
    width: int | None = None,
    cut: Sequence[str] = (),
    spare: Sequence[str] = (),
    states: Container[str] = (),
) -> str:
    """Return a table with its title, without empty columns.

    If it is wider than `width`, the columns `cut` are shortened. If that is not enough, columns of
    `spare` are omitted in order, and a line below names them. The first column, if in `cut`, has
    the names of the rows: it stays whole as long as others can be cut or omitted. Cells of the
    columns `states` have the colours of STATES.
    """
    return "\n".join(table_pieces(title, rows, width, cut, spare, states))


def table_pieces(title: str, rows: Sequence[Row], *how: Any) -> Iterator[str]:
    """Yield the table as `table` returns it, some lines at a time, for tables of many MB."""
    names = rows[0] if rows else {}
    columns: Columns = {name: [row[name] for row in rows] for name in names}
    return _pieces(title, columns, *how)


def column_table(title: str, columns: Columns, *how: Any) -> str:
    """Return the table of these columns, which are of one length, as `table` does of rows."""
    return "\n".join(_pieces(title, columns, *how))


def _pieces(
    title: str,
    columns: Columns,
    width: int | None = None,
    cut: Sequence[str] = (),
    spare: Sequence[str] = (),
    states: Container[str] = (),
) -> Iterator[str]:
    kept = {name: cells for name, cells in columns.items() if not {None, ""}.issuperset(cells)}
    length = max(map(len, kept.values()), default=0)
    if not length:
        yield f"no {title}"
        return
    del columns  # long cells are not kept beside what is shown of them
    room = max(NARROW, LARGEST // length)
    numbers = {
        name for name, cells in kept.items() if any(isinstance(one, int | Number) for one in cells)
    }
    shown = {name: _cells(kept.pop(name), room) for name in list(kept)}
    left_out: list[str] = []
    if width is not None:
        shown, left_out = _fitted(shown, width, cut, spare)
    align = ["right" if name in numbers else "left" for name in shown]
    widest = [max(cells, key=len) for cells in shown.values()]
    shown = {name: _coloured(cells, name in states) for name, cells in shown.items()}
    yield f"{title}:"
    yield from _lines(shown, widest, align)
    if left_out:
        import textwrap  # loaded with the table

        note = f"not shown at this width: {', '.join(left_out)} (--wide shows all)"
        yield note if width is None else "\n".join(textwrap.wrap(note, width))


def _lines(
    columns: Mapping[str, list[str]], widest: list[str], align: Sequence[str]
) -> Iterator[str]:
    """Yield the header with some rows, and then others: the library copies cells several times.

    In each piece a row of the `widest` cells keeps the columns as wide as in all others. No line
    ends in spaces.
    """
    tabulate = import_tabulate()
    length = len(next(iter(columns.values())))
    for start in range(0, length, PIECE):
        piece = zip(*(cells[start : start + PIECE] for cells in columns.values()), strict=True)
        padding, tabulate.MIN_PADDING = tabulate.MIN_PADDING, 0  # padding of headers
        try:
            text = tabulate.tabulate(
                [widest, *piece], list(columns), disable_numparse=True, colalign=align
            )
        finally:
            tabulate.MIN_PADDING = padding
        header, rule, _widest, *rows = map(str.rstrip, text.split("\n"))
        yield "\n".join((header, rule, *rows) if start == 0 else rows)


def _coloured(cells: list[str], has_states: bool) -> list[str]:
    """Return the cells of a column of states in their colours; others unchanged."""
    if not has_states:
        return cells
    return [coloured(cell, STATES.get(cell.split(" ")[0])) for cell in cells]


def _fitted(
    shown: dict[str, list[str]], width: int, cut: Sequence[str], spare: Sequence[str]
) -> tuple[dict[str, list[str]], list[str]]:
    """Return columns cut so that a row fits, and the omitted ones."""
    widths = {name: max(len(name), *map(len, cells)) for name, cells in shown.items()}
    least = {n: min(w, max(SHORTEST, len(n))) if n in cut else w for n, w in widths.items()}
    names = next(iter(shown))
    if names in cut:
        least[names] = max(least[names], _room_of_names(names, widths[names], least, width, spare))
    left_out: list[str] = []
    for name in (name for name in spare if name in shown):
        if _excess(least, width) <= 0:
            break
        least.pop(name)
        left_out.append(name)
    if names in cut and _excess(least, width) > 0:
        least[names] = max(least[names] - _excess(least, width), min(SHORTEST, widths[names]))
    kept = {name: widths[name] for name in least}
    excess = _excess(kept, width)
    for name in sorted(kept, key=lambda one: (one == names, -widths[one])):
        if name in cut:
            kept[name] = max(widths[name] - max(excess, 0), least[name])
            excess -= widths[name] - kept[name]
    cells = {name: [shortened(one, kept[name]) for one in shown[name]] for name in kept}
    if names in cells:
        cells[names] = told_apart(shown[names], cells[names], kept[names])
    return cells, left_out


def _room_of_names(
    names: str, widest: int, least: Mapping[str, int], width: int, spare: Container[str]
) -> int:
    """Return the characters that names have before other columns: all if that is possible.

    Otherwise some names are cut in any case, and other columns have a part of the width.
    """
    others = {name: room for name, room in least.items() if name != names and name not in spare}
    if _excess({**others, names: widest}, width) <= 0:
        return widest
    return min(widest, int(width * PART_OF_NAMES))


def _excess(widths: Mapping[str, int], width: int) -> int:
    """Return how many characters a row of these columns is too long."""
    return sum(widths.values()) + GAP * (len(widths) - 1) - width


def _cells(values: Sequence[object], room: int) -> list[str]:
    cells = ["-" if value is None or value == "" else str(value) for value in values]
    return cells if max(map(len, cells)) <= room else [_cut(cell, room) for cell in cells]


def _cut(cell: str, room: int) -> str:
    return shortened(cell, room, f"…({len(cell)} characters)…")


def hexadecimal(value: int | None) -> str | None:
    """Return an address or offset in hexadecimal."""
    return None if value is None else f"{value:#x}"
