# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of a library in ROCm's archives beside it: which archives, and what they have."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from packager.elf.headers import Elf
from packager.errors import FormatError
from packager.files.reader import open_reader
from packager.formats.containers import kpack
from packager.formats.containers.payload import Damage
from packager.model import KernelArchives

MAX_ARCHIVES = 64  # of a pattern that are looked into


def find(path: str, elf: Elf) -> Iterator[KernelArchives | Damage]:
    """Yield the archives that a library names, and what is malformed where it does."""
    for section in elf.named(kpack.SECTION):
        try:
            library, patterns = kpack.reference(elf.content(section))
        except FormatError as error:
            yield Damage(str(error))
            continue
        for pattern in patterns:
            files = (_contents(file, library) for file in _files(Path(path), pattern))
            try:
                yield KernelArchives(library, pattern, tuple(files))
            except FormatError as error:
                yield Damage(f"{pattern}: {error}")


def _files(host: Path, pattern: str) -> list[Path]:
    """Return the archives that a path, from the library's folder, stands for."""
    folder, _, name = pattern.rpartition("/")
    before, variable, after = name.partition(kpack.ANY_ARCH)
    place = host.parent / folder
    try:
        found = sorted(place.iterdir()) if variable else [place / name]
        return [file for file in found if _fits(file, before, after)][:MAX_ARCHIVES]
    except OSError:
        return []


def _fits(file: Path, before: str, after: str) -> bool:
    return file.name.startswith(before) and file.name.endswith(after) and file.is_file()


def _contents(file: Path, library: str) -> tuple[str, tuple[str, ...]]:
    with open_reader(file) as data:
        if not kpack.probe(data):
            raise FormatError(f"{file.name} is no kpack")
        return file.name, kpack.architectures(data, library)
