# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool doctor`: where the regions of a program run on this machine, and why."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from omptool.console import echo
from omptool.errors import reported
from omptool.options.colour import colour_option
from omptool.options.completing import explained
from omptool.options.paths import FILE, as_given
from omptool.probes.ask import ImageBytes
from packager.errors import FormatError
from packager.files.reader import Reader

if TYPE_CHECKING:
    from packager.files.temporary import MemoryFile
    from packager.hosts.load import Loaded
    from packager.machine.dynamic_loader import Library
    from packager.model import Finding, Severity

# Code that reads images may expect this alignment of them, as in a program's own memory.
ALIGNMENT = 8
WRONG_USAGE = 2


@click.command()
@click.argument("program", type=FILE, metavar="PROG", required=False)
@click.argument("args", nargs=-1, metavar="[ARGS]...")
@click.option(
    "--workers",
    "with_workers",
    is_flag=True,
    help="In an MPI job, diagnose in rank 0 alone, with the devices of the other ranks.",
)
@click.option(
    "--run", "is_run", is_flag=True, help="Run PROG with ARGS, and report where its regions ran."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@colour_option
@click.option(
    "--explain",
    metavar="CODE",
    shell_complete=explained,
    help="Print the cause and the cure of a finding, and exit.",
)
@click.pass_context
def command(
    ctx: click.Context,
    program: Path | None,
    args: tuple[str, ...],
    with_workers: bool,
    is_run: bool,
    as_json: bool,
    explain: str | None,
) -> None:
    """Predict where each region of PROG will run on this machine, and say why.

    Reads PROG and the libraries that the loader would pick, with their regions, and looks at the
    plugins, the devices and the environment. PROG does not run. The prediction is for `omptool
    run`; a second one is for PROG started by itself, on the runtime that the loader picks. Programs
    of GCC need no libomptarget: their prediction is for libgomp. For images of CUDA's, HIP's or
    SYCL's runtime, doctor shows the library and driver that this runtime needs, and whether a
    device takes the images.

    With --run, for programs that open their libraries themselves, PROG runs as under `omptool run`.
    The report shows for each region where it ran, how often, and why on the host. The output of
    PROG goes to stderr.

    `mpirun -n 9 omptool doctor --workers PROG` diagnoses PROG once, as `omptool run --workers`
    starts it: with the devices of all nine processes.

    Exits 0 when every entry is used on a device, 1 when one is not, 2 when PROG cannot be read, 3
    when doctor cannot query the plugins. With --run, 1 also when PROG fails.
    """
    if explain is not None:
        _explain(explain.upper())
        return
    if program is None:
        raise click.UsageError("Missing argument 'PROG'.")
    if args and not is_run:
        raise click.UsageError("Arguments of PROG are for --run: doctor --run -- PROG ARGS.")
    with _asking(program, is_run=is_run) if with_workers else nullcontext(None) as asking:
        if is_run:
            text, is_well = _ran(as_given(program), args, as_json, asking)
        else:
            with reported(program):
                text, is_well = _diagnosed(program, as_json, asking)
    echo(text)
    ctx.exit(0 if is_well else 1)


def _explain(code: str) -> None:
    from packager.machine.explained import explain

    with reported("doctor"):
        explained = explain(code)
    echo(f"{code}: {explained}")


def _asking(program: Path, *, is_run: bool) -> AbstractContextManager[dict[str, str]]:
    """Return the block with the environment that has the job's workers, or become one of them."""
    from omptool.probes import launching, workers

    if not workers.can_be_had():  # of two faults, the program's comes first, as without workers
        with reported(program):
            launching.find(as_given(program), WRONG_USAGE) if is_run else program.stat()
    workers.serve_unless_first("doctor --workers", WRONG_USAGE)
    return workers.asked()


def _ran(
    program: str, args: tuple[str, ...], as_json: bool, asking: dict[str, str] | None
) -> tuple[str, bool]:
    """Run the program; return what is to be said of it, and whether all went well."""
    from omptool.probes import launching, region_report, watching, workers
    from omptool.render import region_run
    from packager.files.reader import open_reader
    from packager.hosts import host_only
    from packager.machine.region_run import RegionRun

    with reported(program):
        path = launching.find(program, exit_code=2)
        with open_reader(path) as data:
            environment = launching.on_the_runtime(path, data, asking or os.environ)
            cause = host_only.found(data)
        with region_report.made() as report:
            environment[region_report.VARIABLE] = report.path
            start = launching.Start(path, (program, *args), environment)
            if asking:
                workers.refuse_user_of_mpi(start, WRONG_USAGE)
            code = watching.watched(start, is_output_moved=True)
            run = RegionRun(
                program=program,
                exit_code=code if code >= 0 else None,
                signal=-code if code < 0 else None,
                regions=report.regions(),
                libraries=report.libraries(),
                lost=report.lost(),
            )
    said = f"{cause.message}: {cause.cure}" if cause else ""
    return (region_run.as_json if as_json else region_run.as_text)(run, said), run.is_well


def _diagnosed(program: Path, as_json: bool, asking: dict[str, str] | None) -> tuple[str, bool]:
    """Return the diagnosis as text, and whether a device uses every entry."""
    from omptool.probes import machine
    from omptool.render import doctor
    from packager.files.temporary import MemoryFile
    from packager.machine import other_runtimes
    from packager.machine.diagnosis import diagnose

    environment = dict(os.environ)
    parts = _Parts(program, environment)
    others = other_runtimes.registered(parts.whole.binary)
    with MemoryFile("omptool images") as inflated:
        images = [
            None if number in others else _placed(data, file, inflated)
            for number, (data, file) in enumerate(parts.images)
        ]
        found, plugins = machine.probe(
            parts.whole.binary, program, parts.elf, images, environment, asking
        )
    diagnosis = diagnose(parts.whole.binary, found)
    diagnosis = replace(diagnosis, findings=(*diagnosis.findings, *parts.findings))
    is_wanting = any(finding.severity == "error" for finding in diagnosis.findings)
    said = doctor.Said(parts.whole, parts.elsewhere, found, plugins, diagnosis)
    text = (doctor.as_json if as_json else doctor.as_text)(said)
    return text, diagnosis.offloads and not is_wanting


class _Parts:
    """The program, and the libraries with regions that the loader picks for it."""

    def __init__(self, program: Path, environment: dict[str, str]) -> None:
        from packager.elf import headers
        from packager.machine.dynamic_loader import libraries
        from packager.machine.parts import Elsewhere, joined, looked_at
        from packager.machine.program import raised_rights, secured
        from packager.model import Finding

        self._open: list[Iterator[Loaded]] = []  # whose bytes can be read until they go on
        main = self._read(program)
        _check_is_program(main, program)
        read: list[Loaded] = []
        self.elsewhere: list[Elsewhere] = []
        self.findings: list[Finding] = []
        rights = raised_rights(program)
        minded = secured(environment) if rights else environment
        self.elf = headers.read(main.file)
        needed = libraries(program, self.elf, minded, is_secure=bool(rights))
        for library in reversed(needed):
            offload = looked_at(library)
            if offload and library.path and offload.is_openmp:
                read += self._read_library(library.path)
            elif offload and library.path:
                self.elsewhere.append(Elsewhere(library.path, tuple(sorted(offload.others))))
        is_of_gcc = (main if main.binary.entries or not read else read[0]).binary.abi == "gcc"
        mine = [one for one in read if (one.binary.abi == "gcc") == is_of_gcc]
        for other in (one for one in read if one not in mine and one.binary.entries):
            whose = "libomptarget" if is_of_gcc else "libgomp"
            message = f"{whose} runs the regions of {other.binary.path}; this prediction lacks them"
            self.findings.append(Finding("OMP210", "info", message, "run doctor on it, too"))
        self.whole = joined(main.binary, [one.binary for one in mine])
        if self.whole.binary.is_empty:
            self.findings += _causes(main, needed)
        self.images = [
            (data, Path(one.binary.file or one.binary.path))
            for one in (*mine, main)
            for data in one.data
        ]

    def _read_library(self, path: Path) -> Iterator[Loaded]:
        """The library; what of it cannot be read is a finding."""
        from packager.model import Finding

        try:
            loaded = self._read(path)
        except FormatError as error:
            faults: tuple[str, ...] = (str(error),)
        else:
            yield loaded
            faults = (*loaded.binary.faults, *loaded.binary.limits)
        for fault in faults:
            hint = "look at it with `omptool verify`"
            self.findings.append(Finding("OMP210", "warning", f"{path}: {fault}", hint))

    def _read(self, path: Path) -> Loaded:
        from packager.hosts.load import load_all

        self._open.append(load_all(path))
        return next(self._open[-1])


def _check_is_program(main: Loaded, program: Path) -> None:
    """Raise FormatError unless the file itself is a program that could be read whole."""
    from packager.hosts import coff

    binary = main.binary
    if coff.probe(main.file):
        raise FormatError("is a PE or COFF file of Windows; doctor reads programs of Linux")
    if binary.is_debug_only:
        raise FormatError("is debug information alone; doctor reads the program that it is of")
    is_program = binary.type in ("executable", "shared")
    if not is_program or binary.path != str(program):  # a member of an archive
        raise FormatError("is not a program; doctor reads executables and libraries")
    for unread in (*binary.faults, *binary.limits):
        raise FormatError(unread)


def _causes(main: Loaded, libraries: Sequence[Library]) -> Iterator[Finding]:
    """Yield why there is no offload code, of the program and of libraries that show it."""
    from packager.files.reader import open_reader
    from packager.hosts import host_only
    from packager.machine.parts import RUNTIMES
    from packager.model import Finding

    cause = host_only.found(main.file)
    if cause:
        severity: Severity = "warning" if cause.is_shown else "info"
        yield Finding("OMP211", severity, cause.message, cause.cure)
    for library in libraries:
        is_user = any(name.startswith(host_only.OPENMP) for name in library.needed)
        if library.path is None or not is_user or library.name.startswith(RUNTIMES):
            continue
        with open_reader(library.path) as data:
            found = host_only.found(data)
        if found and found.is_shown:
            yield Finding("OMP211", "warning", f"{library.path}: {found.message}", found.cure)


def _placed(data: Reader, file: Path, inflated: MemoryFile) -> ImageBytes:
    """Return where plugins can look at an image: in the file itself, or inflated in memory."""
    if data.is_stored and data.at % ALIGNMENT == 0:
        return ImageBytes(file, data.at, len(data))
    return ImageBytes(inflated.path, inflated.add(data.pieces(), ALIGNMENT), len(data))
