# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool run`: a program on the bundled runtime, whatever libomptarget it was linked with."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from pathlib import Path
from typing import Any, NoReturn

import click

from omptool.console import echo
from omptool.errors import fail
from omptool.installation import check_observers
from omptool.options.checking import Asked, check_options, checking
from omptool.options.levels import without_levels
from omptool.options.reporting import Reports, report_options, reporting
from omptool.options.tracing import trace_options, traced
from omptool.probes.launching import (
    NOT_EXECUTABLE,
    SHELL,
    Start,
    find,
    is_text,
    on_the_runtime,
    through_shell,
    why_not,
)
from omptool.process import in_a_line
from packager.elf import headers
from packager.errors import MissingToolError, PackagerError
from packager.files.reader import Reader, open_reader
from packager.machine.program import traces

CANNOT_START = 125  # for what omptool itself could not do (DECISIONS 18)
WRONG_USAGE = 2  # a plugin or device that is not there
MOST_DEVICES = 1 << 31
QUIET = "OMPTOOL_QUIET"
OF_LOADER = ("LD_PRELOAD", "LD_LIBRARY_PATH")  # variables meant for the program
NOT_STARTED = "with --mandatory the program is not started"
BUILD = "compile and link with -fopenmp-targets=…"


class RunCommand(click.Command):
    """Wrong usage of `run` must not look like an exit code of the program."""

    def make_context(self, *args: Any, **how: Any) -> click.Context:
        """Parse the arguments, and exit with 125 if they are wrong."""
        try:
            return super().make_context(*args, **how)
        except click.UsageError as error:
            echo(f"Error: {in_a_line(error)}", err=True)
            raise click.exceptions.Exit(CANNOT_START) from error

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words; a flag with an optional level does not take PROG for it."""
        words, levels = without_levels(args, self.params)
        rest = super().parse_args(ctx, words)
        ctx.params.update(levels)
        return rest


def _device_number(_ctx: click.Context, _option: click.Parameter, value: str | None) -> int | None:
    """Return the device number, or end: only the runtime knows whether the device exists."""
    if value is None:
        return None
    if not (value.isascii() and value.isdigit() and int(value) < MOST_DEVICES):
        known = "known values: numbers from 0; `omptool devices` lists them"
        fail(f"--device {value!r} is no device number; {known}", WRONG_USAGE)
    return int(value)


@click.command(cls=RunCommand, context_settings={"allow_interspersed_args": False})
@click.option(
    "--plugin", "plugins", multiple=True, metavar="P", help="Use only plugin P (repeatable)."
)
@click.option("--device", callback=_device_number, metavar="N", help="Make device N the default.")
@click.option("--mandatory", is_flag=True, help="Abort, with the reason, instead of falling back.")
@click.option(
    "--workers",
    "with_workers",
    is_flag=True,
    help="In an MPI job, run PROG in rank 0 alone; the others serve their devices to it.",
)
@click.option("--gdb", is_flag=True, help="Start PROG in gdb, which sees its kernels.")
@trace_options
@report_options
@check_options
@click.argument("program", metavar="[--] PROG")
@click.argument("args", nargs=-1, metavar="[ARGS]...")
def command(
    plugins: tuple[str, ...],
    device: int | None,
    mandatory: bool,
    with_workers: bool,
    gdb: bool,
    trace: Path | None,
    trace_format: str | None,
    reports: Reports,
    asked: Asked,
    program: str,
    args: tuple[str, ...],
) -> None:
    """Run PROG with ARGS on omptool's runtime, whatever libomptarget PROG was linked with.

    The environment puts the runtime in place, so PROG may be a wrapper script or a launcher such as
    mpirun.

    With --workers, `mpirun -n 9 omptool run --workers ./app` starts PROG once: it has the devices
    of all nine processes, behind those of its own machine.

    With --check, the runtime looks for mistakes of mapping, and omptool prints them on stderr when
    PROG has ended: errors, which OpenMP forbids, and hints, which are often mistakes. `omptool
    verify --explain CODE` prints the cause and the cure of each. --check=full also looks at what
    kernels and the host do with memory, which takes longer.

    Exits as PROG does; 124 when --check-error is given and the checker found an error, 125 when
    omptool fails first or cannot write a file when PROG has ended, 126 when PROG cannot be
    executed, 127 when PROG is not found, 2 when there is no plugin P or no device N.
    """
    check = checking(asked, CANNOT_START)
    reports = reporting(reports, check.files() if check else [], CANNOT_START)
    asking = {"--check": check, "--trace": trace, "--summary": reports.summary, **reports.files()}
    _check_observers([option for option, value in asking.items() if value])
    with _workers(program) if with_workers else nullcontext({}) as of_workers:
        start = _prepared(
            (program, *args),
            is_mandatory=mandatory,
            is_checked=bool(check),
            is_reported=bool(check or reports.summary),
            is_in_gdb=gdb,
        )
        wanted = {**_asked(plugins, device, mandatory), **reports.environment(), **of_workers}
        wanted |= traced(trace, trace_format, CANNOT_START)
        start = start._replace(environment={**start.environment, **wanted})
        if with_workers:
            start = _with_workers(start, is_in_gdb=gdb)
        _check_known(plugins, None if with_workers else device, start.environment)
        starting = _in_gdb if gdb else _as_it_is
        if check or reports.files():
            from omptool.commands.run import reported

            _end_as(reported.run(start, starting, check, reports, trace))
        if with_workers:
            _run_with_workers(starting(start), program)
        _execute(starting(start), program)


def _check_observers(options: Sequence[str]) -> None:
    """End if an option needs the runtime's library of observers, and it is missing."""
    try:
        if options:
            check_observers()
    except MissingToolError as error:
        fail(f"{options[0]}: {error}", CANNOT_START)


