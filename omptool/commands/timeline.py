# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool timeline`: a trace as a page."""

from __future__ import annotations

from pathlib import Path

import click

from omptool.console import echo, shown
from omptool.errors import reported
from omptool.options.paths import FILE, INPUT, check_distinct


@click.command()
@click.argument("trace", type=INPUT)
@click.option(
    "-o",
    "--output",
    "out",
    type=FILE,
    required=True,
    metavar="OUT",
    help="The page to write, a file of HTML.",
)
def command(trace: Path, out: Path) -> None:
    """Write a page that shows what ran where and when in TRACE, and what moved.

    TRACE is what `omptool run --trace` writes, in either format, or Chrome's trace events from
    another program. OUT is one file: any browser shows it, without a network.

    Exits 0 when OUT was written, 2 when TRACE cannot be read or is malformed.
    """
    from omptool.timeline.writing import write

    with reported(trace):
        check_distinct([out], [trace])
        notes = write(trace, out, shown(trace.name))
    for note in notes:
        echo(f"Note: {shown(trace)}: {note}", err=True)
