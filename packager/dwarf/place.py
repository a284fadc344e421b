"""What debug information says of a function, and how its name is found."""

from __future__ import annotations

import re
from typing import NamedTuple

# Bytes that are searched for each of some names; beyond, for all names in one pass.
MAX_SEARCHED = 1 << 30


class Place(NamedTuple):
    """Where a function is declared."""

    file: str
    line: int  # 0 if that is not known


def offsets(strings: bytes, wanted: set[bytes]) -> dict[int, bytes]:
    """Where in a table of strings the names are; linkers put them at the end of others, too."""
    if len(wanted) * len(strings) <= MAX_SEARCHED:
        return {
            found.start(): name
            for name in wanted
            for found in re.finditer(re.escape(name + b"\0"), strings)
        }
    parts = re.finditer(rb"[^\0]+", strings)
    return {part.start(): part[0] for part in parts if part[0] in wanted}
