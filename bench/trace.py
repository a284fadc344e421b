# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measure what a trace costs: an event, and the stencil and n-body applications.

Usage: python bench/trace.py [--runs 7]

Each program runs with OMPTOOL_TRACE and without in turn. The cost of an event is the difference in
the time of a loop of small regions, divided by the number of its events: of a long loop, in which
the trace is written, and of short bursts, which tell what the program's own thread spends. A ratio
is the median of the ratios of neighbouring runs.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import median

from applications import SIZES, SOURCES
from launch import CLANG_19, Figures, Program, show
from measure import in_turn

LAUNCH = Path(__file__).parent / "launch.c"
BURST = LAUNCH.with_name("burst.c")
EVENTS = 8  # events per region: allocate, map, copy to, kernel, unmap, copy back, free, target


def main() -> None:
    """Compile, measure, print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=7)
    runs = parser.parse_args().runs
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for form in ("json", "pftrace"):
            rows += [event(Path(folder), form, runs), burst(Path(folder), form, runs)]
            for name in ("stencil", "nbody"):
                program = Program.compile(CLANG_19, Path(folder), SOURCES / f"{name}.c")
                rows += [
                    application(program, name, size, Path(folder), form, runs)
                    for size in SIZES[name]
                ]
    show("a trace: clang 19", ("what", "without", "with", "cost", "asked for"), rows)


def both(
    program: Program, arguments: Sequence[object], folder: Path, form: str, runs: int
) -> tuple[list[Figures], list[Figures], Path]:
    """Return the figures without a trace and with one, and the trace."""
    trace = folder / f"trace.{form}"

    def traced() -> Figures:
        trace.unlink(missing_ok=True)
        return program.on_ours(*arguments, OMPTOOL_TRACE=str(trace), OMPTOOL_TRACE_LIMIT="100000")

    without, with_it = in_turn(runs, partial(program.on_ours, *arguments), traced)
    return without, with_it, trace


def application(
    program: Program, name: str, size: Sequence[int], folder: Path, form: str, runs: int
) -> tuple[str, ...]:
    """Return a row: the first speed of an application with a trace, as a part of that without."""
    without, with_it, _ = both(program, size, folder, form, runs)
    speed = next(key for key in without[0] if key.endswith("/s"))
    ratio = median(b[speed] / a[speed] for a, b in zip(without, with_it, strict=True))
    what = f"{name} {' '.join(map(str, size))}, {form}: speed"
    return (
        what,
        *(f"{median(run[speed] for run in side) / 1e6:.1f} M/s" for side in (without, with_it)),
        f"{ratio:.3f}",
        "0.95",
    )


def event(folder: Path, form: str, runs: int) -> tuple[str, ...]:
    """Return a row: the nanoseconds that an event adds to a region that maps 64 bytes."""
    program = Program.compile(CLANG_19, folder, LAUNCH)
    without, with_it, trace = both(program, ("constructs",), folder, form, runs)
    name = "map-64B"
    cost = median((b[name] - a[name]) / EVENTS for a, b in zip(without, with_it, strict=True))
    size = trace.stat().st_size
    return (
        f"an event of a region, {form} ({size >> 20} MiB)",
        *(f"{median(run[name] for run in side):.0f} ns a region" for side in (without, with_it)),
        f"{cost:.0f} ns",
        "100 ns",
    )


def burst(folder: Path, form: str, runs: int) -> tuple[str, ...]:
    """Return a row: the nanoseconds that an event adds, from the fastest burst of all runs."""
    program = Program.compile(CLANG_19, folder, BURST)
    sides = both(program, (), folder, form, runs)[:2]
    least = [min(run["region-ns"] for run in side) for side in sides]
    return (
        f"an event of a region, {form}, fastest burst",
        *(f"{time:.0f} ns a region" for time in least),
        f"{(least[1] - least[0]) / EVENTS:.0f} ns",
        "100 ns",
    )


if __name__ == "__main__":
    main()
