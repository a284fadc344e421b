# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool doctor`: where the regions of a program run on this machine, and why."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
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
    from packager.hosts.load import Loaded
    from packager.machine.dynamic_loader import Library
    from packager.machine.facts import Diagnosis, GccRegions
    from packager.machine.host_regions import Left
    from packager.machine.region_run import RegionRun
    from packager.model import FatBinary, Finding, KernelArchives

# Alignment that plugins may expect of images, as in a program's own memory.
ALIGNMENT = 8
WRONG_USAGE = 2
# Functions by which programs choose a device, and by which they open libraries.
CHOOSING = ("omp_set_default_device", "omp_get_num_devices")
OPENING = ("dlopen", "dlmopen")
# Checks about other runtimes than omptool's, whose outcome doctor predicts itself.
OF_OTHER_RUNTIMES = ("OMP102", "OMP104", "OMP113", "OMP117")
TOLD_ANYWAY = ("OMP131",)  # already reported as OMP202


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
    from omptool.probes import machine
    from omptool.render.doctor import Said
    from packager.files.temporary import MemoryFile
    from packager.machine import other_runtimes
    from packager.machine.diagnosis import diagnose
    from packager.machine.facts import NOT_LOADED
    from packager.machine.kernel_archives import lacking

    environment = dict(os.environ)
    with ExitStack() as opened, MemoryFile("omptool images") as inflated:
        parts = _Parts(program, environment, opened)
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
    weighed = (_weighed(one, diagnosis) for one in parts.findings)
    archives = lacking(parts.archives, found.amd, environment)
    diagnosis = replace(
        diagnosis,
        findings=(*diagnosis.findings, *weighed, *archives),
        host_only=parts.left,
        of_gcc=parts.of_gcc,
        is_of_default=parts.chooses_device,
    )
    return Said(parts.whole, parts.elsewhere, found, plugins, diagnosis)


class _Parts:
    """The program, and its libraries with regions that the loader picks.

    A file of debug information alone has only this content.
    """

    of_gcc: tuple[GccRegions, ...] = ()
    left: tuple[Left, ...] = ()
    images: Sequence[tuple[Reader, Path]] = ()
    archives: tuple[KernelArchives, ...] = ()
    chooses_device = False

    def __init__(self, program: Path, environment: dict[str, str], opened: ExitStack) -> None:
        from omptool.probes import gcc_regions
        from packager.elf import headers
        from packager.hosts import kpack_archives
        from packager.machine.dynamic_loader import libraries
        from packager.machine.parts import Elsewhere, joined, looked_at
        from packager.machine.program import raised_rights, secured

        self._opened = opened  # closes the files
        self._members: list[Iterator[Loaded]] = []  # their bytes are readable until the next member
        data = self._open(program)
        main = self._read_program(program, data)
        read: list[Loaded] = []
        self.elsewhere: list[Elsewhere] = []
        self.findings: list[Finding] = []
        self.whole = joined(main.binary, [])
        if main.binary.is_debug_only:
            return
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
        self.findings += _errors([*read, main])
        if any(not _is_of_gcc(one.binary) for one in (*read, main)):
            self.of_gcc = gcc_regions.of_program(str(program), program, data, minded)
            *read, main = (_without_gcc(one) for one in (*read, main))
        self.whole = joined(main.binary, [one.binary for one in read])
        elsewhere = kpack_archives.of_libraries(one.path for one in self.elsewhere)
        self.archives = (*self.whole.binary.archives, *elsewhere)
        self.chooses_device = _import(CHOOSING, *read, main)
        self.findings += _opening(main)
        self.left = self._left(main, read, needed)
        self.findings += _causes(main, self.left, is_empty=self.whole.binary.is_empty)
        self.images = [image for one in (*read, main) for image in _images(one)]

    def _read_program(self, path: Path, data: Reader) -> Loaded:
        from packager.machine.program import is_script

        if is_script(data):
            raise FormatError(f"is a script: use `omptool doctor --run -- {shown(as_given(path))}`")
        main = self._read(path, data)
        _check_is_program(main, path)
        return main

    def _left(
        self, main: Loaded, read: Sequence[Loaded], needed: Sequence[Library]
    ) -> tuple[Left, ...]:
        """Return the files that show regions for the host alone, the program first."""
        from packager.machine.host_regions import Left, of_libraries

        seen = [(one.binary.path, one.binary.host_only) for one in (main, *read)]
        paths = {path for path, _ in seen}
        others = of_libraries(one for one in needed if str(one.path) not in paths)
        return (*(Left(path, cause) for path, cause in seen if cause and cause.is_shown), *others)

    def _read_library(self, path: Path) -> Iterator[Loaded]:
        """Yield the library; report parts that cannot be read as findings."""
        from packager.model import Finding

        try:
            loaded = self._read(path, self._open(path))
        except FormatError as error:
            faults: tuple[str, ...] = (str(error),)
        else:
            yield loaded
            faults = (*loaded.binary.faults, *loaded.binary.limits)
        for fault in faults:
            hint = "look at it with `omptool verify`"
            self.findings.append(Finding("OMP210", "warning", f"{path}: {fault}", hint))

    def _open(self, path: Path) -> Reader:
        from packager.files.reader import open_input
        from packager.look import WHOLE

        return self._opened.enter_context(open_input(path, WHOLE._replace(host_only=True)))

    def _read(self, path: Path, data: Reader) -> Loaded:
        from packager.hosts.load import load_open

        self._members.append(load_open(path, data))
        return next(self._members[-1])


