# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The bytes of new parts, when all addresses are known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from packager.editing.layout.placing import Placed
from packager.editing.plan import Part, Piece
from packager.elf.headers import WORD
from packager.errors import UsageError
from packager.host_machines.machine import Instruction
from packager.records import NamedTuple


class Chunk(NamedTuple):
    """Bytes and their place in the result."""

    offset: int
    piece: Piece

    @property
    def end(self) -> int:
        """Return where they end."""
        size = len(self.piece) if isinstance(self.piece, bytes) else self.piece.size
        return self.offset + size


def chunks(placed: Placed, late: Mapping[Part, Sequence[bytes]]) -> Iterator[Chunk]:
    """Yield the bytes of all new parts; `late` has those that depend on the layout."""
    for part in placed.parts:
        inside = 0
        for piece in late.get(part, part.content):
            if isinstance(piece, bytes):
                piece = _fixed(piece, inside, part, placed)
            chunk = Chunk(placed.places[part].offset + inside, piece)
            inside += chunk.end - chunk.offset
            yield chunk


def _fixed(piece: bytes, start: int, part: Part, placed: Placed) -> bytes:
    """Return the bytes of a part from `start` on, with their fixups applied."""
    data = bytearray(piece)
    for at, target, instruction in part.fixups:
        if not start <= at < start + len(data):
            continue
        value = placed.value(target)
        new = (
            WORD.pack(value)
            if instruction is None
            else _filled(instruction, placed.places[part].address + at, value)
        )
        data[at - start : at - start + len(new)] = new
    return bytes(data)


def _filled(instruction: Instruction, place: int, target: int) -> bytes:
    """Return the code of an instruction at `place` that refers to `target`."""
    field = instruction.field
    new = field.filled(instruction.code, place, target) if field else instruction.code
    if new is None:
        raise UsageError(
            f"is so large that new code at {place:#x} cannot reach {target:#x}: link it with its "
            "images"
        )
    return new
