# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Records of new bytes of containers, for writers of files."""

from __future__ import annotations

from packager.records import NamedTuple


class Piece(NamedTuple):
    """A part of a result: bytes, or a range of the source file."""

    offset: int  # offset in the source file; -1 means `data`
    size: int
    data: bytes = b""


class Rewritten(NamedTuple):
    """A container and its replacement."""

    offset: int  # file offset of the container
    size: int  # size in the file, with header and padding
    alignment: int  # 8 for CUDA, 4096 for HIP
    pieces: tuple[Piece, ...]  # at most `size` bytes in all; equal content: nothing is removed
