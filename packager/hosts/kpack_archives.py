# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Find a library's kernels in ROCm's archives beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from packager.elf import headers
from packager.errors import FormatError, LimitError
from packager.files.reader import NewerError, Reader, open_reader
from packager.formats.containers import kpack
from packager.model import KernelArchives
from packager.patterns import pattern
from packager.records import NamedTuple

MAX_ARCHIVES = 64  # most archives of a pattern
MAX_NAMES = 4096  # most names read from a folder
SUFFIX = ".kpack"
ARCH = pattern(r"gfx[0-9a-f]+")


class Archives(NamedTuple):
    """A library's reference to its archives, and the faults in it."""

    found: tuple[KernelArchives, ...]
    faults: tuple[str, ...]
    newer: tuple[str, ...]  # archives of a format that came after this omptool


def of_sections(path: str, sections: Iterable[Reader]) -> Archives:
    """Return the archives that the library at `path` names in such sections."""
    found: list[KernelArchives] = []
    faults: list[str] = []
    newer: list[str] = []
    try:
        for section in sections:
            library, patterns = kpack.reference(section)
            for pattern in patterns:
                files = _Files(Path(path).parent, pattern)
                kernels = tuple(_contents(file, library, faults, newer) for file in files.mine)
                found.append(KernelArchives(library, pattern, kernels, files.beside))
    except (FormatError, LimitError) as error:
        faults.append(str(error))
    return Archives(tuple(found), tuple(faults), tuple(newer))


def of_libraries(paths: Iterable[Path]) -> Iterator[KernelArchives]:
    """Yield the archives of ELF libraries; skip malformed ones."""
    for path in paths:
        with suppress(FormatError, LimitError), open_reader(path) as data:
            yield from of_elf(str(path), headers.read(data)).found


def of_elf(path: str, file: headers.Elf) -> Archives:
    """Return the archives that an ELF library at `path` names."""
    sections = file.named(kpack.SECTION)
    return of_sections(path, (file.content(section) for section in sections))


class _Files:
    """The archives that match a path from the library's folder, and others in their folders."""

    def __init__(self, host: Path, pattern: str) -> None:
        before, variable, after = pattern.partition(kpack.ANY_ARCH)
        start, slash, prefix = before.rpartition("/")
        suffix, _, rest = after.partition("/")
        folder = host / (start or slash)
        names = _names(folder)
        is_mine = {n: n.startswith(prefix) and n.endswith(suffix) for n in names}
        wanted = [name for name in names if is_mine[name]] if variable else [prefix]
        paths = (folder / name / rest if rest else folder / name for name in wanted)
        self.mine = [path for path in paths if _is_file(path)][:MAX_ARCHIVES]
        archives = (name for name in names if name.endswith(SUFFIX) and name not in wanted)
        others = (arch for name in archives for arch in ARCH.findall(name))
        self.beside = tuple(sorted(set(others)))


def _names(folder: Path) -> list[str]:
    try:
        return sorted(path.name for path in folder.iterdir())[:MAX_NAMES]
    except OSError:
        return []


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # ValueError: a name with a NUL
        return False


def _contents(
    file: Path, library: str, faults: list[str], newer: list[str]
) -> tuple[str, tuple[str, ...]]:
    """Return an archive's name, and the architectures of a library's kernels in it."""
    architectures: tuple[str, ...] = ()
    try:
        with open_reader(file) as data:
            if not kpack.probe(data):
                raise FormatError("it is no kpack")
            architectures = kpack.architectures(data, library)
    except NewerError as error:
        newer.append(f"archive {file.name}: {error}")
    except (FormatError, LimitError) as error:
        faults.append(f"archive {file.name}: {error}")
    return file.name, architectures