def _prepared(
    words: tuple[str, ...],
    *,
    is_mandatory: bool,
    is_checked: bool,
    is_reported: bool,
    is_in_gdb: bool,
) -> Start:
    """Return a program's start on the runtime, or end where it must not or cannot be started.

    `is_reported`: a report on the program follows, which lacks regions for the host alone.
    """
    program = words[0]
    path = find(program)
    try:
        with open_reader(path) as data:
            environment = on_the_runtime(path, data, os.environ, is_checked=is_checked)
            if is_mandatory:
                _refuse_regions_of_the_host(data, path, program)
            else:
                _note_host_only(data, path, program, is_reported=is_reported)
            is_elf = headers.probe(data)
    except PackagerError as error:
        fail(f"{program}: {error}", CANNOT_START)
    if is_in_gdb and not is_elf:
        fail(f"{program}: is a script; gdb needs its interpreter in front of it", CANNOT_START)
    return Start(path, words, environment)


def _asked(plugins: tuple[str, ...], device: int | None, mandatory: bool) -> Mapping[str, str]:
    """Return the runtime's variables for the options."""
    asked = {
        "OMPTOOL_PLUGINS": ",".join(plugins) if plugins else None,
        "OMP_DEFAULT_DEVICE": None if device is None else str(device),
        "OMP_TARGET_OFFLOAD": "MANDATORY" if mandatory else None,
        "OMPTOOL_MANDATORY": "1" if mandatory else None,  # whatever a wrapper script sets
    }
    return {name: value for name, value in asked.items() if value is not None}


def _check_known(
    plugins: tuple[str, ...], device: int | None, environment: Mapping[str, str]
) -> None:
    """End where the options name a plugin or a device that is not there."""
    if not plugins and device is None:
        return
    from omptool.probes import known

    own = {name: value for name, value in environment.items() if name not in OF_LOADER}
    if plugins:
        known.check_plugins(plugins, own)
    if device is not None:
        known.check_device(device, own)


def _workers(program: str) -> AbstractContextManager[dict[str, str]]:
    """Return the block that has the job's workers, or become one of them."""
    from omptool.probes import workers

    if not workers.can_be_had():
        find(program)  # the program's fault has priority over missing workers
    workers.serve_unless_first("run --workers", CANNOT_START)
    return workers.waiting()


def _with_workers(start: Start, *, is_in_gdb: bool) -> Start:
    """Return the start of a program that has workers, or end for one that uses MPI."""
    from omptool.probes import workers

    workers.refuse_user_of_mpi(start, CANNOT_START)
    return start._replace(environment=workers.with_workers(start.environment, is_in_gdb=is_in_gdb))


