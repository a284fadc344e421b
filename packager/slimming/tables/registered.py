# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Find whether a file has OpenMP's images, which a function of the runtime registers."""

from __future__ import annotations

from pathlib import Path

from packager.elf import headers
from packager.elf.imports import offload_imports
from packager.errors import FormatError
from packager.files.reader import open_reader
from packager.records import NamedTuple
from packager.slimming.containers.found import Left
from packager.slimming.pieces import Rewritten
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


def registers(path: Path) -> bool:
    """Return whether a linked file calls the function that registers OpenMP's images.

    Raises FormatError if its tables are malformed.
    """
    with open_reader(path) as data:
        try:
            if not headers.probe(data) or headers.first(data).is_object:
                return False
        except FormatError:
            return False  # the plan names the fault
        names = offload_imports(headers.read(data)).names
        return any(name.partition("@")[0] == REGISTER for name in names)
