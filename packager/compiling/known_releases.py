# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cache the releases of compilers between commands.

Running `clang --version` takes a sixth of the time in which clang compiles a small file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from packager.files.cache import cache_folder, program_identity, read_facts, write_facts
from packager.processes.programs import which

FOLDER = "compilers"


def release_of(compiler: Sequence[str], ask: Callable[[], int | None]) -> int | None:
    """Return the result of `ask` for a compiler, from the cache if the program is the same.

    Scripts and commands with arguments run each time, because they may start other programs.
    """
    found = program_identity(which(compiler[0]) or compiler[0]) if len(compiler) == 1 else None
    folder = cache_folder(FOLDER) if found else None
    if found is None or folder is None:
        return ask()
    key, status = found
    place = f"{folder}/{status.st_dev:x}-{status.st_ino:x}"
    known, _, number = read_facts(place).rpartition(b"\n")
    if known == key:
        with suppress(ValueError):
            return int(number)
    release = ask()
    if release is not None:
        write_facts(place, b"%b\n%d" % (key, release))
    return release