def _run_with_workers(start: Start, program: str) -> NoReturn:
    """Run the program with its waiting workers, and end as it did."""
    from omptool.probes.watching import watched

    try:
        code = watched(start)
    except OSError as error:
        fail(f"{program}: {why_not(start.file, error)}", NOT_EXECUTABLE)
    _end_as(code)


def _end_as(code: int) -> NoReturn:
    """End as a program did, by an exit code, or by minus a signal."""
    from omptool.process import StoppedError

    if code < 0:
        _leave_no_core()
        raise StoppedError(-code)
    raise click.exceptions.Exit(code)


def _refuse_regions_of_the_host(data: Reader, path: Path, program: str) -> None:
    """End where files of the program show regions that can run on the host alone."""
    from omptool.probes import gcc_regions
    from packager.machine.host_regions import of_program

    for file, cause in of_program(program, path, data, os.environ):
        fail(f"{file}: {cause.message}: {NOT_STARTED}; {cause.cure}", CANNOT_START)
    for one in gcc_regions.of_program(program, path, data, os.environ):
        if one.reason:
            fail(f"{one.path}: {NOT_STARTED}: {one.sentence}", CANNOT_START)


def _note_host_only(data: Reader, path: Path, program: str, *, is_reported: bool) -> None:
    """Print that the runtime never sees regions of the program; before a report, in detail."""
    if not is_reported:
        if os.environ.get(QUIET) != "1":
            _tell_without_device_code(data, path, program)
        return
    from packager.hosts import host_only
    from packager.machine.host_regions import of_program

    cause = host_only.found(data)
    if cause:
        echo(f"Note: {program}: no offload code: {cause.message}; {cause.cure}", err=True)
    for file, left in of_program(program, path, data, os.environ):
        if left != cause:
            echo(f"Note: {file}: {left.message}; {left.cure}", err=True)


def _tell_without_device_code(data: Reader, path: Path, program: str) -> None:
    """Print a line if the program's files have regions, but no device code."""
    own = traces(data)
    if own.calls or not headers.probe(data):
        return
    from packager.machine.dynamic_loader import beside

    with ExitStack() as opened:
        libraries = [opened.enter_context(open_reader(p)) for p in beside(path, headers.read(data))]
        found = [own, *(traces(file) for file in libraries)]
        if any(one.calls for one in found) or not any(one.regions for one in found):
            return
        from packager.hosts import host_only

        causes = (host_only.found(file) for file in (data, *libraries))
        cause = next((one for one in causes if one and one.is_shown), None)
    if cause:
        cure = BUILD if cause.regions else cause.cure
        what = "has target regions but no device code"
        echo(f"omptool: {program} {what}: {cure}; {QUIET}=1 hides this line", err=True)


def _execute(start: Start, program: str) -> NoReturn:
    # Python ignores these signals, and exec would keep them ignored.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execve(start.file, start.words, start.environment)
    except OSError as error:
        if error.errno == errno.ENOEXEC and is_text(start.file):
            with suppress(OSError):
                os.execve(SHELL, through_shell(start.file, start.words), start.environment)
        fail(f"{program}: {why_not(start.file, error)}", NOT_EXECUTABLE)


def _as_it_is(start: Start) -> Start:
    return start


def _in_gdb(start: Start) -> Start:
    """Return the program in gdb. The environment is for the program, not for gdb and its shell."""
    from packager.processes.programs import which

    debugger = which("gdb")
    if not debugger:
        fail("gdb is not on PATH: apt-get install gdb", CANNOT_START)
    own = dict(os.environ)
    changed = [
        f"{name}={value}" for name, value in start.environment.items() if own.get(name) != value
    ]
    import shlex

    wrapper = shlex.join(["env", *changed])
    settings = ["-ex", "set breakpoint pending on", "-ex", f"set exec-wrapper {wrapper}"]
    words = ("gdb", *settings, "--args", str(start.file), *start.words[1:])
    return Start(Path(debugger), words, own)


def _leave_no_core() -> None:
    """Keep this process from leaving a core file of its own beside the program's."""
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_CORE)
    # With a limit of 1 the kernel starts no program for core dumps either.
    least = 1 if most == resource.RLIM_INFINITY else min(1, most)
    resource.setrlimit(resource.RLIMIT_CORE, (least, most))
