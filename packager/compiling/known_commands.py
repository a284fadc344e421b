# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Start the compiler of `omptool cc -c` at once if an earlier command differs in names alone.

A build compiles hundreds of sources with the same options. The words of `omptool cc` lead to one
compiler command; both are cached with marks in place of the source and of outputs. What a command
means is decided by `build` alone: only commands that it has run are cached. This module imports
nothing slow.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # the module signal is slow to load
import os
from collections.abc import Sequence

from packager.files.cache import ITEM, Facts, cache_folder, is_plain, program_identity
from packager.processes.programs import linker_environment, search_folders, which

FOLDER = "compiler-lines"
MARK = "\1"
NAMING = ("-o", "-MF", "-MT", "-MQ")  # the next word is a name of an output
SOURCES = (".c", ".cc", ".cpp", ".cxx", ".C")
# Variables that choose a compiler.
VARIABLES = ("PATH", "CC", "CXX", "FC")
# Options of omptool that need no file, and options of compilers that print commands.
UNFIT = ("--device-compiler", "--device-lib", "--entries", "--keep", "--dry-run", "-v", "-###", "@",
    "--help", "-h")  # fmt: skip
NO_OUTPUT = "/dev/null"  # objects there are compiled to a temporary file
# Signals that Python ignores, and those that end a build.
OWN_SIGNALS = (_signal.SIGPIPE, _signal.SIGXFSZ)
ENDING = (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP)
STDERR = 2


def start_known(words: Sequence[str]) -> None:
    """Run the compiler of a known command in place of this process; return if there is none.

    If the user did not choose the compiler, this process waits to name it after an error. It
    returns, too, if a signal ends the compiler: the long way has the message.
    """
    found = known_line(words)
    if found is None:
        return
    choice, *line = found
    program = line[0] if os.path.isabs(line[0]) else which(line[0])  # noqa: PTH117 - quick
    try:
        if program and choice:
            _wait_for(program, line, choice)
        elif program:
            for number in OWN_SIGNALS:
                _signal.signal(number, _signal.SIG_DFL)
            os.execve(program, line, linker_environment())
    except OSError:
        return


def _wait_for(program: str, line: list[str], choice: str) -> None:
    """Run the compiler, print `choice` after an error, and end with its exit code."""
    environment = linker_environment()
    process = os.posix_spawn(program, line, environment, setsigdef=OWN_SIGNALS)
    stopped: list[int] = []

    def stop(number: int, _: object) -> None:
        stopped.append(number)
        os.kill(process, _signal.SIGTERM)

    before = {number: _signal.signal(number, stop) for number in ENDING}
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    for number in stopped[:1]:
        _signal.signal(number, _signal.SIG_DFL)
        os.kill(os.getpid(), number)
    if code > 0:
        os.write(STDERR, f"omptool: {choice}\n".encode(errors="surrogateescape"))
    if code >= 0:
        os._exit(code)
    for number, handler in before.items():
        _signal.signal(number, handler)


def known_line(words: Sequence[str]) -> list[str] | None:
    """Return a known command's line on the choice of its compiler, and the compiler's command."""
    names = _names(words)
    facts = _facts(words, names) if names else None
    found = facts.words() if facts else None
    return [_named(word, list(names or ())) for word in found] if found else None


def remember(words: Sequence[str], lines: Sequence[Sequence[str]], choice: str) -> None:
    """Cache the compiler's command that a command's words led to, if it was the only one."""
    if len(lines) != 1:
        return
    line = lines[0]
    names = _names(words)
    facts = _facts(words, names) if names else None
    program = which(line[0]) or line[0]
    if not facts or not names or not is_plain([*line, choice]) or not os.path.isabs(program):  # noqa: PTH117
        return
    marks = {name: f"{MARK}{number}" for number, name in enumerate(names)}
    marked = [marks.get(word, word) for word in line]
    is_fit = _output(words) == _output(line)  # a part of the object goes to a temporary file
    is_fit = is_fit and all(list(words).count(name) == list(line).count(name) for name in names)
    is_fit = is_fit and not any(name in word for name in names for word in marked)
    if is_fit and program_identity(program) is not None:  # a script may start another each time
        facts.keep([choice, *marked], _watched(program, line))


def _output(words: Sequence[str]) -> str:
    return words[list(words).index("-o") + 1] if "-o" in words[:-1] else ""


def _named(word: str, names: Sequence[str]) -> str:
    return names[int(word[len(MARK) :])] if word.startswith(MARK) else word


def _names(words: Sequence[str]) -> dict[str, None] | None:
    """Return the source and the names of outputs; None if a command is not of the known form."""
    if "-c" not in words or any(word.startswith(UNFIT) for word in words):
        return None
    names: dict[str, None] = {}
    sources, before = 0, ""
    for word in words:
        if before in NAMING:
            names.setdefault(word)
        elif word.endswith(SOURCES) and not word.startswith("-"):
            sources += 1
            names.setdefault(word)
        before = word
    is_known = sources == 1 and words.count("-o") == 1 and NO_OUTPUT not in names
    return None if not is_known or any(name.startswith("-") for name in names) else names


def _facts(words: Sequence[str], names: dict[str, None]) -> Facts | None:
    """Return the cached facts of a command; None without a cache."""
    folder = cache_folder(FOLDER)
    if folder is None or not is_plain([*words]):
        return None
    marks = {name: f"{MARK}{number}{_ending(name)}" for number, name in enumerate(names)}
    variables = [f"{name}={os.environ.get(name, '')}" for name in VARIABLES]
    if not is_plain(variables):
        return None
    return Facts(folder, ITEM.join((*variables, *(marks.get(word, word) for word in words))))


def _ending(name: str) -> str:
    return next((ending for ending in SOURCES if name.endswith(ending)), "")


def _watched(program: str, line: Sequence[str]) -> list[str]:
    """Return files and folders that decide which compiler runs, and with which options."""
    from itertools import pairwise
    from pathlib import Path

    own = sorted(Path(__file__).parent.glob("*.py"))
    folders = [word for before, word in pairwise(line) if before == "-idirafter"]
    real = Path(program).resolve()
    headers = real.parents[1] / "lib" / "clang"  # clang without OpenMP's is not chosen
    places = [*own, real, headers, *sorted(headers.glob("*/include"))]
    return [program, *map(str, places), *folders, *search_folders()]
