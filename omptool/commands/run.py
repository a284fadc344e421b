"""`omptool run`: a program on the bundled runtime, whatever libomptarget it was linked with."""

from __future__ import annotations

import errno
import os
import shlex
import shutil
import signal
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import click

from omptool.console import echo
from omptool.errors import fail
from omptool.installation import LIBRARY, libdir
from omptool.process import in_a_line
from packager.errors import PackagerError
from packager.files.presence import exists, is_file
from packager.machine.program import Program, inspect_program

# As in a shell, and 125 for what omptool itself could not do (DECISIONS 18).
CANNOT_START, NOT_EXECUTABLE, NOT_FOUND = 125, 126, 127
# Bytes of a file that tell whether it can be a script.
SCRIPT_START = 128
# Libraries that insist on being loaded first.
FIRST = ("libasan.so", "libtsan.so", "libclang_rt.asan", "libclang_rt.tsan")


class RunCommand(click.Command):
    """Wrong usage of `run` must not look like an exit code of the program."""

    def make_context(self, *args: Any, **how: Any) -> click.Context:
        """The context, or exit code 125."""
        try:
            return super().make_context(*args, **how)
        except click.UsageError as error:
            echo(f"Error: {in_a_line(error)}", err=True)
            raise click.exceptions.Exit(CANNOT_START) from error


@click.command(cls=RunCommand, context_settings={"allow_interspersed_args": False})
@click.option(
    "--plugin", "plugins", multiple=True, metavar="P", help="Use only plugin P (repeatable)."
)
@click.option("--device", type=click.IntRange(0), metavar="N", help="Make device N the default.")
@click.option("--mandatory", is_flag=True, help="Abort, with the reason, instead of falling back.")
@click.option("--gdb", is_flag=True, help="Start PROG in gdb, which sees its kernels.")
@click.argument("program", metavar="[--] PROG")
@click.argument("args", nargs=-1, metavar="[ARGS]...")
def command(
    plugins: tuple[str, ...],
    device: int | None,
    mandatory: bool,
    gdb: bool,
    program: str,
    args: tuple[str, ...],
) -> None:
    """Run PROG with ARGS on omptool's runtime, whatever libomptarget it was linked with.

    The runtime takes its place through the environment, so PROG may be a wrapper script or a
    launcher such as mpirun.

    Exits as PROG does; 125 when omptool fails first, 126 when PROG cannot be executed, 127 when
    it is not found.
    """
    path = _find(program)
    try:
        environment = on_the_runtime(path, os.environ)
    except PackagerError as error:
        fail(f"{program}: {error}", CANNOT_START)
    if plugins:
        environment["OMPTOOL_PLUGINS"] = ",".join(plugins)
    if device is not None:
        environment["OMP_DEFAULT_DEVICE"] = str(device)
    if mandatory:
        environment["OMP_TARGET_OFFLOAD"] = "MANDATORY"
    if gdb:
        _debug(path, program, args, environment)
    _execute(path, program, args, environment)


def on_the_runtime(program: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """`environment` with what puts the runtime in the place of any other that `program` would get.

    Raises PackagerError for a program in which nothing can.
    """
    inspected = inspect_program(program)
    return _environment(dict(environment), _replacements(program, inspected), inspected)


def _find(program: str) -> Path:
    found = shutil.which(program)
    if found:
        return Path(found)
    unfit = next(filter(exists, _places(program)), None)
    if unfit:
        why = "is a directory" if unfit.is_dir() else "is not executable"
        fail(f"{program}: {why}", NOT_EXECUTABLE)
    is_here = program and "/" not in program and is_file(Path(program))
    hint = f" on PATH; the file in this folder is ./{program}" if is_here else ""
    fail(f"{program or repr(program)}: not found{hint}", NOT_FOUND)


def _places(program: str) -> list[Path]:
    """Where execvp looks for it."""
    if "/" in program or not program:
        return [Path(program)] if program else []
    return [Path(folder, program) for folder in os.get_exec_path()]


def _replacements(path: Path, program: Program | None) -> list[Path]:
    """Return the runtime under every name: those that the program needs first, in its order.

    The others are for what the program opens later or starts: a script, an interpreter and its
    modules, a launcher. A DT_RPATH there would lead to another runtime, unless its name is taken.
    Refuses a program that would quietly run on another one. None is a script.
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
        raise PackagerError("is statically linked: no runtime can take the place of its own")
    if path.stat().st_mode & (stat.S_ISUID | stat.S_ISGID):
        raise PackagerError("is setuid or setgid: the loader ignores the runtime put before it")
    # In the program's order: a call without a version goes to the first that has the name.
    needed = [runtime.with_name(name) for name in program.offload_libraries]
    for name in needed:
        if not name.is_file():
            raise PackagerError(
                f"needs {name.name}, which this version of the runtime cannot replace"
            )
    return [*needed, *(name for name in names if name not in needed)]


def _environment(
    environment: dict[str, str], libraries: list[Path], program: Program | None
) -> dict[str, str]:
    """Put the runtime before any other.

    A preloaded library satisfies every DT_NEEDED of its SONAME, whatever DT_RPATH says;
    LD_LIBRARY_PATH serves what is opened by name later; it goes before DT_RUNPATH, so a program
    with another libtarget.so than ours does without.
    """
    first = [name for name in (program.needed if program else ()) if name.startswith(FIRST)]
    for name, values in (
        ("LD_PRELOAD", [*first, *map(str, libraries)]),
        ("LD_LIBRARY_PATH", [str(libraries[0].parent)]),
    ):
        if name == "LD_LIBRARY_PATH" and program and program.has_namesake:
            continue
        rest = environment.get(name)
        environment[name] = ":".join([*values, rest] if rest else values)
    return environment


def _execute(
    path: Path, program: str, args: tuple[str, ...], environment: dict[str, str]
) -> NoReturn:
    # Python ignores these, and what is ignored stays so across exec.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execve(path, [program, *args], environment)
    except OSError as error:
        if error.errno == errno.ENOEXEC and _is_text(path):  # no "#!": shells run it themselves
            with suppress(OSError):
                os.execve("/bin/sh", ["sh", str(path), *args], environment)
        missing = error.errno == errno.ENOENT and exists(path)
        what = "its interpreter is not there" if missing else error.strerror
        fail(f"{program}: {what}", NOT_EXECUTABLE)


def _debug(
    path: Path, program: str, args: tuple[str, ...], environment: dict[str, str]
) -> NoReturn:
    """Start the program in gdb. The environment is for the program, not for gdb and its shell."""
    debugger = shutil.which("gdb")
    if not debugger:
        fail("gdb is not on PATH: apt-get install gdb", CANNOT_START)
    if inspect_program(path) is None:
        fail(f"{program}: is a script: gdb wants its interpreter before it", CANNOT_START)
    changed = [
        f"{name}={value}" for name, value in environment.items() if os.environ.get(name) != value
    ]
    wrapper = shlex.join(["env", *changed])
    settings = ["-ex", "set breakpoint pending on", "-ex", f"set exec-wrapper {wrapper}"]
    os.execv(debugger, ["gdb", *settings, "--args", str(path), *args])


def _is_text(path: Path) -> bool:
    """As shells tell a script from a program of another machine: it begins without a NUL."""
    with path.open("rb") as file:
        return b"\0" not in file.read(SCRIPT_START)
