# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run tests/programs/applications on the bundled runtime beside LLVM 19's and 22's own.

Usage: python bench/applications.py [--runs 7] [--application NAME]...

Each at two sizes, one where the cost of a construct shows and one where its work does. Both
runtimes run the same program in turn; a ratio is the median of the ratios of neighbouring runs.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import median

from launch import CLANG_19, CLANG_22, Figures, Program, show
from measure import in_turn

SOURCES = Path(__file__).parent.parent / "tests" / "programs" / "applications"
# Elements and repetitions; rows, columns and steps; bodies and steps.
SIZES: dict[str, tuple[tuple[int, ...], ...]] = {
    "stream": ((1 << 14, 2000), (1 << 24, 10)),
    "stencil": ((32, 64, 3000), (1000, 2000, 60)),
    "nbody": ((50, 2000), (3000, 20)),
}


def main() -> None:
    """Compile, measure, print a table for each compiler."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--application", choices=SIZES, action="append")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for compiler in (CLANG_19, CLANG_22):
            if not compiler.command.exists():
                print(f"clang-{compiler.version} is not here", file=sys.stderr)
                continue
            rows = []
            for name in options.application or SIZES:
                program = Program.compile(compiler, Path(folder), SOURCES / f"{name}.c")
                for size in SIZES[name]:
                    rows += beside_llvm(program, name, size, options.runs)
            title = f"applications: clang {compiler.version}, millions a second"
            headers = ("what", "ours", f"LLVM {compiler.version}", "times as fast", "asked for")
            show(title, headers, rows)


def beside_llvm(
    program: Program, application: str, size: tuple[int, ...], runs: int
) -> list[tuple[str, ...]]:
    """Compare the speeds of our runtime and LLVM's: return a table row for each figure.

    Raises SystemExit if the results differ.
    """
    ours, llvm = in_turn(runs, partial(program.on_ours, *size), partial(program.on_llvm, *size))
    rows: list[tuple[str, ...]] = []
    for name in ours[0]:
        if not name.endswith("/s"):
            if {run[name] for run in (*ours, *llvm)} != {ours[0][name]}:
                sys.exit(f"{application}: {name} is not the same in all runs")
            continue
        what = f"{application} {' '.join(map(str, size))}: {name.removesuffix('/s')}"
        ratio = median(a[name] / b[name] for a, b in zip(ours, llvm, strict=True))
        rows.append((what, speed(ours, name), speed(llvm, name), f"{ratio:.2f}", "1"))
    return rows


def speed(runs: Sequence[Figures], name: str) -> str:
    """Return the median speed, in millions."""
    return f"{median(run[name] for run in runs) / 1e6:.1f}"


if __name__ == "__main__":
    main()
