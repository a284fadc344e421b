# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two arrays mapped whole: one is changed, and their product is summed up."""

import numpy as np
from numba.openmp import njit, openmp_context


@njit
def saxpy(a, x, y):
    with openmp_context("target teams distribute parallel for device(0) map(to: x) map(tofrom: y)"):
        for i in range(len(x)):
            y[i] += a * x[i]


@njit
def dot(x, y):
    total = 0.0
    with openmp_context(
        "target teams distribute parallel for device(0) map(to: x, y) reduction(+: total)"
    ):
        for i in range(len(x)):
            total += x[i] * y[i]
    return total


x = np.arange(10_000.0)
y = np.ones(10_000)
saxpy(2.0, x, y)
np.testing.assert_array_equal(y, 2 * x + 1)
np.testing.assert_equal(dot(x, y), float(np.sum(x * y)))
