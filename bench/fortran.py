# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compare Fortran's loops on the CPU device with the same loops by flang's OpenMP on the host.

Usage: python bench/fortran.py [--runs 10] [--threads N]

A saxpy and a stencil by flang 22. The device's code is bitcode, into which `omptool cc` joins the
device runtime. Both programs run in turn; the ratio is that of the best times. `taskset -c 0` and
`--threads 1` leave one processor to both, so that only their code counts.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

from measure import in_turn
from tabulate import tabulate

SOURCE = Path(__file__).parent / "fortran.F90"
FLANG = "flang-22"
FLAGS = ("-O3", "-fopenmp")
LIBOMP = "-L/usr/lib/llvm-19/lib"
OFFLOADING = "-fopenmp-targets=x86_64-pc-linux-gnu"
MOST = "1.3"


class Loop(NamedTuple):
    """Figures that a run prints of a loop."""

    seconds: float
    checksum: str


def main() -> None:
    """Compile, measure, print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    if shutil.which(FLANG) is None:
        sys.exit(f"{FLANG} is not here")
    threads = {"OMP_NUM_THREADS": str(options.threads)}
    with tempfile.TemporaryDirectory() as folder:
        device, host = Path(folder, "device"), Path(folder, "host")
        compile_by("omptool", "cc", "--cc", FLANG, "--", *FLAGS, OFFLOADING, out=device)
        compile_by(FLANG, *FLAGS, "-DHOST", out=host)
        on_device = partial(loops, ["omptool", "run", "--mandatory", str(device)], threads)
        on_host = partial(loops, [str(host)], {**threads, "OMP_TARGET_OFFLOAD": "DISABLED"})
        found = in_turn(options.runs, on_device, on_host)
    rows = [row(name, *([run[name] for run in runs] for runs in found)) for name in found[0][0]]
    headers = ("loop", "device ms", "host ms", "device / host", "asked for")
    print(f"best of {options.runs}, {options.threads} threads")
    print(tabulate(rows, headers=headers, disable_numparse=True))


def compile_by(*command: str, out: Path) -> None:
    """Compile the loops by a command. Raises SystemExit when it fails."""
    words = [*command, str(SOURCE), LIBOMP, "-o", str(out)]
    if subprocess.run(words, check=False).returncode != 0:
        sys.exit(f"failed: {' '.join(words)}")


def loops(command: list[str], environment: Mapping[str, str]) -> dict[str, Loop]:
    """Run a program, and return the figures of each loop. Raises CalledProcessError."""
    done = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, check=True, env=os.environ | environment
    )
    words = [line.split() for line in done.stdout.splitlines()]
    return {name: Loop(float(seconds), checksum) for name, seconds, checksum in words}


def row(name: str, device: list[Loop], host: list[Loop]) -> tuple[str, ...]:
    """Return a row of the table. Raises SystemExit when the results differ."""
    if len({run.checksum for run in (*device, *host)}) > 1:
        sys.exit(f"{name}: device and host disagree")
    ours, theirs = (min(run.seconds for run in runs) for runs in (device, host))
    return (name, f"{ours * 1e3:.3f}", f"{theirs * 1e3:.3f}", f"{ours / theirs:.2f}", MOST)


if __name__ == "__main__":
    main()
