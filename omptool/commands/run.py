# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool run`: a program on the bundled runtime, whatever libomptarget it was linked with."""

from __future__ import annotations

import errno
import os
import shlex
import shutil
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import click

from omptool.console import echo
from omptool.errors import fail
from omptool.options.tracing import trace_options, traced
from omptool.probes.launching import NOT_EXECUTABLE, find, is_text, on_the_runtime
from omptool.process import in_a_line
from packager.elf import headers
from packager.errors import PackagerError
from packager.files.presence import exists
from packager.files.reader import Reader, open_reader

# For what omptool itself could not do (DECISIONS 18).
CANNOT_START = 125


class RunCommand(click.Command):
    """Wrong usage of `run` must not look like an exit code of the program."""

    def make_context(self, *args: Any, **how: Any) -> click.Context:
        """The context, or exit code 125."""
        try:
            return super().make_context(*args, **how)
        except click.UsageError as error:
            echo(f"Error: {in_a_line(error)}", err=True)
            raise click.exceptions.Exit(CANNOT_START) from error


class DeviceNumber(click.IntRange):
    """A number of a device; the program's runtime knows if there is such a device."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number."""
        if not (str(value).isascii() and str(value).isdigit()):
            self.fail(f"{value!r} is no device number; `omptool devices` lists them", param, ctx)
        return int(super().convert(value, param, ctx))


@click.command(cls=RunCommand, context_settings={"allow_interspersed_args": False})
@click.option(
    "--plugin", "plugins", multiple=True, metavar="P", help="Use only plugin P (repeatable)."
)
@click.option("--device", type=DeviceNumber(0), metavar="N", help="Make device N the default.")
@click.option("--mandatory", is_flag=True, help="Abort, with the reason, instead of falling back.")
@click.option("--gdb", is_flag=True, help="Start PROG in gdb, which sees its kernels.")
@trace_options
@click.option("--summary", is_flag=True, help="At the end, print tables of regions and copies.")
@click.argument("program", metavar="[--] PROG")
@click.argument("args", nargs=-1, metavar="[ARGS]...")
def command(
    plugins: tuple[str, ...],
    device: int | None,
    mandatory: bool,
    gdb: bool,
    trace: Path | None,
    trace_format: str | None,
    summary: bool,
    program: str,
    args: tuple[str, ...],
) -> None:
    """Run PROG with ARGS on omptool's runtime, whatever libomptarget PROG was linked with.

    The environment puts the runtime in place, so PROG may be a wrapper script or a launcher such as
    mpirun.

    Exits as PROG does; 125 when omptool fails first, 126 when PROG cannot be executed, 127 when
    PROG is not found.
    """
    path = find(program)
    try:
        with open_reader(path) as data:
            environment = on_the_runtime(path, data, os.environ)
            if mandatory:
                _note_host_only(data, program)
            is_elf = headers.probe(data)
    except PackagerError as error:
        fail(f"{program}: {error}", CANNOT_START)
    if plugins:
        environment["OMPTOOL_PLUGINS"] = ",".join(plugins)
    if device is not None:
        environment["OMP_DEFAULT_DEVICE"] = str(device)
    if mandatory:
        environment["OMP_TARGET_OFFLOAD"] = "MANDATORY"
    environment |= traced(trace, trace_format, CANNOT_START)
    if summary:
        environment["OMPTOOL_SUMMARY"] = "1"
    if gdb and not is_elf:
        fail(f"{program}: is a script; gdb needs its interpreter in front of it", CANNOT_START)
    if gdb:
        _debug(path, args, environment)
    _execute(path, program, args, environment)


def _note_host_only(data: Reader, program: str) -> None:
    """Tell why nothing insists on a device: the program's regions never come to the runtime."""
    from packager.hosts import host_only

    found = host_only.found(data)
    if found:
        echo(f"Note: {program}: no offload code: {found.message}; {found.cure}", err=True)


def _execute(
    path: Path, program: str, args: tuple[str, ...], environment: dict[str, str]
) -> NoReturn:
    # Python ignores these, and what is ignored stays so across exec.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execve(path, [program, *args], environment)
    except OSError as error:
        if error.errno == errno.ENOEXEC and is_text(path):  # no "#!": shells run it themselves
            with suppress(OSError):
                os.execve("/bin/sh", ["sh", str(path), *args], environment)
        missing = error.errno == errno.ENOENT and exists(path)
        what = "its interpreter is missing" if missing else error.strerror
        fail(f"{program}: {what}", NOT_EXECUTABLE)


def _debug(path: Path, args: tuple[str, ...], environment: dict[str, str]) -> NoReturn:
    """Start the program in gdb. The environment is for the program, not for gdb and its shell."""
    debugger = shutil.which("gdb")
    if not debugger:
        fail("gdb is not on PATH: apt-get install gdb", CANNOT_START)
    changed = [
        f"{name}={value}" for name, value in environment.items() if os.environ.get(name) != value
    ]
    wrapper = shlex.join(["env", *changed])
    settings = ["-ex", "set breakpoint pending on", "-ex", f"set exec-wrapper {wrapper}"]
    os.execv(debugger, ["gdb", *settings, "--args", str(path), *args])
