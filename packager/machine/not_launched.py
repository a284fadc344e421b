# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Find the regions of a program's files that no call passed to the runtime."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from packager.errors import PackagerError
from packager.files.portable import is_same
from packager.files.reader import Reader, open_reader
from packager.hosts.load import load_open
from packager.look import Look
from packager.machine.region_run import Idle

_ENTRIES_ALONE = Look(symbols=False, resources=False)
# Longest name that fits into the runtime's report.
LONGEST = 983


def not_launched(
    files: Sequence[str], launched: Collection[str], program: Path, data: Reader
) -> Iterator[Idle]:
    """Yield each kernel of the files' entry tables that is not in `launched`.

    A file that cannot be read any more, e.g. one that the program deleted, yields none. The program
    itself is the open file `data`.
    """
    known = set(launched)
    for file in map(Path, files):
        is_open = is_same(file, program)
        opened = data.looked_into(_ENTRIES_ALONE) if is_open else open_reader(file, _ENTRIES_ALONE)
        for name in _kernels(file, opened):
            if _cut_off(name) not in known:
                known.add(_cut_off(name))
                yield Idle(name, str(file))


def _kernels(file: Path, opened: AbstractContextManager[Reader]) -> list[str]:
    try:
        with opened as data:
            return [
                entry.name
                for loaded in load_open(file, data)
                for entry in loaded.binary.entries
                if entry.kind == "kernel" and entry.model == "openmp" and entry.name
            ]
    except (PackagerError, OSError):
        return []


def _cut_off(name: str) -> str:
    return name.encode("utf-8", "surrogateescape")[:LONGEST].decode("utf-8", "backslashreplace")
