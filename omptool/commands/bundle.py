"""`omptool bundle`: device images into a host object file."""

from __future__ import annotations

from pathlib import Path

import click

from omptool.errors import reported
from omptool.options.dependencies import dependency_options, rule, rule_path
from omptool.options.paths import FILE, check_distinct
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
@click.argument("host", type=FILE)
@wrapping_options(
    "Entries: `auto`, what the images and HOST define under one name; or a file, one name a "
    "line. Without it, HOST's own table (see omptarget.h)."
)
@dependency_options
def command(
    host: Path,
    images: tuple[str, ...],
    entries: str | None,
    abi: str,
    force: bool,
    out: Path,
    rule_beside: Path | None,
    rule_file: Path | None,
) -> None:
    """Put device images into the relocatable object HOST and write it to OUT.

    OUT links as HOST did, with -lomptarget added, and registers its images before any constructor
    runs. It is checked as `omptool verify` does before it takes its place.

    Exits 0 when OUT was written, 1 when it was found wanting and not written, 2 for wrong usage
    or an unfit input.
    """
    with reported(host):
        from packager.writers.bundle import bundle, parse_request

        requests = [parse_request(image) for image in images]
        warn_of_triples(requests)
        inputs = [host, *(request.path for request in requests), *entry_list(entries)]
        dependencies = rule_path(rule_beside, rule_file, out)
        check_distinct([out] if dependencies is None else [out, dependencies], inputs)
        source = entry_source(entries)
        with rule(dependencies, out, inputs), progress(inputs) as copied:
            findings = bundle(
                host, requests, source, out, abi=written_abi(abi, host), force=force, copied=copied
            )
    report(out, findings)
