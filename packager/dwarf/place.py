"""What debug information says of a function."""

from __future__ import annotations

from typing import NamedTuple


class Place(NamedTuple):
    """Where a function is declared."""

    file: str
    line: int  # 0 if that is not known
