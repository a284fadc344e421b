# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Count the modules that commands on small files import, and the time that this takes.

Usage: python bench/imports.py [--runs 5] [--modules COMMAND]

With --modules, print the modules of one command, the slowest first.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from shutil import which

from tabulate import tabulate

from build import TRIPLE, Inputs

# Most modules of each command, Python's own included.
COMMANDS = {
    "--version": (["--version"], 90),
    "dump": (["dump", "saxpy.o"], 230),
    "extract": (["extract", "saxpy.o", "-o", "images"], 230),
    "emit": (["emit", "--image", f"{TRIPLE}=image.so", "-o", "out"], 240),
    "bundle": (["bundle", "host.o", "--image", f"{TRIPLE}=image.so", "-o", "out"], 240),
    "edit": (["edit", "app", "--replace", "0=image.so", "-o", "out"], 310),
    "run": (["run", "/bin/true"], 130),
}
Times = dict[str, int]  # microseconds of each module, without those that it imports


def main() -> None:
    """Build the inputs, run the commands, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--modules", choices=COMMANDS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        Inputs(work, "19")
        if options.modules:
            found = least(work, COMMANDS[options.modules][0], options.runs)
            for name in sorted(found, key=lambda name: -found[name]):
                print(f"{found[name]:6} {name}")
            return
        rows = []
        for name, (words, most) in COMMANDS.items():
            found = least(work, words, options.runs)
            rows.append((name, len(found), most, f"{sum(found.values()) / 1000:.1f}"))
    headers = ("command", "modules", "at most", "ms")
    print(tabulate(rows, headers=headers, tablefmt="github", disable_numparse=True))
    if any(count > most for _, count, most, _ in rows):
        sys.exit("a command imports more modules than it may")


def least(work: Path, words: list[str], runs: int) -> Times:
    """Return the least time of each module in several runs, after one to warm up."""
    found = [times(work, words) for _ in range(runs + 1)][1:]
    return {name: min(one.get(name, found[0][name]) for one in found) for name in found[0]}


def times(work: Path, words: list[str]) -> Times:
    """Return the modules that a command imports."""
    program = which("omptool")
    if program is None:
        sys.exit("there is no omptool on PATH")
    command = [sys.executable, "-X", "importtime", program, *words]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        command, cwd=work, env=environment, capture_output=True, text=True, check=True
    )
    rows = (line.removeprefix("import time:").split("|") for line in done.stderr.splitlines())
    fields = ([part.strip() for part in row] for row in rows if len(row) == 3)
    return {name: int(own) for own, _, name in fields if own.isdigit()}


if __name__ == "__main__":
    main()
