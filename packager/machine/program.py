"""What the dynamic loader will do with a program, as far as replacing its runtime asks."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from packager.elf import headers
from packager.elf.dynamic import Dynamic
from packager.elf.headers import DT_NEEDED
from packager.files.reader import open_reader

LIBTARGET = "libtarget.so"
# What a program has among its dynamic strings that uses the libtarget.so of the proposal of 2013.
NAMES_2013 = (b"\0__tgt_", b"\0LIBTARGET_2013\0")


class Program(NamedTuple):
    """A program in ELF form."""

    is_static: bool
    needed: tuple[str, ...]  # DT_NEEDED, in order
    # Of two libraries called libtarget.so, it means the one for offloading.
    calls_2013: bool = False
    has_offload_code: bool = False  # of a static program alone: others are asked by what they need

    @property
    def offload_libraries(self) -> tuple[str, ...]:
        """The names under which it asks for the runtime, in order."""
        return tuple(
            name
            for name in self.needed
            if name.startswith("libomptarget.so") or (name == LIBTARGET and self.calls_2013)
        )

    @property
    def has_namesake(self) -> bool:
        """Whether it needs a libtarget.so that has nothing to do with offloading."""
        return LIBTARGET in self.needed and not self.calls_2013


def inspect_program(path: Path) -> Program | None:
    """The ELF program at `path`, or None for a script or another format.

    Raises FormatError when it is malformed.
    """
    with open_reader(path) as data:
        if not headers.probe(data):
            return None
        file = headers.read(data)
        is_static = not any(segment.type == headers.PT_INTERP for segment in file.segments)
        if not is_static:
            return _dynamic(file)
    # Imported here, as most programs are not static.
    from packager.hosts.load import load

    return Program(True, (), has_offload_code=not load(path).is_empty)


def _dynamic(file: headers.Elf) -> Program:
    dynamic = Dynamic(file)
    needed = dynamic.texts(DT_NEEDED)
    names = dynamic.strings() if LIBTARGET in needed else b""
    return Program(False, needed, any(name in names for name in NAMES_2013))
