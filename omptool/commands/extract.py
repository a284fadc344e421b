# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool extract`: device images to files of their own."""

from __future__ import annotations

from pathlib import Path

import click

from omptool.console import echo, shown
from omptool.errors import reported
from omptool.options.paths import FOLDER, INPUT
from omptool.options.wanted import wanted_options


@click.command()
@click.argument("file", type=INPUT)
@click.option(
    "--image", "indices", multiple=True, type=click.IntRange(0), metavar="N", help="Image N."
)
@wanted_options
@click.option("--all", "everything", is_flag=True, help="Every image.")
@click.option("--kernels", is_flag=True, help="List the images' kernels; write nothing.")
@click.option(
    "-o",
    "--output",
    "folder",
    type=FOLDER,
    default=Path(),
    metavar="DIR",
    help="The folder to write to, made if it is missing (default: the current one).",
)
@click.option("--wide", "is_wide", is_flag=True, help="With --kernels, show raw names, too.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def command(
    ctx: click.Context,
    file: Path,
    indices: tuple[int, ...],
    triples: tuple[str, ...],
    archs: tuple[str, ...],
    kinds: tuple[str, ...],
    patterns: tuple[str, ...],
    everything: bool,
    kernels: bool,
    folder: Path,
    is_wide: bool,
    as_json: bool,
) -> None:
    """Write device images of FILE, inflated, to files of their own, and print their names.

    An image must match one value of each given option. Without any option, FILE must hold one
    image.

    Exits 1 when no image matches, 2 when FILE cannot be read or is malformed; readable images are
    still written.
    """
    from omptool.render.extract import extract_json, kernels_text
    from packager.questions.wanted import Wanted
    from packager.triples import normalise
    from packager.writers.extract import extract

    if everything and (indices or triples or archs or kinds or patterns):
        raise click.UsageError("--all selects every image: leave out the other selections.")
    with reported(file):
        named = tuple(normalise(triple) for triple in triples)
        wanted = Wanted(indices, named, archs, kinds, patterns, is_all=everything or kernels)
        done, faults = extract(file, wanted, None if kernels else folder)
    if as_json:
        echo(extract_json(file, done))
    elif kernels:
        echo(kernels_text(done, is_wide=is_wide))
    else:
        echo("\n".join(shown(one.path) for one in done if one.path))
    for path, fault in faults:
        echo(f"Error: {shown(path)}: {fault}", err=True)
    ctx.exit(2 if faults else 0)
