# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of a library that are in ROCm's archives beside it: which archives, and what they have."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from packager.elf.headers import Elf
from packager.errors import FormatError
from packager.files.reader import open_reader
from packager.formats.containers import kpack

MAX_ARCHIVES = 64  # of a pattern that are looked into


def notes(path: str, elf: Elf) -> Iterator[str]:
    """Yield a sentence for each place of archives that a library names."""
    for section in elf.named(kpack.SECTION):
        try:
            library, patterns = kpack.reference(elf.content(section))
        except FormatError as error:
            yield f"section {section.name}: {error}"
            continue
        for pattern in patterns:
            yield f"kernels of {library} are in {pattern}, {_found(Path(path), pattern, library)}"


def _found(host: Path, pattern: str, library: str) -> str:
    there = [f"{file.name} with {_architectures(file, library)}" for file in _files(host, pattern)]
    return ", ".join(there) or "which is not there: no GPU runs them"


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


def _architectures(file: Path, library: str) -> str:
    try:
        with open_reader(file) as data:
            if not kpack.probe(data):
                return "no kpack in it"
            return ", ".join(kpack.architectures(data, library)) or "nothing for it"
    except FormatError as error:
        return f"a fault: {error}"
