# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Count the instructions of a construct, on the bundled runtime and on LLVM's.

Usage: python bench/instructions.py [--runs 3] [--clang 19] [--build DIR]

bench/launch.c, compiled by clang-19 and by clang-22 with -O2, repeats one construct on one thread
under `valgrind --tool=callgrind`, with two numbers of rounds. The difference of the two counts,
divided by that of the rounds, is the number of instructions of one construct. The start of a
program differs by up to 300,000 instructions, hence many rounds. A figure is the median of some
runs: where objects and stacks lie changes it, but other processes do not. Under valgrind the pool
of small device memory is refused its addresses, and each object comes from the C library: some 700
instructions of a map are malloc's.

With --build, a column has the counts of another build of ours, whose libraries are in that folder.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from launch import CLANG_19, CLANG_22, Compiler, Program
from tabulate import tabulate

from omptool.installation import libdir

FEW, MANY = 1000, 11000
COLLECTED = re.compile(r"^==\d+== Collected : (\d+)$", re.MULTILINE)
# The most instructions that each construct of clang 19 may take on ours.
BARS = {
    "empty": 740,
    "map-64B": 2800,
    "map-three": 6600,
    "present": 1120,
    "update-64B": 580,
}


def main() -> None:
    """Compile, count, print a table for each compiler."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--build", type=Path, help="compare with another build of the runtime")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--clang", type=int, choices=[19, 22], help="measure this one alone")
    options = parser.parse_args()
    if shutil.which("valgrind") is None:
        sys.exit("Error: no valgrind on PATH; Debian has it in the package valgrind")
    wanted = [one for one in (CLANG_19, CLANG_22) if options.clang in (None, one.version)]
    present = [one for one in wanted if one.command.exists()]
    for absent in set(wanted) - set(present):
        print(f"no clang {absent.version} at {absent.command}", file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        for compiler in present:
            show(Program.compile(compiler, Path(folder)), options.build, options.runs)


def show(program: Program, build: Path | None, runs: int) -> None:
    """Print the counts of one program: ours, LLVM's, and those of another build if there is one."""
    compiler = program.compiler
    searched = {"ours": compiler.path(libdir())}
    if build is not None:
        searched["other build"] = compiler.path(build)
    if has_runtime(compiler):
        searched[f"LLVM {compiler.version}"] = compiler.path()
    else:
        print(f"no libomptarget of LLVM {compiler.version}: not compared", file=sys.stderr)
    bars = BARS if compiler is CLANG_19 else {}
    rows = []
    for construct in BARS:
        counts = [
            round(median(one_construct(program, libraries, construct) for _ in range(runs)))
            for libraries in searched.values()
        ]
        rows.append((construct, *counts, bars.get(construct, "")))
    print(f"\nclang {compiler.version}, instructions of one construct\n")
    headers = ("construct", *searched, "at most")
    print(tabulate(rows, headers=headers, tablefmt="github"), flush=True)


def has_runtime(compiler: Compiler) -> bool:
    """Return whether a libomptarget of LLVM is beside that compiler."""
    return any(any(folder.glob("libomptarget.so*")) for folder in compiler.libraries)


def one_construct(program: Program, libraries: str, construct: str) -> float:
    """Return the instructions of one construct."""
    few, many = (collected(program, libraries, construct, rounds) for rounds in (FEW, MANY))
    return (many - few) / (MANY - FEW)


def collected(program: Program, libraries: str, construct: str, rounds: int) -> int:
    """Return the instructions of a whole run. Raises SystemExit when the run fails."""
    valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    command = [*valgrind, str(program.path), "repeat", construct, str(rounds)]
    environment = os.environ | {
        "LD_LIBRARY_PATH": libraries,
        "OMP_TARGET_OFFLOAD": "MANDATORY",
        "OMP_NUM_THREADS": "1",
    }
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    count = COLLECTED.search(done.stderr)
    if done.returncode != 0 or count is None:
        sys.exit(f"exit code {done.returncode}: {' '.join(command)}\n{done.stderr}")
    return int(count[1])


if __name__ == "__main__":
    main()
