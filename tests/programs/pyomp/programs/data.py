# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Data stays on the device between regions, and moves only at the program's request."""

import numpy as np
from numba.openmp import njit, openmp_context


@njit
def in_a_construct(kept, result):
    with openmp_context("target data device(0) map(to: kept) map(from: result)"):
        kept += 1000  # the device does not see it
        with openmp_context("target device(0)"):
            for i in range(len(kept)):
                result[i] = kept[i]
                kept[i] = -1.0
        seen = kept[0]
        with openmp_context("target update device(0) from(kept)"):
            pass
        fetched = kept[0]
        kept += 6
        with openmp_context("target update device(0) to(kept)"):
            pass
        with openmp_context("target device(0)"):
            for i in range(len(kept)):
                result[i] += kept[i]
    return seen, fetched


@njit
def entered(kept):
    with openmp_context("target enter data device(0) map(to: kept)"):
        pass
    for _ in range(3):
        with openmp_context("target teams distribute parallel for device(0)"):
            for i in range(len(kept)):
                kept[i] *= 2
    unchanged = kept[1]
    with openmp_context("target exit data device(0) map(from: kept)"):
        pass
    return unchanged


kept = np.arange(100.0)
result = np.zeros(100)
assert in_a_construct(kept, result) == (1000.0, -1.0)
np.testing.assert_array_equal(result, np.arange(100.0) + 5)

kept = np.arange(100.0)
assert entered(kept) == 1.0
np.testing.assert_array_equal(kept, np.arange(100.0) * 8)
