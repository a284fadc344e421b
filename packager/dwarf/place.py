# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A function's declaration in debug information, and the search for its name."""

from __future__ import annotations

import re

from packager.records import NamedTuple

# Most bytes to search for names one by one; larger data are searched once for all names.
MAX_SEARCHED = 1 << 30


class Place(NamedTuple):
    """The file and line at which a function is declared."""

    file: str
    line: int  # 0 if that is not known


def offsets(strings: bytes, wanted: set[bytes]) -> dict[int, bytes]:
    """Return the offsets of names in a string table, in which a name may end a longer string."""
    if len(wanted) * len(strings) <= MAX_SEARCHED:
        return {
            found.start(): name
            for name in wanted
            for found in re.finditer(re.escape(name + b"\0"), strings)
        }
    parts = re.finditer(rb"[^\0]+", strings)
    return {part.start(): part[0] for part in parts if part[0] in wanted}
