# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Find ranges of zeros, or of patchelf's filling where sections were."""

from __future__ import annotations

from packager.files.reader import PIECE, Reader

LEFT_BEHIND = b"\0XZ"  # old and new patchelf


def is_zero(data: Reader, start: int, end: int) -> bool:
    """Return whether all bytes from `start` to `end` are zero."""
    for at in range(start, end, PIECE):
        piece = data.bytes(at, min(PIECE, end - at), "padding")
        if piece.count(0) != len(piece):
            return False
    return True


def is_left_behind(data: Reader, start: int, end: int) -> bool:
    """Return whether a range that no section has may be overwritten."""
    return not any(
        data.bytes(at, min(PIECE, end - at), "padding").strip(LEFT_BEHIND)
        for at in range(start, end, PIECE)
    )
