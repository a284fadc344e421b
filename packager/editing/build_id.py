# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Update the build-id of an edited file: the file is not the old one any more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from struct import Struct
from typing import BinaryIO

from xxhash import xxh3_128

from packager.editing.layout.result import Layout
from packager.editing.linked import LinkedFile
from packager.elf.headers import SHT_NOTE
from packager.errors import FormatError
from packager.files.checksums import Checksums
from packager.files.portable import pwrite
from packager.files.reader import Reader
from packager.records import NamedTuple
from packager.writers.elf_types import FilePart

NOTE = Struct("<III")  # sizes of name and description, type
NT_GNU_BUILD_ID = 3
GNU = b"GNU\0"
MAX_NOTES = 256


class BuildId(NamedTuple):
    """A build-id, and where it is."""

    offset: int
    content: bytes

    def after(self, new: Sequence[bytes]) -> bytes:
        """Return the build-id of the file after an edit that put `new` bytes into it."""
        size = len(self.content)
        found = b""
        while len(found) < size:
            digest = xxh3_128(self.content, seed=len(found))
            for part in new:
                digest.update(part)
            found += digest.digest()
        return found[:size]


def find_build_id(file: LinkedFile) -> BuildId | None:
    """Return the build-id of a file, or None."""
    for section in file.sections:
        if section.type == SHT_NOTE and section.is_allocated:
            try:
                found = _in(file.elf.content(section))
            except FormatError:
                continue  # notes of others, in forms of their own
            if found:
                return found
    return None


def _in(data: Reader) -> BuildId | None:
    at = 0
    for _ in range(MAX_NOTES):
        if at + NOTE.size > len(data):
            break
        name_size, size, kind = data.unpack(NOTE, at, "note")
        name = data.bytes(at + NOTE.size, min(name_size, 16), "note")
        at += NOTE.size + -(-name_size // 4) * 4
        if name == GNU and kind == NT_GNU_BUILD_ID and size:
            return BuildId(data.at + at, data.bytes(at, size, "build-id"))
        at += -(-size // 4) * 4
    return None


def renewed(out: BinaryIO, file: LinkedFile, layout: Layout, old: BuildId, sums: Checksums) -> str:
    """Write the new build-id where the old one is; return a note on it."""
    content = old.after(list(_new(layout, sums)))
    address = next(
        s.address + old.offset - s.offset
        for s in file.sections
        if s.type == SHT_NOTE and s.offset <= old.offset < s.offset + s.size
    )
    moved = layout.moves.offset(address)
    pwrite(out.fileno(), content, old.offset if moved is None else moved)
    return changed(old, content)


def changed(old: BuildId, content: bytes) -> str:
    """Return a note on a new build-id."""
    return f"its build-id changes from {old.content.hex()} to {content.hex()}"


def _new(layout: Layout, sums: Checksums) -> Iterator[bytes]:
    """Yield the sums of new images, other new bytes with their places, and the holes."""
    pieces = [(chunk.offset, chunk.piece) for chunk in layout.chunks]
    yield from (sums.of(piece.path) for _, piece in pieces if isinstance(piece, FilePart))
    for at, piece in (*layout.patches, *pieces):
        if isinstance(piece, bytes):
            yield from (at.to_bytes(8, "little"), piece)
    yield repr(sorted(map(tuple, layout.holes))).encode()
