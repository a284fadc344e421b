# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool stats`: a trace as tables of sums, and what grew since an earlier trace."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from omptool.console import echo, shown
from omptool.errors import reported
from omptool.options.paths import INPUT
from packager.errors import UsageError

if TYPE_CHECKING:
    from packager.questions.statistics import Statistics


@click.command()
@click.argument("trace", type=INPUT)
@click.option("--against", type=INPUT, metavar="OLD", help="Show what changed since the trace OLD.")
@click.option(
    "--tolerance",
    type=click.FloatRange(min=0, max=1e6),
    metavar="PERCENT",
    help="With --against: growth that is allowed.  [default: 0]",
)
@click.option("--wide", is_flag=True, help="Show all columns, and names of any length.")
@click.option("--csv", "as_csv", is_flag=True, help="Print all tables as one in CSV.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def command(
    ctx: click.Context,
    trace: Path,
    against: Path | None,
    tolerance: float | None,
    wide: bool,
    as_csv: bool,
    as_json: bool,
) -> None:
    """Show what the regions, kernels, copies and waits of TRACE took and moved.

    TRACE is what `omptool run --trace` writes, in either format, or - for standard input. With
    --against the command shows the constructs whose launches, copies, bytes or fallbacks differ
    from those of OLD; times are not compared. Lines that moved make no difference.

    Exits 0; 1 with --against when one of them grew by more than --tolerance; 2 when a trace cannot
    be read or is malformed.
    """
    if as_csv and (as_json or against):
        raise click.UsageError("--csv excludes --json and --against.")
    if tolerance is not None and against is None:
        raise click.UsageError("--tolerance needs --against.")
    if against is not None:
        ctx.exit(_compare(trace, against, tolerance or 0.0, as_json))
    found, notes = _read(trace)
    from omptool.render import statistics
    from omptool.render.names import terminal_width

    if as_json:
        echo(statistics.as_json(trace, found, notes))
    elif as_csv:
        echo(statistics.as_csv(found))
    else:
        echo(statistics.as_text(found, None if wide else terminal_width()))


def _compare(trace: Path, against: Path, tolerance: float, as_json: bool) -> int:
    """Print the differences; return the exit code."""
    with reported(trace):
        if trace == against:
            raise UsageError("is compared with itself")
    old, _ = _read(against)
    new, _ = _read(trace)
    from omptool.render import statistics
    from packager.gates import grown

    differences, totals = grown.differences(old, new), grown.totals(old, new)
    if as_json:
        echo(statistics.differences_json(against, trace, differences, totals, tolerance))
    else:
        echo(statistics.differences_text(differences, totals, tolerance))
    if line := statistics.grown_text(differences, tolerance):
        echo(f"Error: {shown(trace)}: {line}", err=True)
        return 1
    return 0


def _read(trace: Path) -> tuple[Statistics, list[str]]:
    """Return the sums of a trace and notes on missing events; print the notes on stderr."""
    from omptool.progress import progress
    from packager.questions.statistics import statistics
    from packager.traces.load import load

    with reported(trace), progress(trace) as bar:
        loaded = load(trace, bar.seen)
        found = statistics(loaded)
    for note in loaded.notes:
        echo(f"Note: {shown(trace)}: {note}", err=True)
    return found, list(loaded.notes)
