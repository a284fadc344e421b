"""`omptool bundle`: device images into a host object file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from omptool.errors import reported
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
from packager.errors import UsageError


@click.command()
@click.argument("host", type=FILE)
@wrapping_options(
    "Entries: `auto`, what the images and HOST define under one name; or a file, one name a "
    "line. Without it, HOST's own table (see omptarget.h)."
)
@click.option(
    "-MD", "dependencies", type=FILE, metavar="FILE",
    help="Write a make rule that names everything OUT was made from.",
)  # fmt: skip
def command(
    host: Path,
    images: tuple[str, ...],
    entries: str | None,
    abi: str,
    force: bool,
    out: Path,
    dependencies: Path | None,
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
        check_distinct([out] if dependencies is None else [out, dependencies], inputs)
        source = entry_source(entries)
        with _rule(dependencies, out, inputs), progress(inputs) as copied:
            findings = bundle(
                host, requests, source, out, abi=written_abi(abi, host), force=force, copied=copied
            )
    report(out, findings)


@contextmanager
def _rule(path: Path | None, out: Path, inputs: Sequence[Path]) -> Iterator[None]:
    """The make rule is there once the block has succeeded, as OUT is."""
    if path is None:
        yield
        return
    from packager.files.replacing import replacing

    if "%" in str(out):
        raise UsageError("its name has a %, and make would take that for a pattern", out)
    target, *sources = map(_escaped, (out, *inputs))
    with replacing(path) as temporary:
        temporary.write_bytes(b"%s: %s\n" % (target, b" ".join(sources)))
        yield


def _escaped(path: Path) -> bytes:
    """As make reads it, in bytes. Raises UsageError for what it cannot read."""
    name = os.fsencode(path)
    if b"\n" in name:
        raise UsageError("its name has a line break, and no make rule can say it", path)
    return re.sub(rb"(\\*)([ \t#])", rb"\1\1\\\2", name.replace(b"$", b"$$"))
