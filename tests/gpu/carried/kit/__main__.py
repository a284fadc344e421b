# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Test the kit's runtime on this machine's GPU. docs/gpus.md explains each line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from kit import conformance, faults, figures, observing, programs
from kit.machine import Machine, look
from kit.report import Report

NO_GPU = 77
PARTS: dict[str, Callable[[Machine, Report], None]] = {
    "conformance": conformance.run,
    "programs": programs.run,
    "observing": observing.run,
    "faults": faults.run,
    "figures": figures.run,
}
PLUGINS = ("cuda", "opencl", "liboffload")
OF_EVERY_PLUGIN = ("conformance", "programs")  # the others are about NVIDIA's driver


def main() -> int:
    """Run the parts; the exit code."""
    parser = argparse.ArgumentParser(
        prog="test-gpu",
        description=__doc__,
        epilog=f"Exits 0 when all held, 1 when something did not, {NO_GPU} without a GPU.",
    )
    parser.add_argument("--part", action="append", choices=PARTS, help="only this (repeatable)")
    parser.add_argument("--only", metavar="TEXT", default="", help="only tests with TEXT in them")
    parser.add_argument(
        "--results", metavar="FOLDER", type=Path, default=Path("gpu-results"), help="written here"
    )
    parser.add_argument(
        "--driver", metavar="FOLDER", type=Path, help="has the libcuda.so.1 that is used"
    )
    parser.add_argument(
        "--plugin",
        action="append",
        choices=PLUGINS,
        help="only this (repeatable; default: cuda, opencl)",
    )
    options = parser.parse_args()
    machine = look(Path(__file__).parents[1], options.driver, options.plugin or PLUGINS[:2])
    if not machine.plugins:
        why = "; ".join(machine.why_no_plugin.values())
        print(f"test-gpu: nothing was tested, there is no GPU here: {why}")
        return NO_GPU
    report = Report(options.results, machine, options.only)
    for part in options.part or (PARTS if "cuda" in machine.asked else OF_EVERY_PLUGIN):
        report.begin(part)
        PARTS[part](machine, report)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
