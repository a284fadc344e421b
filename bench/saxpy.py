# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A saxpy by a portable kernel beside the same loop of gcc's.

Usage: python bench/saxpy.py [--elements 67108864] [--runs 11]

bench/saxpy.ll, lowered for this processor, and the loop in bench/saxpy.c, compiled by
`gcc -O3 -march=native -fopenmp`, run in turn in one process.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
from pathlib import Path

from tabulate import tabulate

from omptool.installation import includedir, libdir

HERE = Path(__file__).parent
TRIPLE = "x86_64-pc-linux-gnu"
MOST = 1.1  # times the loop's time


def build(folder: Path) -> Path:
    """Build the program with the kernel in it."""
    image, loop, bundled, program = (folder / name for name in ("k.so", "l.o", "b.o", "saxpy"))
    flags = ["-O3", "-march=native", "-fopenmp", f"-I{includedir()}"]
    lower = ["omptool", "lower", str(HERE / "saxpy.ll"), "--triple", TRIPLE, "--cpu", "native"]
    for command in (
        [*lower, "-O3", "-o", str(image)],
        ["gcc", *flags, "-c", str(HERE / "saxpy.c"), "-o", str(loop)],
        ["omptool", "bundle", str(loop), "--image", f"{TRIPLE}={image}", "-o", str(bundled)],
        ["gcc", "-fopenmp", str(bundled), f"-L{libdir()}", "-lomptarget", "-o", str(program)],
    ):
        subprocess.run(command, check=True)
    return program


def main() -> None:
    """Build, run, print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--elements", type=int, default=1 << 26)
    parser.add_argument("--runs", type=int, default=11)
    options = parser.parse_args()
    environment = os.environ | {"LD_LIBRARY_PATH": str(libdir()), "OMP_TARGET_OFFLOAD": "MANDATORY"}
    with tempfile.TemporaryDirectory() as folder:
        command = [str(build(Path(folder))), str(options.elements), str(options.runs)]
        done = subprocess.run(
            command, check=True, env=environment, stdout=subprocess.PIPE, text=True
        )
    times = dict(line.split() for line in done.stdout.splitlines())
    portable, loop = float(times["portable"]), float(times["loop"])
    row = (f"{portable * 1e3:.2f}", f"{loop * 1e3:.2f}", f"{portable / loop:.3f}", f"{MOST}")
    headers = ("portable kernel, ms", "gcc's loop, ms", "ratio", "at most")
    print(f"saxpy of {options.elements} elements, medians of {options.runs} alternated runs\n")
    print(tabulate([row], headers, tablefmt="github", disable_numparse=True))


if __name__ == "__main__":
    main()
