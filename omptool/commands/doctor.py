# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool doctor`: where the regions of a program run on this machine, and why."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from omptool.console import echo, shown
from omptool.errors import reported
from omptool.options.colour import colour_option
from omptool.options.completing import explained
from omptool.options.paths import FILE, as_given
from omptool.probes.ask import ImageBytes
from packager.errors import FormatError
from packager.files.reader import Reader

if TYPE_CHECKING:
    from omptool.render.doctor import Said
    from packager.files.temporary import MemoryFile
    from packager.machine.region_run import RegionRun

# Alignment that plugins may expect of images, as in a program's own memory.
ALIGNMENT = 8
WRONG_USAGE = 2


class DoctorCommand(click.Command):
    """Passes the arguments after PROG to PROG if --run precedes it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments."""
        ctx.allow_interspersed_args = False
        before_program, *_ = self.make_parser(ctx).parse_args(list(args))
        ctx.allow_interspersed_args = "is_run" not in before_program
        return super().parse_args(ctx, args)


@click.command(cls=DoctorCommand)
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
@click.option("--verbose", is_flag=True, help="Report also what seldom matters (OMP207).")
@click.option("--wide", "is_wide", is_flag=True, help="Show names of any length, and raw names.")
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
    verbose: bool,
    is_wide: bool,
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
    The report shows for each region where it ran, how often, and why on the host. It also lists the
    regions of these files that were never launched, which is no fault. The output of PROG goes to
    stderr.

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
        raise click.UsageError("Arguments of PROG are for --run: doctor --run PROG ARGS.")
    if verbose and is_run:
        raise click.UsageError("--verbose is for the prediction; --run has no use for it.")
    with _asking(program, is_run=is_run) if with_workers else nullcontext(None) as asking:
        if is_run:
            run, cause = _ran(as_given(program), args, asking)
            text, is_well = _told(run, cause, as_json, is_wide), run.is_well
        else:
            with reported(program):
                said = _diagnosed(program, asking, is_verbose=verbose)
            text, is_well = _predicted(said, as_json, is_wide), said.is_well
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

    if not workers.can_be_had():  # the program's fault has priority over missing workers
        with reported(program):
            launching.find(as_given(program), WRONG_USAGE) if is_run else program.stat()
    workers.serve_unless_first("doctor --workers", WRONG_USAGE)
    return workers.asked()


def _ran(
    program: str, args: tuple[str, ...], asking: dict[str, str] | None
) -> tuple[RegionRun, str]:
    """Run the program; return its report, and why no region could run, if known."""
    from omptool.installation import check_observers
    from omptool.probes import gcc_regions, launching, watching, workers
    from omptool.probes.reports import region_report
    from packager.files.reader import open_reader
    from packager.hosts import host_only
    from packager.machine.host_regions import of_program, with_loaded
    from packager.machine.not_launched import not_launched
    from packager.machine.region_run import RegionRun, names

    with reported(program), ExitStack() as opened:
        path = launching.find(program, exit_code=2)
        check_observers()
        data = opened.enter_context(open_reader(path))
        environment = launching.on_the_runtime(path, data, asking or os.environ)
        cause = host_only.found(data)
        left = of_program(program, path, data, os.environ)
        of_gcc = gcc_regions.of_program(program, path, data, os.environ)
        with region_report.made() as report:
            environment[region_report.VARIABLE] = report.path
            start = launching.Start(path, (program, *args), environment)
            if asking:
                workers.refuse_user_of_mpi(start, WRONG_USAGE)
            code = watching.watched(start, is_output_moved=True)
            regions, libraries = report.regions(), report.libraries()
            seen = [*report.of_gcc(), *report.loaded()]  # without an image a file registers nothing
            of_gcc += tuple(gcc_regions.of_opened(seen, of_gcc, os.environ))
            run = RegionRun(
                program=program,
                exit_code=code if code >= 0 else None,
                signal=-code if code < 0 else None,
                regions=regions,
                libraries=libraries,
                lost=report.lost(),
                host_only=with_loaded(left, libraries, report.loaded(), path, os.environ),
                of_gcc=of_gcc,
                idle=tuple(not_launched(libraries, names(regions), path, data)),
            )
    return run, f"{cause.message}: {cause.cure}" if cause else ""


def _told(run: RegionRun, cause: str, as_json: bool, is_wide: bool) -> str:
    from omptool.render.runs import region_run

    if as_json:
        return region_run.as_json(run, cause)
    return region_run.as_text(run, cause, is_wide=is_wide)


def _predicted(said: Said, as_json: bool, is_wide: bool) -> str:
    from omptool.render import doctor

    return doctor.as_json(said) if as_json else doctor.as_text(said, is_wide=is_wide)


def _diagnosed(program: Path, asking: dict[str, str] | None, *, is_verbose: bool) -> Said:
    """Return the diagnosis, with the facts that it is based on."""
    from omptool.probes import gcc_regions, machine
    from omptool.render.doctor import Said
    from packager.files.temporary import MemoryFile
    from packager.machine import other_runtimes
    from packager.machine.diagnosis import diagnose
    from packager.machine.facts import NOT_LOADED
    from packager.machine.kernel_archives import lacking
    from packager.machine.program import is_script
    from packager.machine.program_parts import ProgramParts, open_program, weighed_by

    environment = dict(os.environ)
    with ExitStack() as opened, MemoryFile("omptool images") as inflated:
        if is_script(data := open_program(program, opened)):
            raise FormatError(
                f"is a script: use `omptool doctor --run -- {shown(as_given(program))}`"
            )
        parts = ProgramParts(program, data, environment, opened)
        of_gcc = (
            gcc_regions.of_program(str(program), program, data, parts.environment)
            if parts.has_gcc
            else ()
        )
        others = other_runtimes.registered(parts.whole.binary)
        images = [
            None if number in others else _placed(data, file, inflated)
            for number, (data, file) in enumerate(parts.images)
        ]
        found, plugins = (
            (NOT_LOADED, [])
            if parts.whole.binary.is_debug_only
            else machine.probe(parts.whole.binary, program, parts.elf, images, environment, asking)
        )
    diagnosis = diagnose(parts.whole.binary, found, is_verbose=is_verbose)
    weighed = (weighed_by(diagnosis, one) for one in parts.findings)
    archives = lacking(parts.archives, found.amd, environment)
    diagnosis = replace(
        diagnosis,
        findings=(*diagnosis.findings, *weighed, *archives),
        host_only=parts.left,
        of_gcc=of_gcc,
        is_of_default=parts.chooses_device,
    )
    return Said(parts.whole, parts.elsewhere, found, plugins, diagnosis)


def _placed(data: Reader, file: Path, inflated: MemoryFile) -> ImageBytes:
    """Return where plugins can look at an image: in the file itself, or inflated in memory."""
    if data.is_stored and data.at % ALIGNMENT == 0:
        return ImageBytes(file, data.at, len(data))
    return ImageBytes(inflated.path, inflated.add(data.pieces(), ALIGNMENT), len(data))
