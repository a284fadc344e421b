# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measure the cost of a launch on OpenCL beside the driver's own calls.

Usage: python bench/opencl_launch.py [--launches 2000] [--batches 31]

A kernel of two arguments is launched and waited for by our runtime, and by clSetKernelArg,
clEnqueueNDRangeKernel and clWaitForEvents, in turn in one process, on the first device that
OpenCL's loader finds (docs/plugins.md says how to get one for this CPU).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tabulate import tabulate

from omptool.installation import includedir, libdir

HERE = Path(__file__).parent
TRIPLE = "spirv64-unknown-unknown"
MOST = 1.3  # times the driver's own
# Driver of PyPI's intel-opencl-rt, if installed; else the machine's drivers are used.
DRIVER = Path(sys.prefix) / "lib" / "libintelocl.so"


def build(folder: Path) -> list[str]:
    """Build the program with the kernel in it, and return its command with the kernel's file."""
    image, host, bundled, program = (folder / name for name in ("k.spv", "h.o", "b.o", "opencl"))
    libraries = [f"-L{libdir()}", "-lomptarget", "-l:libOpenCL.so.1"]
    for command in (
        ["omptool", "lower", str(HERE / "opencl_launch.ll"), "--triple", TRIPLE, "-o", str(image)],
        ["gcc", "-O2", f"-I{includedir()}", "-c", str(HERE / "opencl_launch.c"), "-o", str(host)],
        ["omptool", "bundle", str(host), "--image", f"{TRIPLE}={image}", "-o", str(bundled)],
        ["gcc", str(bundled), *libraries, "-o", str(program)],
    ):
        subprocess.run(command, check=True)
    return [str(program), str(image)]


def environment(folder: Path) -> dict[str, str]:
    chosen = os.environ | {"LD_LIBRARY_PATH": str(libdir()), "OMP_TARGET_OFFLOAD": "MANDATORY"}
    if DRIVER.exists() and "OCL_ICD_VENDORS" not in os.environ:
        (folder / "driver.icd").write_text(f"{DRIVER}\n")
        chosen["OCL_ICD_VENDORS"] = str(folder)
    return chosen


def main() -> None:
    """Build, run, print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--launches", type=int, default=2000)
    parser.add_argument("--batches", type=int, default=31)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = [*build(folder), str(options.launches), str(options.batches)]
        done = subprocess.run(
            command, check=True, env=environment(folder), stdout=subprocess.PIPE, text=True
        )
    times = {key: float(value) for key, value in map(str.split, done.stdout.splitlines())}
    ratio = times["ours"] / times["bare"]
    row = (f"{times['ours']:.0f}", f"{times['bare']:.0f}", f"{ratio:.3f}", str(MOST))
    print(f"a launch and the wait for it, medians of {options.batches} alternated batches\n")
    headers = ("ours, ns", "the driver's own calls, ns", "ratio", "at most")
    print(tabulate([row], headers, tablefmt="github", disable_numparse=True))


if __name__ == "__main__":
    main()
