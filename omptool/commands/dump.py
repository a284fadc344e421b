"""`omptool dump`: the device images, entries and descriptors in files."""

from __future__ import annotations

from pathlib import Path

import click

from omptool.console import echo
from omptool.reading import Files


@click.command()
@click.argument(
    "files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE..."
)
@click.option("--images", is_flag=True, help="Show the images.")
@click.option("--entries", is_flag=True, help="Show the entries and how they stand in each image.")
@click.option("--descriptors", is_flag=True, help="Show what is registered, and by what.")
@click.option("--hash", "hashed", is_flag=True, help="Add the SHA-256 of each image.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document, with everything.")
@click.pass_context
def command(
    ctx: click.Context,
    files: tuple[Path, ...],
    images: bool,
    entries: bool,
    descriptors: bool,
    hashed: bool,
    as_json: bool,
) -> None:
    """Show the device images, offload entries and descriptors in FILE....

    FILE is an object, executable, shared library, OffloadBinary or bare device image; stripped
    ones are read too. Kinds and archs are those of the images' bytes. Without --images,
    --entries or --descriptors all three are shown.

    Exits 0 also for a file without offload code, 2 when a file cannot be read or is malformed.
    """
    from omptool import render

    found = Files(files, hashed=hashed)
    if as_json:
        echo(render.dump_json(list(found), found.errors))
    else:
        everything = not (images or entries or descriptors)
        parts = render.Parts(images or everything, entries or everything, descriptors or everything)
        for number, binary in enumerate(found):
            echo(("\n" if number else "") + render.dump_text(binary, parts))
    ctx.exit(2 if found.failed else 0)
