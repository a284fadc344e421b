"""`omptool emit`: the wrapper of device images as an object of its own."""

from __future__ import annotations

from pathlib import Path

import click

from omptool.errors import reported
from omptool.options.paths import check_distinct
from omptool.options.wrapper import (
    entry_list,
    entry_source,
    progress,
    report,
    warn_of_triples,
    wrapping_options,
    written_abi,
)


@click.command()
@wrapping_options(
    "Entries: `auto`, everything the images define; or a file, one name a line. Without it, the "
    "entry sections of the objects that OUT is linked with."
)
def command(
    images: tuple[str, ...],
    entries: str | None,
    abi: str,
    force: bool,
    out: Path,
) -> None:
    """Write an object that holds device images and registers them.

    Link OUT with the host's objects and -lomptarget; `omptool bundle` is the same in one object.

    Exits 0 when OUT was written, 1 when it was found wanting and not written, 2 for wrong usage
    or an unfit input.
    """
    with reported(out):
        from packager.writers.bundle import emit, parse_request

        requests = [parse_request(image) for image in images]
        warn_of_triples(requests)
        check_distinct([out], [*(request.path for request in requests), *entry_list(entries)])
        source = entry_source(entries)
        with progress(request.path for request in requests) as copied:
            findings = emit(
                requests, source, out, abi=written_abi(abi, None), force=force, copied=copied
            )
    report(out, findings)
