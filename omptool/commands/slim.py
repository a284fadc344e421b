# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool slim`: only the device code stays that the named GPUs need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from omptool.console import echo, shown
from omptool.errors import reported
from omptool.options.paths import FILE, FILE_OR_FOLDER
from omptool.progress import current

if TYPE_CHECKING:
    from packager.slimming.paths import Result
    from packager.slimming.request import Request


@click.command()
@click.argument("paths", nargs=-1, required=True, type=FILE_OR_FOLDER, metavar="FILE|DIR...")
@click.option(
    "--keep",
    "keep",
    multiple=True,
    metavar="ARCH,…",
    help="Keep the code for these architectures, as sm_90 or gfx90a:xnack- (repeatable).",
)
@click.option(
    "--device",
    "devices",
    multiple=True,
    metavar="this|N|FILE",
    help="Keep the code for all GPUs of this machine, for device N, or for those in FILE, the "
    "output of `omptool devices --json` (repeatable).",
)
@click.option("--keep-ptx", is_flag=True, help="Keep PTX also where a cubin serves each kept GPU.")
@click.option("--zero", is_flag=True, help="Overwrite by zeros; the file keeps its size.")
@click.option("-o", "--output", "out", type=FILE, metavar="OUT", help="The file to write.")
@click.option("--in-place", is_flag=True, help="Replace each FILE, and the files in each DIR.")
@click.option("--dry-run", is_flag=True, help="Write nothing; print the same table.")
@click.option("--wide", is_flag=True, help="Show names of any length.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def command(
    ctx: click.Context,
    paths: tuple[Path, ...],
    keep: tuple[str, ...],
    devices: tuple[str, ...],
    keep_ptx: bool,
    zero: bool,
    out: Path | None,
    in_place: bool,
    dry_run: bool,
    wide: bool,
    as_json: bool,
) -> None:
    """Remove the device code of FILE that the named GPUs do not need.

    FILE is an executable, a library, an object, an archive, a fat binary, a wheel or a Debian
    package; the files in a DIR are slimmed in place. The code that a kept GPU loads stays, by the
    rules of its vendor's runtime. `omptool dump --summary FILE` shows what is in a file.

    Exits 0; 1 where a kept GPU would be left without code that others have: that file is not
    written; 2 for wrong usage or an unfit input; 3 when this machine has no GPU to keep code for.
    """
    _check_usage(paths, out, in_place=in_place, dry_run=dry_run)
    with reported("slim"):
        from omptool.probes.kept import kept_devices
        from packager.slimming.request import Request

        request = Request(kept_devices(keep, devices), keep_ptx, zero, dry_run)
    results = list(_slim_all(paths, out, request))
    from omptool.render import slim
    from omptool.render.names import terminal_width

    if as_json:
        echo(slim.as_json(request, results))
    else:
        echo(slim.as_text(results, None if wide else terminal_width(), is_dry=dry_run))
    for path, line in slim.notes(results):
        echo(f"Note: {shown(path)}: {shown(line)}", err=True)
    faults = [line for result in results for line in result.lacking]
    for line in faults:
        echo(f"Error: {shown(line)}", err=True)
    ctx.exit(1 if faults else 0)


def _check_usage(paths: Sequence[Path], out: Path | None, *, in_place: bool, dry_run: bool) -> None:
    if out is not None and in_place:
        raise click.UsageError("-o excludes --in-place.")
    if out is None and not in_place and not dry_run:
        raise click.UsageError("Nothing is to be written: give -o, --in-place or --dry-run.")
    if out is None:
        return
    if len(paths) > 1:
        raise click.UsageError("-o takes one FILE; --in-place takes several.")
    if paths[0].is_dir():
        raise click.UsageError(f"{paths[0]} is a folder: use --in-place, on a copy if need be.")
    with reported(out):
        if out.exists() and paths[0].exists() and out.samefile(paths[0]):
            raise click.UsageError(f"{out} is FILE itself: --in-place replaces it.")


def _slim_all(paths: Sequence[Path], out: Path | None, request: Request) -> Iterator[Result]:
    from packager.slimming.paths import slim, slim_folder, slim_in_place

    for path in paths:
        with reported(path), current() as line:
            if path.is_dir():
                yield from slim_folder(path, request, line.seen)
            else:
                line.seen(path)
                if out is None:
                    yield from slim_in_place(path, request)
                else:
                    yield slim(path, out, request)
