"""Tables for people and documents for programs, whatever is in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Row = dict[str, Any]
# A column is as wide as its widest cell in every row: characters of one, and room for one in a
# long table. Documents have names whole.
LARGEST = 1 << 24
NARROW = 256


def table(title: str, rows: Sequence[Row]) -> str:
    """A table with its title; columns that are empty throughout are left out."""
    if not rows:
        return f"no {title}"
    from tabulate import tabulate

    columns = [key for key in rows[0] if any(row[key] not in (None, "") for row in rows)]
    room = max(NARROW, LARGEST // len(rows))
    cells = [[_cut(_cell(row[key]), room) for key in columns] for row in rows]
    numeric = [any(isinstance(row[key], int) for row in rows) for key in columns]
    align = ["right" if is_number else "left" for is_number in numeric]
    return f"{title}:\n" + tabulate(cells, columns, disable_numparse=True, colalign=align)


def _cut(cell: str, room: int) -> str:
    return cell if len(cell) <= room else f"{cell[:room]}… ({len(cell)} characters)"


def _cell(value: object) -> str:
    return "-" if value in (None, "") else str(value)


def hexadecimal(value: int | None) -> str | None:
    """A number as addresses and offsets are shown."""
    return None if value is None else f"{value:#x}"


def counted(number: int, one: str, many: str) -> str:
    """A number and the word for what is counted."""
    return f"{number} {one if number == 1 else many}"


def document(files: Sequence[Row], errors: Sequence[Row]) -> str:
    """The JSON of a reading command."""
    import json

    return json.dumps({"schema": 1, "files": files, "errors": errors}, indent=2)
