# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Find programs to start on the bundled runtime, and prepare their environment."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from omptool.console import echo
from omptool.errors import fail
from omptool.installation import LIBRARY, libdir
from packager.errors import PackagerError
from packager.files.portable import exists, is_file
from packager.files.reader import Reader
from packager.machine.program import UNDER_RUN, Program, inspect_program, raised_rights
from packager.records import NamedTuple

# Exit codes of a shell.
NOT_EXECUTABLE, NOT_FOUND = 126, 127
SHELL = "/bin/sh"
QUIET = "OMPTOOL_QUIET"
HEAP = "libomptool_heap.so"
# Bytes of a file that show whether it can be a script.
SCRIPT_START = 128
# Libraries that must be loaded first.
FIRST = ("libasan.so", "libtsan.so", "libclang_rt.asan", "libclang_rt.tsan")


class Start(NamedTuple):
    """A program to start: its file, arguments (its name first) and environment."""

    file: Path
    words: tuple[str, ...]
    environment: Mapping[str, str]


def on_the_runtime(
    program: Path, data: Reader, environment: Mapping[str, str], *, is_checked: bool = False
) -> dict[str, str]:
    """Return `environment` with variables that make the bundled runtime replace any other.

    `data` is the open file of `program`. With `is_checked`, the checker learns the lengths of
    memory blocks. Raises PackagerError for a program whose runtime cannot be replaced.
    """
    inspected = inspect_program(program, data)
    libraries = _replacements(program, inspected)
    heap = libdir() / HEAP
    if is_checked and heap.is_file():
        libraries.append(heap)
    return _environment(dict(environment), libraries, inspected)


def find(program: str, exit_code: int | None = None) -> Path:
    """Return the file of a program as a shell finds it, or end: by default as a shell does."""
    places = _places(program)
    found = next((place for place in places if is_file(place) and os.access(place, os.X_OK)), None)
    if found:
        return found
    unfit = next(filter(exists, places), None)
    if unfit:
        why = "is a directory" if unfit.is_dir() else "is not executable"
        fail(f"{program}: {why}", exit_code or NOT_EXECUTABLE)
    is_here = program and "/" not in program and is_file(Path(program))
    hint = f" on PATH; the file in this folder is ./{program}" if is_here else ""
    fail(f"{program or repr(program)}: not found{hint}", exit_code or NOT_FOUND)


def _places(program: str) -> list[Path]:
    """Return the paths at which execvp looks for a program."""
    if "/" in program or not program:
        return [Path(program)] if program else []
    if not os.environ.get("PATH", os.defpath):
        return []
    return [Path(folder, program) for folder in os.get_exec_path()]


def _replacements(path: Path, program: Program | None) -> list[Path]:
    """Return the runtime under every name: first those that the program needs, in its order.

    The others are for libraries and programs that it opens or starts later: a script, an
    interpreter and its modules, a launcher. Without an alias a DT_RPATH there would lead to another
    runtime. Raises an error for a program that would silently use another one. `program` is None
    for a script.
    """
    runtime = libdir() / LIBRARY
    if any(character in str(runtime) for character in " \t\n:;"):
        raise PackagerError(
            f"cannot run on {runtime}: the loader reads no path with that character"
        )
    names = [runtime, *sorted(runtime.parent.glob(f"{LIBRARY}.*"))]
    if program is None:
        return names
    if program.is_static and program.has_offload_code:
        raise PackagerError("is statically linked: no other runtime can replace its own")
    if rights := raised_rights(path):
        raise PackagerError(f"{rights}: {UNDER_RUN}")
    # The program's order decides: a call without a version binds to the first library.
    needed = [_under(name, runtime, path) for name in program.offload_libraries]
    return [*needed, *(name for name in names if name not in needed)]


def _under(name: str, runtime: Path, program: Path) -> Path:
    """Return the runtime under a name that the program needs: for a later LLVM's, by an alias."""
    library = runtime.with_name(name)
    if library.is_file():
        return library
    from omptool.probes import alias  # rarely needed

    if not alias.is_newer_name(name):
        raise PackagerError(f"needs {name}, which this version of the runtime cannot replace")
    library = alias.made(name, runtime.parent)
    if os.environ.get(QUIET) != "1":
        what = f"needs {name}, of an LLVM that is newer than this omptool"
        echo(f"Note: {program}: {what}: {library} is its runtime under that name", err=True)
    return library


def _environment(
    environment: dict[str, str], libraries: list[Path], program: Program | None
) -> dict[str, str]:
    """Put the runtime before any other.

    A preloaded library satisfies every DT_NEEDED of its SONAME, whatever DT_RPATH contains.
    LD_LIBRARY_PATH serves libraries that are opened by name later. It has priority over DT_RUNPATH,
    so a program with another libtarget.so than ours runs without it.
    """
    first = [name for name in (program.needed if program else ()) if name.startswith(FIRST)]
    for name, values in (
        ("LD_PRELOAD", [*first, *map(str, libraries)]),
        ("LD_LIBRARY_PATH", [str(libdir())]),
    ):
        if name == "LD_LIBRARY_PATH" and program and program.has_namesake:
            continue
        rest = environment.get(name)
        environment[name] = ":".join([*values, rest] if rest else values)
    return environment


def through_shell(program: Path, words: Sequence[str]) -> list[str]:
    """Return the command of SHELL for a script without "#!": shells run it themselves."""
    return ["sh", str(program), *words[1:]]


def why_not(program: Path, error: OSError) -> str:
    """Return why a program cannot be started."""
    is_missing = error.errno == errno.ENOENT and exists(program)
    return "its interpreter is missing" if is_missing else error.strerror or str(error)


def is_text(path: Path) -> bool:
    """Return whether a file begins without a NUL, by which shells recognise a script."""
    with path.open("rb") as file:
        return b"\0" not in file.read(SCRIPT_START)
