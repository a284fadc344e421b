"""What the dynamic loader will do with a program, as far as replacing its runtime asks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from packager import elf
from packager.errors import FormatError
from packager.reader import open_reader

DT_NEEDED, DT_STRTAB = 1, 5


@dataclass(frozen=True)
class Program:
    """A program in ELF form."""

    is_static: bool
    needed: tuple[str, ...]  # DT_NEEDED, in order

    @property
    def offload_libraries(self) -> tuple[str, ...]:
        """The names under which it asks for libomptarget."""
        return tuple(name for name in self.needed if name.startswith("libomptarget.so"))


def inspect_program(path: Path) -> Program | None:
    """The ELF program at `path`, or None for a script or another format.

    Raises FormatError when it is malformed.
    """
    with open_reader(path) as data:
        if not elf.probe(data):
            return None
        file = elf.read(data)
        is_static = not any(segment.type == elf.PT_INTERP for segment in file.segments)
        return Program(is_static, () if is_static else tuple(_needed(file)))


def _needed(file: elf.Elf) -> list[str]:
    """By the segments alone, as the loader does: section headers may be gone."""
    dynamic = file.dynamic()
    strings = dynamic.get(DT_STRTAB, [])
    offsets = dynamic.get(DT_NEEDED, [])
    if not strings or not offsets:
        return []
    at = _file_offset(file, strings[0])
    return [file.data.string(at + offset, "DT_NEEDED") for offset in offsets]


def _file_offset(file: elf.Elf, address: int) -> int:
    for segment in file.segments:
        inside = address - segment.address
        if segment.type == elf.PT_LOAD and 0 <= inside < segment.file_size:
            return segment.offset + inside
    raise FormatError(f"dynamic string table at {address:#x} is in no segment")
