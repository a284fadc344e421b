# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles a region again and again, each time to an image of its own: images.py COUNT.

Prints what the process then has more of for each: KiB of memory, and file descriptors.
"""

import os
import sys
from pathlib import Path

import numpy as np
from numba.openmp import njit, openmp_context

FIRST = 20  # what grows once has grown by then: descriptors of images, for debuggers


def doubled(values):
    with openmp_context("target device(0) map(tofrom: values)"):
        for i in range(len(values)):
            values[i] *= 2


def compiled_and_run(count):
    for _ in range(count):
        values = np.ones(3)
        njit(doubled)(values)
        np.testing.assert_array_equal(values, [2.0, 2.0, 2.0])


def held():
    resident = int(Path("/proc/self/statm").read_text().split()[1])
    return resident * os.sysconf("SC_PAGESIZE") / 1024, len(list(Path("/proc/self/fd").iterdir()))


count = int(sys.argv[1])
compiled_and_run(FIRST)
before = held()
compiled_and_run(count)
print(*((after - first) / count for after, first in zip(held(), before, strict=True)))
