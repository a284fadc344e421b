# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Start the linker itself where a clang driver would only pass words on to it.

Clang's driver takes longer to start than ld takes to link a small program. Its line for the linker
is cached for each driver, list of words and environment. Objects, the output and the folder of
intermediate files have marks in the line, so that other links use it, too.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from zlib import crc32

from packager.files.cache import cache_folder, program_identity, read_facts, write_facts
from packager.processes.programs import which
from packager.records import NamedTuple

FOLDER = "linker-lines"
SLOTS = 4096  # most files in the cache
DRIVERS = {"clang", "clang++", "flang", "flang-new"}  # names without a release
# Marks of a list of objects, of the output, and of the folder of intermediate files.
OBJECTS, OUTPUT, TEMPORARY = "\1objects", "\1output", "\1folder"
ITEM, PART = "\n", "\2"  # ends of items and of parts in a file of the cache
RESERVED = (OBJECTS[0], ITEM, PART)
# Variables that change a driver's line.
VARIABLES = ("PATH", "LIBRARY_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX", "HOME", "XDG_CONFIG_HOME")
VARIABLE_BEGINS = ("CCC_", "CLANG_", "FLANG_")
# Options whose relative values depend on the current folder.
RELATIVE = ("--sysroot", "-B", "--gcc-", "--config", "-resource-dir")
OF_LINKER = ("-Bsymbolic", "-Bsymbolic-functions", "-Bstatic", "-Bdynamic")


class Marked(NamedTuple):
    """A driver's words with marks, and the words that the marks stand for."""

    words: tuple[str, ...]
    lists: tuple[tuple[str, ...], ...]  # objects that stand side by side
    output: str


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
    marked = _marked(command, str(folder))
    facts = [os.fsdecode(driver[0]), *_settings(command, environment)]
    if any(mark in word for word in (*facts, *command) for mark in RESERVED):
        return None
    key = ITEM.join((*facts, *marked.words))
    place = cache / f"{crc32(os.fsencode(key)) % SLOTS:x}"
    line = _known(key, read_facts(place))
    if line is None:
        from packager.linking.driver_answers import answer, watched

        line = answer(marked, folder, environment)
        states = ITEM.join(map(_state, watched(path, command, line, environment)))
        parts = PART.join((key, states, ITEM.join(line)))
        write_facts(place, os.fsencode(f"{parts}{PART}{_sum(parts)}"))
    return _filled(line, marked, str(folder)) if line else None


def _marked(command: Sequence[str], folder: str) -> Marked:
    words: list[str] = []
    lists: list[list[str]] = []
    output = before = ""
    for word in command:
        mark = ""
        if before == "-o":
            output, mark = word, OUTPUT
        elif word.endswith(".o") and not word.startswith("-"):
            mark = OBJECTS
            if words[-1] != OBJECTS:
                lists.append([])
            lists[-1].append(word)
        if not (mark and words[-1] == mark):
            words.append(mark or word.replace(folder, TEMPORARY))
        before = word
    return Marked(tuple(words), tuple(map(tuple, lists)), output)


def _settings(command: Sequence[str], environment: Mapping[str, str]) -> Iterator[str]:
    """Yield facts that change a driver's line beside its words."""
    relative = (w for w in command if w.startswith(RELATIVE) and w not in OF_LINKER)
    yield str(Path.cwd()) if any(relative) else ""
    yield from (f"{name}={environment.get(name, '')}" for name in VARIABLES)
    for name in sorted(environment):
        if name.startswith(VARIABLE_BEGINS):
            yield f"{name}={environment[name]}"


def _known(key: str, content: bytes) -> list[str] | None:
    """Return the line in a file of the cache; None if it is not there, or out of date.

    An empty line means that the driver has to run.
    """
    parts, _, checked = os.fsdecode(content).rpartition(PART)
    if checked != _sum(parts) or not parts.startswith(key + PART):
        return None
    states, _, line = parts[len(key + PART) :].partition(PART)
    for state in states.split(ITEM):
        if state != _state("/" + state.partition("/")[2]):
            return None
    return line.split(ITEM) if line else []


def _sum(parts: str) -> str:
    return f"{crc32(os.fsencode(parts)):x}"


def _state(path: str) -> str:
    """Return a text that changes with a file, or with the list of files in a folder."""
    try:
        status = os.stat(path)  # noqa: PTH116 - a Path takes ten times as long
    except OSError:
        return f"- {path}"
    return f"{status.st_ino} {status.st_size} {status.st_mtime_ns} {path}"


def _filled(line: Iterable[str], marked: Marked, folder: str) -> list[str]:
    """Return a line with words in place of the marks."""
    lists = iter(marked.lists)
    words: list[str] = []
    for word in line:
        if word == OBJECTS:
            words += next(lists)
        else:
            words.append(marked.output if word == OUTPUT else word.replace(TEMPORARY, folder))
    return words
