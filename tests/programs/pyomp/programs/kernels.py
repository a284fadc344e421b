# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Several kernels of one function, over teams and threads, and their queries of the device."""

import numpy as np
from numba.openmp import (
    find_device_ids,
    get_device_type,
    njit,
    omp_get_num_teams,
    omp_get_num_threads,
    omp_get_team_num,
    openmp_context,
)


@njit
def smoothed(old, new, rounds):
    with openmp_context("target data device(0) map(tofrom: old) map(alloc: new)"):
        for _ in range(rounds):
            with openmp_context("target teams distribute parallel for device(0)"):
                for i in range(1, len(old) - 1):
                    new[i] = (old[i - 1] + old[i] + old[i + 1]) / 4
            with openmp_context("target teams distribute parallel for device(0)"):
                for i in range(1, len(old) - 1):
                    old[i] = new[i]


@njit
def spread(team_of):
    with openmp_context("target teams distribute device(0) num_teams(2) map(from: team_of)"):
        for i in range(len(team_of)):
            team_of[i] = omp_get_team_num()


@njit
def shape():
    teams = 0
    threads = 0
    with (
        openmp_context("target device(0) map(from: teams, threads)"),
        openmp_context("teams num_teams(2)"),
    ):
        if omp_get_team_num() == 0:
            teams = omp_get_num_teams()
            with openmp_context("parallel num_threads(2)"), openmp_context("single"):
                threads = omp_get_num_threads()
    return teams, threads


assert get_device_type(find_device_ids(type="host")[0]) == "host"

old = np.arange(64.0) ** 2
expected = old.copy()
for _ in range(5):
    expected[1:-1] = (expected[:-2] + expected[1:-1] + expected[2:]) / 4
smoothed(old, np.zeros(64), 5)
np.testing.assert_array_equal(old, expected)

# libomp makes at most as many teams as it has threads.
team_of = np.full(1000, -1)
spread(team_of)
teams, sizes = np.unique(team_of, return_counts=True)
np.testing.assert_array_equal(teams, np.arange(len(teams)))
np.testing.assert_array_equal(team_of, np.repeat(teams, sizes))
assert 1 <= len(teams) <= 2
assert max(sizes) - min(sizes) <= 1

teams, threads = shape()
assert 1 <= teams <= 2
assert 1 <= threads <= 2