def _images(part: Loaded) -> list[tuple[Reader, Path]]:
    """Return the bytes of a part's images, and the file that they are in."""
    return [(data, Path(part.binary.file or part.binary.path)) for data in part.data]


def _check_is_program(main: Loaded, program: Path) -> None:
    """Raise FormatError unless the file itself is a program that could be read whole."""
    from packager.hosts.windows import coff

    binary = main.binary
    if coff.probe(main.file):
        raise FormatError("is a PE or COFF file of Windows; doctor reads programs of Linux")
    is_program = binary.type in ("executable", "shared")
    if not is_program or binary.path != str(program):  # a member of an archive
        raise FormatError("is not a program; doctor reads executables and libraries")
    for unread in (*binary.faults, *binary.limits):
        raise FormatError(unread)


def _weighed(finding: Finding, diagnosis: Diagnosis) -> Finding:
    """Return the finding, as a warning if no device loads its image."""
    image = next((one for one in diagnosis.images if one.image.index == finding.image), None)
    is_elsewhere = finding.code in _checks() and image is not None and not image.devices
    return finding._replace(severity="warning") if is_elsewhere else finding


def _checks() -> tuple[str, ...]:
    """Return the codes of `verify` that hold under `omptool run`, too."""
    from packager import checks

    return tuple(code for code in checks.CHECKS if code not in (*OF_OTHER_RUNTIMES, *TOLD_ANYWAY))


def _is_of_gcc(binary: FatBinary) -> bool:
    """Return whether a file has parts for libgomp only, or none."""
    return binary.abi == "gcc" or not binary.has_parts


def _without_gcc(part: Loaded) -> Loaded:
    """Return the parts of a file for runtimes other than libgomp."""
    from packager.machine.gcc_runtime import without

    if not any(table.abi == "gcc" for table in part.binary.tables):
        return part
    binary = without(part.binary)
    return part._replace(binary=binary, data=part.data[: len(binary.images)])


def _errors(parts: Sequence[Loaded]) -> Iterator[Finding]:
    """Yield the errors of `verify`, with image numbers of the joined parts."""
    from packager import checks

    first = 0
    for number, part in enumerate(parts, 1):
        where = "" if number == len(parts) else f"{part.binary.path}: "
        for finding in checks.verify(part.binary, _checks()):
            if finding.severity == "error":
                image = None if finding.image is None else first + finding.image
                yield finding._replace(message=f"{where}{finding.message}", image=image, entry=None)
        first += len(part.binary.images)


def _import(names: tuple[str, ...], *parts: Loaded) -> bool:
    """Return whether one of the files imports a function with one of these names."""
    from packager.elf import imports

    return any(part.elf is not None and imports.called(part.elf, names) for part in parts)


def _opening(main: Loaded) -> Iterator[Finding]:
    """Yield a hint where the program may open libraries, which no prediction sees."""
    from packager.model import Finding

    if _import(OPENING, main):
        message = "the program may open libraries itself (dlopen), which this prediction lacks"
        yield Finding("OMP210", "info", message, "`omptool doctor --run` sees their regions")


def _causes(main: Loaded, left: Sequence[Left], *, is_empty: bool) -> Iterator[Finding]:
    """Yield which files have regions for the host alone, and why a program may have some."""
    from packager.model import Finding

    own = main.binary.host_only
    if own and is_empty and not own.is_shown:
        yield Finding("OMP211", "info", own.message, own.cure)
    for path, cause in left:
        where = "" if path == main.binary.path else f"{path}: "
        yield Finding("OMP211", "warning", f"{where}{cause.message}", cause.cure)


def _placed(data: Reader, file: Path, inflated: MemoryFile) -> ImageBytes:
    """Return where plugins can look at an image: in the file itself, or inflated in memory."""
    if data.is_stored and data.at % ALIGNMENT == 0:
        return ImageBytes(file, data.at, len(data))
    return ImageBytes(inflated.path, inflated.add(data.pieces(), ALIGNMENT), len(data))
