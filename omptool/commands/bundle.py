"""`omptool bundle`: device images into a host object file."""

from __future__ import annotations

from pathlib import Path

import click

from omptool.errors import reported
from omptool.wrapping import entry_source, report, wrapping_options


@click.command()
@click.argument("host", type=click.Path(path_type=Path))
@wrapping_options(
    "Entries: `auto`, what the images and HOST define under one name; or a file, one name a "
    "line. Without it, HOST's own table (see omptarget.h)."
)
@click.option(
    "-MD", "dependencies", type=click.Path(path_type=Path), metavar="FILE",
    help="Write a make rule that names everything OUT was made from.",
)  # fmt: skip
def command(
    host: Path,
    images: tuple[str, ...],
    entries: str | None,
    abi: str,  # one so far, checked by click
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
        findings = bundle(host, requests, entry_source(entries), out, force=force)
    report(out, findings)
    if dependencies:
        with reported(dependencies):
            _write_rule(dependencies, out, [host, *(request.path for request in requests)], entries)


def _write_rule(path: Path, out: Path, inputs: list[Path], entries: str | None) -> None:
    from packager.atomic import replacing

    if entries not in (None, "auto"):
        inputs = [*inputs, Path(str(entries))]
    names = " ".join(_escaped(name) for name in inputs)
    with replacing(path) as temporary:
        temporary.write_text(f"{_escaped(out)}: {names}\n")


def _escaped(path: Path) -> str:
    """As make reads it."""
    return str(path).replace("$", "$$").replace("#", r"\#").replace(" ", r"\ ")
