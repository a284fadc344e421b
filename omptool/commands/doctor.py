"""`omptool doctor`: what will happen to a program's regions on this machine, and why."""

from __future__ import annotations

import os
from pathlib import Path

import click

from omptool.console import echo
from omptool.errors import reported
from omptool.options.paths import FILE
from omptool.probes.ask import ImageBytes
from packager.errors import FormatError
from packager.files.reader import Reader

# What code that reads images may expect of their address, as of a program's own.
ALIGNMENT = 8


@click.command()
@click.argument("program", type=FILE, metavar="PROG")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def command(ctx: click.Context, program: Path, as_json: bool) -> None:
    """Predict where each region of PROG will run on this machine, and say why.

    Looks at PROG, at the libraries that the loader would pick, at the plugins and devices that are
    there and at the environment. Nothing of PROG is run. The prediction is for `omptool run`; what
    PROG does when it is started by itself, on the runtime that the loader picks, is said beside it.
    For programs of GCC's, which need no libomptarget, it is for libgomp.

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
    from packager.hosts.load import load_all
    from packager.machine.diagnosis import diagnose

    members = load_all(program)  # what is open as long as it is not at its end
    loaded = next(members)
    if loaded.binary.type not in ("executable", "shared"):
        raise FormatError("is no program: doctor looks at executables and libraries")
    for unread in (*loaded.binary.faults, *loaded.binary.limits):
        raise FormatError(unread)
    with temporary_folder() as folder:
        file = Path(loaded.binary.file or program)
        images = [_placed(data, file, folder / str(n)) for n, data in enumerate(loaded.data)]
        found, plugins = machine.probe(loaded.binary, program, images, dict(os.environ))
    diagnosis = diagnose(loaded.binary, found)
    render = doctor.as_json if as_json else doctor.as_text
    is_wanting = any(finding.severity == "error" for finding in diagnosis.findings)
    return render(loaded.binary, found, plugins, diagnosis), diagnosis.offloads and not is_wanting


def _placed(data: Reader, file: Path, copy: Path) -> ImageBytes:
    """Where plugins can look at an image: in the file itself, or inflated in a copy."""
    from packager.files.temporary import store

    if data.is_stored and data.at % ALIGNMENT == 0:
        return ImageBytes(file, data.at, len(data))
    store(copy, data.pieces())
    return ImageBytes(copy, 0, len(data))
