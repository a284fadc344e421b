# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Find a compiler for a command that names none, or a clang without a release number.

The choice is the newest clang on PATH that can compile OpenMP.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from packager.compiling.known_releases import release_of
from packager.errors import MissingToolError, UsageError
from packager.linking.host_command import program_at
from packager.processes.programs import anywhere, tool_environment, which
from packager.records import NamedTuple

NEWEST, OLDEST = 30, 14  # clang releases to search for
SCRIPT = 1 << 16  # longest script that is read
CLANGS = {"clang": "c", "clang++": "c++"}  # names without a release, and their languages
VERSION = re.compile(rb"clang version (\d+)")
ERROR = re.compile(r"error: (.*)")
PROBE = "#include <omp.h>\n"


class Compiler(NamedTuple):
    """A compiler's command, and a line on why it was chosen; "" if the user chose it."""

    words: tuple[str, ...]
    choice: str = ""


class _Clang(NamedTuple):
    release: int
    name: str


def words_of(command: str) -> list[str]:
    """Split a compiler's command into arguments, as a shell does. Raises UsageError."""
    try:
        return shlex.split(command)
    except ValueError as error:
        raise UsageError(f"{command!r} is not a command: {str(error).lower()}") from error


@lru_cache
def clangs_release(compiler: tuple[str, ...]) -> int | None:
    """Return the release of a clang, None for another compiler.

    Raises MissingToolError when it cannot be started.
    """
    return release_of(compiler, lambda: release_in(compiler, VERSION))


def release_in(compiler: Sequence[str], version: re.Pattern[bytes]) -> int | None:
    """Return the number that a pattern finds in the output of `--version`, or None.

    Raises MissingToolError if the compiler cannot be started.
    """
    try:
        done = subprocess.run(
            [*compiler, "--version"],
            env=tool_environment(),
            capture_output=True,
            check=False,
        )
    except OSError as error:
        raise MissingToolError(f"{compiler[0]} cannot be started: {error.strerror}") from error
    found = version.search(done.stdout)
    return int(found[1]) if found else None


def named(words: Sequence[str]) -> Compiler:
    """Return the compiler that a user names: `clang` and `clang++` may have a release here only."""
    at = program_at(words) if words else 0
    name = words[at] if words else ""
    if name not in CLANGS or which(name):
        return Compiler(tuple(words))
    chosen = _newest(name)
    if chosen is None:
        return Compiler(tuple(words))
    return Compiler((*words[:at], *chosen.words, *words[at + 1 :]), chosen.choice)


def is_known(name: str) -> bool:
    """Return whether a word is the name of a compiler that `named` can find."""
    return name in CLANGS and any(_candidates(name))


def unnamed(is_cxx: bool) -> Compiler:
    """Return the default compiler: CC or CXX, a clang, or else the machine's."""
    variable = "CXX" if is_cxx else "CC"
    words = words_of(os.environ.get(variable, ""))
    if words and not is_this(words):
        return Compiler(tuple(words), f"the compiler is {shlex.join(words)}, of {variable}")
    name, other = ("clang++", "c++") if is_cxx else ("clang", "cc")
    return _newest(name) or Compiler((other,), f"the compiler is {other}: no {name} is on PATH")


def _newest(name: str) -> Compiler | None:
    """Return the newest clang on PATH that can compile OpenMP; if none can, the newest."""
    found = _candidates(name)
    if not found:
        return None
    lacking: list[str] = []
    for clang in found:
        lack = _lack(clang, CLANGS[name]) if len(found) > 1 else ""
        if not lack:
            more = f"; {', '.join(lacking)}" if lacking else ""
            return Compiler((clang.name,), f"the compiler is {_called(clang)}{more}")
        lacking.append(f"{_called(clang)} cannot compile OpenMP ({lack})")
    first = found[0]
    return Compiler((first.name,), f"the compiler is {_called(first)}; {', '.join(lacking)}")


def _called(clang: _Clang) -> str:
    is_plain = not clang.name.endswith(f"-{clang.release}")
    return f"{clang.name} (clang {clang.release})" if is_plain else clang.name


def _candidates(name: str) -> list[_Clang]:
    """Return the clangs on PATH, the newest first; of several names of one the shortest."""
    found: dict[tuple[str, int], _Clang] = {}
    for clang in _on_path(name):
        path = os.path.realpath(which(clang.name) or clang.name)
        found.setdefault((path, clang.release), clang)
    return sorted(found.values(), key=lambda one: -one.release)


def _on_path(name: str) -> Iterator[_Clang]:
    if which(name) and (release := clangs_release((name,))):
        yield _Clang(release, name)
    for release in range(NEWEST, OLDEST - 1, -1):
        if which(f"{name}-{release}"):
            yield _Clang(release, f"{name}-{release}")


def _lack(clang: _Clang, language: str) -> str:
    """Return why a clang cannot compile OpenMP: some packages lack omp.h.

    A clang with its own omp.h is not started: that would take longer than the rest of the command.
    """
    program = Path(which(clang.name) or clang.name).resolve()
    if any(program.parent.parent.glob(f"lib/clang/{clang.release}*/include/omp.h")):
        return ""
    command = [clang.name, "-fopenmp", "-fsyntax-only", "-x", language, "-"]
    try:
        done = subprocess.run(
            command,
            env=tool_environment(),
            input=PROBE,
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError as error:
        return str(error.strerror)
    if not done.returncode:
        return ""
    said = ERROR.search(done.stderr)
    return said[1] if said else f"exit code {done.returncode}"


def is_this(words: Sequence[str]) -> bool:
    """Return whether `words` are this command: `make CC="omptool cc"` exports it to all."""
    if any(Path(word).name == "omptool" for word in words):
        return True
    found = anywhere(words[program_at(words)])
    try:
        with Path(found or os.devnull).open("rb") as file:  # a script around it?
            return file.read(2) == b"#!" and b"omptool" in file.read(SCRIPT)
    except OSError:  # executable, but not readable
        return False
