# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measure what the checker costs: stencil, n-body, and regions of 50 microseconds.

Usage: python bench/check.py [--runs 7]

Each program runs as `omptool run --check` and `--check=full` start it and without, in turn; a ratio
is the median of the ratios of neighbouring runs.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median

from applications import SIZES, SOURCES
from launch import CLANG_19, Figures, Program, show
from measure import in_turn

from omptool.installation import libdir
from omptool.probes.launching import HEAP
from omptool.probes.reports import finding_report

REGIONS = Path(__file__).parent / "region50us.c"


def main() -> None:
    """Compile, measure, print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=7)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        into = Path(folder)
        programs: list[tuple[Path, str, Sequence[int], dict[str, str]]] = [
            (REGIONS, "regions", (), {"events": "", "full": "0.20"})
        ]
        for name in ("stencil", "nbody"):
            programs += [
                (SOURCES / f"{name}.c", name, size, {"events": "0.90", "full": ""})
                for size in SIZES[name]
            ]
        rows = [
            row(Program.compile(CLANG_19, into, source), name, size, level, asked_for, runs)
            for source, name, size, levels in programs
            for level, asked_for in levels.items()
        ]
    show("the checker: clang 19", ("what", "without", "with", "ratio", "asked for"), rows)


@contextmanager
def asking(level: str) -> Iterator[dict[str, str]]:
    """Return the environment of a program that is checked."""
    with finding_report.made(level) as report:
        yield {finding_report.VARIABLE: report.path, "LD_PRELOAD": str(libdir() / HEAP)}


def row(
    program: Program, name: str, size: Sequence[int], level: str, asked_for: str, runs: int
) -> tuple[str, ...]:
    """Return the first speed of a program under the checker, as a part of that without."""

    def checked() -> Figures:
        with asking(level) as environment:
            return program.on_ours(*size, **environment)

    without, with_it = in_turn(runs, partial(program.on_ours, *size), checked)
    speed = next(key for key in without[0] if key.endswith("/s"))
    ratio = median(b[speed] / a[speed] for a, b in zip(without, with_it, strict=True))
    return (
        f"{' '.join(map(str, (name, *size)))}, {level}: {speed}",
        *(f"{median(run[speed] for run in side):.0f}" for side in (without, with_it)),
        f"{ratio:.3f}",
        asked_for,
    )


if __name__ == "__main__":
    main()
