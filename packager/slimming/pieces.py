# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

from __future__ import annotations

from packager.records import NamedTuple


class Piece(NamedTuple):
    """Bytes of a result: new ones, or a range of the source file."""

    offset: int  # in the source file; -1: `data` is meant
    size: int
    data: bytes = b""


class Rewritten(NamedTuple):
    """A container and the pieces that replace it."""

    offset: int  # of the container in the file
    size: int  # of the container in the file, with its header and padding
    alignment: int  # 8 for CUDA, 4096 for HIP
    pieces: tuple[Piece, ...]  # at most `size` bytes in all; equal content: nothing is removed
