# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The new bytes of containers in a plan of `slim`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from packager.slimming.keeps import named
from packager.slimming.pieces import Piece, Rewritten
from packager.slimming.plan import FilePlan, plan


def content(source: bytes, pieces: Iterable[Piece]) -> bytes:
    """Return the bytes of pieces."""
    return b"".join(
        piece.data if piece.offset < 0 else source[piece.offset : piece.offset + piece.size]
        for piece in pieces
    )


def containers(source: bytes, rewrites: Iterable[Rewritten]) -> list[bytes]:
    """Return the new bytes of each container, all of which are as many as announced."""
    found = []
    for one in rewrites:
        new = content(source, one.pieces)
        assert len(new) == sum(piece.size for piece in one.pieces) <= one.size
        found.append(new)
    return found


def planned(path: Path, keep: str, *, keep_ptx: bool = False) -> tuple[FilePlan, list[bytes]]:
    """Return the plan for a file, and the new bytes of its containers."""
    found = plan(path, named([keep]), keep_ptx=keep_ptx)
    return found, containers(path.read_bytes(), found.rewrites)


def joined(rewrites: Iterable[Rewritten], new: Iterable[bytes]) -> bytes:
    """Return containers end to end, each where its alignment puts it."""
    out = b""
    for one, data in zip(rewrites, new, strict=True):
        out += bytes(-len(out) % one.alignment) + data
    return out


def zeroed(source: bytes, rewrites: Iterable[Rewritten]) -> bytes:
    """Return a file whose containers are new, each at its place, with zeros behind it."""
    out = bytearray(source)
    for one in rewrites:
        new = content(source, one.pieces)
        out[one.offset : one.offset + one.size] = new.ljust(one.size, b"\0")
    return bytes(out)
