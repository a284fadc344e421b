# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Find the files of a program whose target regions were compiled for the host alone."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from packager.elf import headers
from packager.errors import PackagerError
from packager.files.portable import is_same
from packager.files.reader import Reader, open_reader
from packager.hosts import host_only
from packager.hosts.load import read_file
from packager.look import Look
from packager.machine.dynamic_loader import Library, libraries
from packager.machine.parts import RUNTIMES
from packager.model import HostOnly
from packager.records import NamedTuple

# Names of entries suffice to find regions without one.
LOOK = Look(symbols=False, resources=False, host_only=True)


class Left(NamedTuple):
    """A file with host-only target regions, and the evidence for them."""

    path: str
    cause: HostOnly


def of_file(path: Path) -> HostOnly | None:
    """Return a library's host-only regions; None if it has none or cannot be read."""
    try:
        with open_reader(path, LOOK) as data:
            return _found(path, data)
    except PackagerError:
        return None


def _found(path: Path, data: Reader) -> HostOnly | None:
    cause = host_only.found(data)
    if cause or not host_only.has_functions(data):
        return cause
    return read_file(str(path), data).host_only


def of_libraries(needed: Iterable[Library]) -> Iterator[Left]:
    """Yield the libraries that show such regions, but for the runtimes themselves."""
    yield from _of_files(library.path for library in needed if library.path)


def _of_files(libraries: Iterable[Path]) -> Iterator[Left]:
    for path in libraries:
        cause = None if path.name.startswith(RUNTIMES) else of_file(path)
        if cause and cause.is_shown:
            yield Left(str(path), cause)


def of_program(
    program: str, path: Path, data: Reader, environment: Mapping[str, str]
) -> list[Left]:
    """Return the program and the libraries that have host-only regions.

    The program is the open file `data` at `path`. The libraries are those that the loader picks in
    this environment. A script has none.
    """
    try:
        with data.looked_into(LOOK) as own:
            cause = _found(path, own)
    except PackagerError:
        cause = None
    try:
        elf = headers.read(data) if headers.probe(data) else None
        needed = libraries(path, elf, environment) if elf else []
    except PackagerError:
        needed = []
    first = [Left(program, cause)] if cause and cause.is_shown else []
    return [*first, *of_libraries(needed)]


def with_loaded(
    left: Sequence[Left],
    registered: Iterable[str],
    loaded: Iterable[str],
    program: Path,
    environment: Mapping[str, str],
) -> list[Left]:
    """Return `left` with the other files of a run that show such regions.

    These are files that `registered` regions, the libraries that the loader picks for them, and the
    libraries that processes have `loaded`. A script starts programs, and programs open libraries.
    """
    found = {os.path.realpath(one.path): one for one in left}
    for file in map(Path, registered):
        if is_same(file, program):
            continue
        with suppress(PackagerError), open_reader(file) as data:
            for one in of_program(str(file), file, data, environment):
                found.setdefault(os.path.realpath(one.path), one)
    for one in _of_files(map(Path, loaded)):
        found.setdefault(os.path.realpath(one.path), one)
    return list(found.values())


def headline(left: Iterable[Left]) -> str:
    """Return in a clause how many regions the host alone has; "" if no file shows one."""
    files = list(left)
    regions = [name for one in files for name in one.cause.regions]
    if regions:
        return host_only.headline(regions)
    return next((one.cause.message for one in files), "")
