# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Predict where libgomp runs the regions by GCC of a program's files, on this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from omptool.probes import machine
from packager.elf import headers
from packager.errors import PackagerError
from packager.files.reader import Reader, open_reader
from packager.formats.host_records import gcc_offload
from packager.hosts.load import read_file
from packager.look import Look
from packager.machine import gcc_runtime
from packager.machine.dynamic_loader import libraries
from packager.machine.facts import GccRegions
from packager.machine.parts import RUNTIMES
from packager.model import FatBinary

LOOK = Look(symbols=False, resources=False)


def of_program(
    program: str, path: Path, data: Reader, environment: Mapping[str, str]
) -> tuple[GccRegions, ...]:
    """Return the files with regions by GCC: the program and libraries that it needs.

    The program is the open file `data` at `path`.
    """
    try:
        if not headers.probe(data):
            return ()
        elf = headers.read(data)
        needed = [
            one.path
            for one in libraries(path, elf, environment)
            if one.path and not one.name.startswith(RUNTIMES)
        ]
        parts = [_part(program, data.looked_into(LOOK))]
        parts += [_part(str(library), open_reader(library, LOOK)) for library in needed]
        mine = filter(None, parts)
        found = ((part, machine.probe(part, path, elf, (), dict(environment))) for part in mine)
        return tuple(gcc_runtime.regions(part, here) for part, (here, _) in found)
    except PackagerError:
        return ()


def of_opened(
    files: Sequence[str], known: Sequence[GccRegions], environment: Mapping[str, str]
) -> Iterator[GccRegions]:
    """Yield the regions of `files` that are not among the `known`.

    The program opened these files, or they are of programs that it started. Most have no regions.
    """
    listed = {os.path.realpath(one.path) for one in known}
    for name in files:
        if os.path.realpath(name) in listed:
            continue
        listed.add(os.path.realpath(name))
        try:
            with open_reader(Path(name), LOOK) as data:
                if part := _of_reader(name, data):
                    elf = headers.read(data)
                    here, _ = machine.probe(part, Path(name), elf, (), dict(environment))
                    yield gcc_runtime.regions(part, here)
        except PackagerError:
            continue  # the file existed when it registered


def _part(name: str, opened: AbstractContextManager[Reader]) -> FatBinary | None:
    """Return the part of a file for libgomp; None if it has none or cannot be read."""
    try:
        with opened as data:
            return _of_reader(name, data)
    except PackagerError:
        return None


def _of_reader(name: str, data: Reader) -> FatBinary | None:
    """Return GCC's regions in an open file, or None. Raises FormatError and LimitError."""
    is_of_gcc = headers.probe(data) and gcc_offload.claims(headers.read(data))
    return gcc_runtime.part_of(read_file(name, data)) if is_of_gcc else None
