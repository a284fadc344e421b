# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Regions whose lines have moved are paired by function and order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packager.questions.moved import moved as moved_with_needs

LINES = st.lists(st.integers(1, 99), unique=True, max_size=6).map(sorted)


def moved(old: list[str], new: list[str]) -> dict[str, str]:
    return moved_with_needs(dict.fromkeys(old), dict.fromkeys(new))


def named(lines: list[int], function: str = "work", inode: str = "2f") -> list[str]:
    return [f"__omp_offloading_801_{inode}_{function}_l{line}" for line in lines]


@pytest.mark.parametrize(
    ("old", "new", "pairs"),
    [
        ([5, 9], [5, 9], {}),
        ([5, 9], [6, 10], {5: 6, 9: 10}),
        ([5, 9, 13], [6, 14], {5: 6, 13: 14}),
        ([5, 9], [24, 25, 29], {5: 25, 9: 29}),
        ([5], [], {}),
    ],
)
def test_an_edit_above_moves_all_alike(
    old: list[int], new: list[int], pairs: dict[int, int]
) -> None:
    found = moved(named(old), named(new, inode="30"))
    assert found == {f"work:{one}": f"work:{other}" for one, other in pairs.items()}


def test_needs_tell_kernels_apart() -> None:
    old = {"__omp_offloading_801_2f_work_l12": 17, "__omp_offloading_801_2f_work_l14": 178}
    found = moved_with_needs(old, {"__omp_offloading_801_30_work_l12": 178})
    assert found == {"work:14": "work:12"}


def test_functions_and_other_names_stay_apart() -> None:
    old = [*named([5], "a"), *named([7], "b"), "saxpy"]
    new = [*named([6], "b"), *named([8], "c"), "scale"]
    assert moved(old, new) == {"b:7": "b:6"}


def test_a_second_region_of_a_line_comes_behind_the_first() -> None:
    old, new = named([5]), named([6])
    found = moved([*old, f"{old[0]}_2"], [f"{new[0]}_2", *new])
    assert found == {"work:5": "work:6", "work:5 (2)": "work:6 (2)"}


@given(LINES, LINES)
def test_pairs_keep_their_order(old: list[int], new: list[int]) -> None:
    found = {int(one[5:]): int(other[5:]) for one, other in moved(named(old), named(new)).items()}
    pairs = sorted(found.items())
    assert [one for one, _ in pairs] == sorted(found)
    assert [other for _, other in pairs] == sorted(set(found.values()))
    assert set(found) <= set(old)
    assert set(found.values()) <= set(new)
