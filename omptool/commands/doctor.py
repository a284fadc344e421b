"""`omptool doctor`: what will happen to a program's regions on this machine, and why."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from omptool.console import echo
from omptool.errors import reported
from omptool.options.paths import FILE
from omptool.probes.ask import ImageBytes
from packager.errors import FormatError
from packager.files.reader import Reader

if TYPE_CHECKING:
    from packager.hosts.load import Loaded

# What code that reads images may expect of their address, as of a program's own.
ALIGNMENT = 8


@click.command()
@click.argument("program", type=FILE, metavar="PROG")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def command(ctx: click.Context, program: Path, as_json: bool) -> None:
    """Predict where each region of PROG will run on this machine, and say why.

    Looks at PROG, at the libraries that the loader would pick and their regions, at the plugins and
    devices that are there and at the environment. Nothing of PROG is run. The prediction is for
    `omptool run`; what PROG does when it is started by itself, on the runtime that the loader
    picks, is said beside it. For programs of GCC's, which need no libomptarget, it is for libgomp.
    Of images for CUDA's, HIP's or SYCL's runtime it says what that needs, and whether a device
    takes them.

    Exits 0 when every entry is used on a device, 1 when one is not, 2 when PROG cannot be read, 3
    when the plugins cannot be asked.
    """
    with reported(program):
        text, is_well = _diagnosed(program, as_json)
    echo(text)
    ctx.exit(0 if is_well else 1)


def _diagnosed(program: Path, as_json: bool) -> tuple[str, bool]:
    """What is said of the program, and whether all of it is used on a device."""
    from omptool.probes import machine
    from omptool.render import doctor
    from packager.files.temporary import temporary_folder
    from packager.machine import other_runtimes
    from packager.machine.diagnosis import diagnose

    environment = dict(os.environ)
    parts = _Parts(program, environment)
    others = other_runtimes.registered(parts.whole.binary)
    with temporary_folder() as folder:
        images = [
            None if number in others else _placed(data, file, folder / str(number))
            for number, (data, file) in enumerate(parts.images)
        ]
        found, plugins = machine.probe(parts.whole.binary, program, images, environment)
    diagnosis = diagnose(parts.whole.binary, found)
    diagnosis = replace(diagnosis, findings=(*diagnosis.findings, *parts.findings))
    is_wanting = any(finding.severity == "error" for finding in diagnosis.findings)
    said = doctor.Said(parts.whole, parts.elsewhere, found, plugins, diagnosis)
    text = (doctor.as_json if as_json else doctor.as_text)(said)
    return text, diagnosis.offloads and not is_wanting


class _Parts:
    """The program, and the libraries with regions that the loader picks for it."""

    def __init__(self, program: Path, environment: dict[str, str]) -> None:
        from packager.machine.dynamic_loader import libraries
        from packager.machine.parts import Elsewhere, joined, looked_at
        from packager.model import Finding

        self._open: list[Iterator[Loaded]] = []  # whose bytes can be read until they go on
        main = self._read(program)
        if main.binary.type not in ("executable", "shared"):
            raise FormatError("is no program: doctor looks at executables and libraries")
        for unread in (*main.binary.faults, *main.binary.limits):
            raise FormatError(unread)
        read: list[Loaded] = []
        self.elsewhere: list[Elsewhere] = []
        self.findings: list[Finding] = []
        for library in reversed(libraries(program, environment)):
            offload = looked_at(library)
            if offload and library.path and offload.is_openmp:
                read += self._read_library(library.path)
            elif offload and library.path:
                self.elsewhere.append(Elsewhere(library.path, tuple(sorted(offload.others))))
        is_of_gcc = (main if main.binary.entries or not read else read[0]).binary.abi == "gcc"
        mine = [one for one in read if (one.binary.abi == "gcc") == is_of_gcc]
        for other in (one for one in read if one not in mine and one.binary.entries):
            whose = "libomptarget" if is_of_gcc else "libgomp"
            message = f"the regions of {other.binary.path} are {whose}'s, and are not among these"
            self.findings.append(Finding("OMP210", "info", message, "ask doctor of it, too"))
        self.whole = joined(main.binary, [one.binary for one in mine])
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


def _placed(data: Reader, file: Path, copy: Path) -> ImageBytes:
    """Where plugins can look at an image: in the file itself, or inflated in a copy."""
    from packager.files.temporary import store

    if data.is_stored and data.at % ALIGNMENT == 0:
        return ImageBytes(file, data.at, len(data))
    store(copy, data.pieces())
    return ImageBytes(copy, 0, len(data))
