# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ask a clang driver for its linker's line (`-###`), and what the line depends on."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from packager.linking.marked_words import OBJECTS, OUTPUT, TEMPORARY, Marked
from packager.processes.programs import search_folders

ASKED = "-###"
STAND_IN = "asked"  # begins of names that stand for objects and the output
QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
ANSWER = re.compile(f"(?: {QUOTED.pattern})+")
SAYS = re.compile("warning:|error:|note:")  # a driver that has something to say has to run
# Words of a driver that prints more, keeps files or measures its programs.
DOES_MORE = re.compile(
    r"-###|-v|--verbose|-?-save-temps.*|-time|-f(time|proc-stat)-report.*|-gen-reproducer.*|-cc1.*"
)
# Words of a linker that prints on stdout, and of plugins, whose files the driver may know.
UNFIT = re.compile(
    r"-[MtVv]|-y.*|--?(print-|trace|verbose|version$|help|stats|cref|plugin|time-trace|Map=-).*"
)
CONFIGURED = ("/etc/clang", "/etc/flang")  # folders where drivers look for configuration files


def answer(marked: Marked, folder: Path, environment: Mapping[str, str]) -> list[str]:
    """Return the driver's line with marks; an empty one if the driver has to run each time."""
    if marked.words.count(OUTPUT) != 1 or any(map(DOES_MORE.fullmatch, marked.words)):
        return []
    objects = [folder / f"{STAND_IN}-{number}.o" for number in range(len(marked.lists))]
    output = str(folder / STAND_IN)
    names = iter(objects)
    words = [str(next(names)) if word == OBJECTS else word for word in marked.words]
    words = [word.replace(OUTPUT, output).replace(TEMPORARY, str(folder)) for word in words]
    for path in objects:
        path.touch()  # the driver checks that its inputs exist
    try:
        done = subprocess.run([*words, ASKED], env=environment, capture_output=True, check=False)
    except OSError:
        return []
    finally:
        for path in objects:
            path.unlink()
    lines = done.stderr.decode(errors="surrogateescape").splitlines()
    commands = [line for line in lines if line.startswith(' "')]
    if done.returncode or done.stdout or len(commands) != 1 or any(map(SAYS.search, lines)):
        return []
    if not ANSWER.fullmatch(commands[0]):
        return []
    line = [re.sub(r"\\(.)", r"\1", word) for word in QUOTED.findall(commands[0])]
    return _with_marks(line, [str(path) for path in objects], output, str(folder))


def _with_marks(line: Sequence[str], objects: Sequence[str], output: str, folder: str) -> list[str]:
    """Return the line with marks; an empty one if another word depends on a name."""
    if [word for word in line if word in objects] != [*objects] or line.count(output) != 1:
        return []
    marks = {output: OUTPUT, **dict.fromkeys(objects, OBJECTS)}
    marked = [marks.get(word) or word.replace(folder, TEMPORARY) for word in line]
    stands_in = f"{TEMPORARY}/{STAND_IN}"
    is_unfit = any(stands_in in word or UNFIT.fullmatch(word) for word in marked)
    is_unfit = is_unfit or marked[1] == "-cc1"
    return [] if is_unfit or any("\n" in word for word in marked) else marked


def watched(
    driver: str, command: Sequence[str], line: Sequence[str], environment: Mapping[str, str]
) -> list[str]:
    """Return files and folders whose change may change a driver's line.

    These are the linker, the folders in which a driver looks for it, and those of start files and
    libraries of the system, up to the root. The user's own folders do not change the line.
    """
    users = [*command, environment.get("LIBRARY_PATH", "")]
    found = {driver, *CONFIGURED, *search_folders(), *line[:1]}
    for word in line[1:]:
        path = word.removeprefix("-L")
        is_place = word.startswith("-L") or word.endswith((".o", ".a"))
        if is_place and path.startswith("/") and not any(path in one for one in users):
            found |= {os.path.realpath(path), *_above(path)}
    return sorted(path for path in found if path.startswith("/") and "\n" not in path)


def _above(path: str) -> Iterator[str]:
    """Yield the folders above a path, without the root."""
    parent = os.path.dirname(os.path.normpath(path))  # noqa: PTH120 - quick for many
    while len(parent) > 1:
        yield parent
        parent = os.path.dirname(parent)  # noqa: PTH120
