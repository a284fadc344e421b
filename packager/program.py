"""What the dynamic loader will do with a program, as far as replacing its runtime asks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from struct import Struct

from packager.errors import FormatError
from packager.reader import Reader, open_reader

ELF_HEADER = Struct("<16sHHIQQQIHHHHHH")
PROGRAM_HEADER = Struct("<IIQQQQQQ")
DYNAMIC = Struct("<qQ")
PT_LOAD, PT_DYNAMIC, PT_INTERP = 1, 2, 3
DT_NULL, DT_NEEDED, DT_STRTAB = 0, 1, 5


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

    Raises FormatError where the loader would reject the file.
    """
    with open_reader(path) as data:
        if not data.starts_with(b"\x7fELF\x02\x01"):
            return None
        return _program(data)


def _program(data: Reader) -> Program:
    _, _, _, _, _, table_at, _, _, _, record, count, *_ = data.unpack(ELF_HEADER, 0, "ELF header")
    if count and record != PROGRAM_HEADER.size:
        raise FormatError(f"program headers at {table_at:#x} have {record} bytes each")
    table = data.slice(table_at, count * record, "program header table").bytes()
    segments = list(PROGRAM_HEADER.iter_unpack(table))
    dynamic = next((s for s in segments if s[0] == PT_DYNAMIC), None)
    if dynamic is None or not any(s[0] == PT_INTERP for s in segments):
        return Program(True, ())
    return Program(False, _needed(data, segments, dynamic))


def _needed(
    data: Reader, segments: list[tuple[int, ...]], dynamic: tuple[int, ...]
) -> tuple[str, ...]:
    view = data.slice(dynamic[2], dynamic[5] // DYNAMIC.size * DYNAMIC.size, "dynamic section")
    tags: list[tuple[int, int]] = []
    for tag, value in DYNAMIC.iter_unpack(view.bytes()):
        if tag == DT_NULL:
            break
        tags.append((tag, value))
    strings = next((value for tag, value in tags if tag == DT_STRTAB), None)
    if strings is None:
        return ()
    offset = _file_offset(segments, strings)
    return tuple(data.string(offset + v, "DT_NEEDED") for tag, v in tags if tag == DT_NEEDED)


def _file_offset(segments: list[tuple[int, ...]], address: int) -> int:
    for kind, _, offset, start, _, size, *_ in segments:
        if kind == PT_LOAD and start <= address < start + size:
            return offset + address - start
    raise FormatError(f"dynamic string table at {address:#x} is in no segment")
