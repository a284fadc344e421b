# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Predict where libgomp runs the regions by GCC of a program's files, on this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from omptool.probes import machine
from packager.elf import headers
from packager.errors import PackagerError
from packager.files.reader import open_reader
from packager.formats.host_records import gcc_offload
from packager.hosts.load import read_file
from packager.look import Look
from packager.machine import gcc_runtime
from packager.machine.dynamic_loader import libraries
from packager.machine.facts import GccRegions
from packager.machine.parts import RUNTIMES

LOOK = Look(symbols=False, resources=False)


def of_program(program: str, path: Path, environment: Mapping[str, str]) -> tuple[GccRegions, ...]:
    """Return the files with regions by GCC: the program, at `path`, and libraries that it needs."""
    try:
        with open_reader(path) as data:
            if not headers.probe(data):
                return ()
            elf = headers.read(data)
            needed = [
                (str(one.path), one.path)
                for one in libraries(path, elf, environment)
                if one.path and not one.name.startswith(RUNTIMES)
            ]
            files = [(program, path), *needed]
            return tuple(
                one for name, at in files for one in _of_file(name, at, path, elf, environment)
            )
    except PackagerError:
        return ()


def of_opened(
    files: Sequence[str], known: Sequence[GccRegions], environment: Mapping[str, str]
) -> Iterator[GccRegions]:
    """Yield the files, of those that registered with libgomp, that are not known.

    A program opened them, or it is another program that it started.
    """
    listed = {os.path.realpath(one.path) for one in known}
    for name in files:
        if os.path.realpath(name) in listed:
            continue
        listed.add(os.path.realpath(name))
        try:
            with open_reader(Path(name)) as data:
                yield from _of_file(name, Path(name), Path(name), headers.read(data), environment)
        except PackagerError:
            continue  # it was there when it registered


def _of_file(
    name: str, file: Path, program: Path, elf: headers.Elf, environment: Mapping[str, str]
) -> Iterator[GccRegions]:
    try:
        with open_reader(file, LOOK) as data:
            if not (headers.probe(data) and gcc_offload.claims(headers.read(data))):
                return
            mine = gcc_runtime.part_of(read_file(name, data))
    except PackagerError:
        return
    found, _ = machine.probe(mine, program, elf, (), dict(environment))
    yield gcc_runtime.regions(mine, found)
