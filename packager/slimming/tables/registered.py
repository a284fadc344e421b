# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Find OpenMP's images, which the functions of a runtime register."""

from __future__ import annotations

from pathlib import Path

from packager.elf import headers
from packager.elf.imports import offload_imports
from packager.errors import FormatError
from packager.files.reader import Reader, open_reader
from packager.records import NamedTuple
from packager.slimming.containers.found import Left
from packager.slimming.pieces import Rewritten
from packager.slimming.request import Request
from packager.slimming.selection import Candidate, Choice

REGISTER = "__tgt_register_lib"


class OpenMP(NamedTuple):
    """The images of a file's descriptors, and the kept ones."""

    images: tuple[Candidate, ...]
    choice: Choice
    rounds: tuple[tuple[int, tuple[str, ...]], ...]  # descriptors, and the targets that go
    free: tuple[Rewritten, ...] = ()  # bytes that the edit has left without an image
    left: tuple[Left, ...] = ()


NOTHING = OpenMP((), Choice(frozenset(), ()), ())


def find(path: Path, request: Request) -> OpenMP:
    """Return the outcome of the images of the file at `path`. Raises FormatError."""
    with open_reader(path) as data:
        if not _registers(data):
            return NOTHING
    from packager.slimming.tables import openmp  # slow to load

    return openmp.found(path, request)


def _registers(data: Reader) -> bool:
    """Return whether a linked file calls the function that registers OpenMP's images."""
    try:
        if not headers.probe(data) or headers.first(data).is_object:
            return False
    except FormatError:
        return False  # the plan names the fault
    names = offload_imports(headers.read(data)).names
    return any(name.partition("@")[0] == REGISTER for name in names)
