# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CUDA Tile's bytecode, which the driver compiles. It begins with a magic; no more is read."""

from __future__ import annotations

from packager.files.reader import Reader
from packager.model import Contents

MAGIC = b"\x7fTileIR\0"


def probe(data: Reader) -> bool:
    """Return whether `data` begins with the magic."""
    return data.starts_with(MAGIC)


def inspect(_: Reader) -> Contents:
    """Return the kind: the bytecode names no processor, and its symbols are not read."""
    return Contents("tileir", "nvptx64", is_opaque=True)
