# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool edit`: the device images of a finished executable or library, changed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from omptool.console import echo, shown
from omptool.errors import reported
from omptool.options.paths import FILE, check_distinct
from omptool.options.wrapper import progress, report, warn_of_triples

if TYPE_CHECKING:
    from packager.editing.request import Change
    from packager.hosts.host_file import HostFile


@click.command()
@click.argument("file", type=FILE)
@click.option(
    "--add",
    "added",
    multiple=True,
    metavar="T[:ARCH]=IMAGE",
    help="Add an image for triple T, behind the others (repeatable).",
)
@click.option(
    "--replace",
    "replaced",
    multiple=True,
    metavar="N|T[:ARCH]=IMAGE",
    help="Put IMAGE in the place of image N, or of the one for T (repeatable).",
)
@click.option(
    "--remove",
    "removed",
    multiple=True,
    metavar="N|T[:ARCH]",
    help="Remove image N, or the one for T; of CUDA's, HIP's and SYCL's images all for T "
    "(repeatable).",
)
@click.option(
    "--order",
    metavar="N,N,…",
    help="All images in their new order; added images have the numbers after the last.",
)
@click.option(
    "--descriptor",
    type=click.IntRange(0),
    metavar="N",
    help="The descriptor to change, where FILE has several.",
)
@click.option("--force", is_flag=True, help="Write OUT even if verify finds an error.")
@click.option(
    "-o", "--output", "out", type=FILE, required=True,
    metavar="OUT", help="The file to write; may be FILE, which is then replaced at the end.",
)  # fmt: skip
def command(
    file: Path,
    added: tuple[str, ...],
    replaced: tuple[str, ...],
    removed: tuple[str, ...],
    order: str | None,
    descriptor: int | None,
    force: bool,
    out: Path,
) -> None:
    """Change the device images of FILE, an executable or shared library, and write it to OUT.

    N is an image's number in `omptool dump`. All else in FILE stays where it is; the build-id is a
    new one. `omptool verify` checks OUT before it takes its place. Of CUDA's, HIP's and SYCL's
    images, --remove alone works: their containers get shorter, and so does the file.

    Exits 0 when OUT was written, 1 when verify finds an error in it (OUT is not written), 2 for
    wrong usage or an unfit input.
    """
    with reported(file):
        from omptool.probes import own_formats
        from packager.files.checksums import Checksums
        from packager.files.reader import OpenFiles
        from packager.hosts.host_file import open_host

        change = _change(added, replaced, removed, order, descriptor)
        warn_of_triples(change.added)
        images = [request.path for request in change.added]
        images += [replacement.path for replacement in change.replaced]
        check_distinct([out], images)
        with (
            open_host(file) as host, OpenFiles() as files, Checksums(files, images) as sums,
            progress([file, *images]) as copied,
        ):  # fmt: skip
            if _is_of_container(host, change):
                from packager.slimming.removing import remove

                edited = remove(host, change, out, force=force, copied=copied)
            else:
                from packager.editing.edit import edit

                judged = partial(own_formats.with_plugins, file, files=files, force=force)
                edited = edit(
                    host, change, out, files, sums, judged=judged, force=force, copied=copied
                )
    report(out, edited.findings)
    for note in edited.notes:
        echo(f"Note: {shown(out)}: {note}", err=True)


def _is_of_container(host: HostFile, change: Change) -> bool:
    """Return whether a change removes images of containers that no descriptor lists."""
    if host.binary.descriptors and not change.removed:
        return False
    from packager.slimming.removing import takes  # slow to load

    return takes(host, change)


def _change(
    added: Sequence[str],
    replaced: Sequence[str],
    removed: Sequence[str],
    order: str | None,
    descriptor: int | None,
) -> Change:
    from packager.editing.request import Change, parse_named, parse_order, parse_replacement
    from packager.writers.requests import parse_request

    change = Change(
        [parse_request(text) for text in added],
        [parse_replacement(text) for text in replaced],
        [parse_named(text) for text in removed],
        None if order is None else parse_order(order),
        descriptor,
    )
    if change.is_empty:
        raise click.UsageError("Nothing to do: give --add, --replace, --remove or --order.")
    return change
