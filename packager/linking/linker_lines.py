# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Start the linker itself where a clang driver would only pass words on to it.

Clang's driver takes longer to start than ld takes to link a small program. Its line for the linker
is cached for each driver, list of words and environment. Objects, the output and the folder of
intermediate files have marks in the line, so that other links use it, too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from packager.files.cache import ITEM, Facts, cache_folder, is_plain, program_identity
from packager.linking.marked_words import filled, marked_words
from packager.processes.programs import which

FOLDER = "linker-lines"
DRIVERS = {"clang", "clang++", "flang", "flang-new"}  # names without a release
# Variables that change a driver's line.
VARIABLES = ("PATH", "LIBRARY_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX", "HOME", "XDG_CONFIG_HOME")
VARIABLE_BEGINS = ("CCC_", "CLANG_", "FLANG_")
# Options whose relative values depend on the current folder.
RELATIVE = ("--sysroot", "-B", "--gcc-", "--config", "-resource-dir")
OF_LINKER = ("-Bsymbolic", "-Bsymbolic-functions", "-Bstatic", "-Bdynamic")


def linker_line(
    command: Sequence[str], folder: Path, environment: Mapping[str, str]
) -> list[str] | None:
    """Return the linker's command that a clang driver would run; None if the driver has to run.

    To fill the cache the driver runs once. It needs `folder`, of intermediate files.
    """
    path = which(command[0]) or command[0]
    if os.path.basename(path).rstrip("0123456789").rstrip("-") not in DRIVERS:  # noqa: PTH119
        return None
    driver = program_identity(path)
    cache = cache_folder(FOLDER) if driver else None
    if driver is None or cache is None:
        return None
    marked = marked_words(command, str(folder))
    facts = [os.fsdecode(driver[0]), *_settings(command, environment)]
    if not is_plain([*facts, *command]):
        return None
    known = Facts(cache, ITEM.join((*facts, *marked.words)))
    line = known.words()
    if line is None:
        from packager.linking.driver_answers import answer, watched

        line = answer(marked, folder, environment)
        known.keep(line, watched(path, command, line, environment))
    return filled(line, marked, str(folder)) if line else None


def _settings(command: Sequence[str], environment: Mapping[str, str]) -> Iterator[str]:
    """Yield facts that change a driver's line beside its words."""
    relative = (w for w in command if w.startswith(RELATIVE) and w not in OF_LINKER)
    yield str(Path.cwd()) if any(relative) else ""
    yield from (f"{name}={environment.get(name, '')}" for name in VARIABLES)
    for name in sorted(environment):
        if name.startswith(VARIABLE_BEGINS):
            yield f"{name}={environment[name]}"
