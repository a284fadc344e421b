# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ranges of a file that hold nothing but zeros."""

from __future__ import annotations

from packager.files.reader import PIECE, Reader


def is_zero(data: Reader, start: int, end: int) -> bool:
    """Return whether all bytes from `start` to `end` are zero."""
    for at in range(start, end, PIECE):
        piece = data.bytes(at, min(PIECE, end - at), "padding")
        if piece.count(0) != len(piece):
            return False
    return True
