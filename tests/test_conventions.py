# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels' calling conventions: alike in Python and C++, and which calls reach which kernels."""

from __future__ import annotations

import re
from collections.abc import Collection

import pytest
from places import ROOT

from packager.conventions import ARRAY, FIRST, PLAIN, are_called, called_by, in_words

COMPILERS = ROOT / "runtime" / "libomptarget" / "abi" / "llvm" / "compilers.cpp"


def test_the_runtime_has_the_same_releases() -> None:
    found = re.findall(r"(kFirstWith\w+) = (\d+)", COMPILERS.read_text())
    assert {name: int(release) for name, release in found} == {
        "kFirstWithEnvironment": FIRST.start,
        "kFirstWithArray": ARRAY.start,
    }
    assert (PLAIN.start, PLAIN.stop, FIRST.stop) == (0, FIRST.start, ARRAY.start)


@pytest.mark.parametrize(
    ("host", "words"),
    [(14, "17 or older"), (17, "17 or older"), (18, "22 or older"), (19, "18 or later"),
     (23, "18 or later"), (24, "18 or later")],
)  # fmt: skip
def test_whose_kernels_a_host_calls(host: int, words: str) -> None:
    assert in_words(called_by(host)) == words


@pytest.mark.parametrize(
    ("hosts", "kernels", "are"),
    [
        ([23], [22], True),
        ([23], [17], False),
        ([23], [17, 22], True),  # each call says which it means
        ([17, 23], [17], True),
        ([18], [23], False),
        ([], [17], True),  # nothing is known
        ([23], [], True),
    ],
)
def test_whether_calls_reach_an_image(
    hosts: Collection[int], kernels: Collection[int], are: bool
) -> None:
    assert are_called(hosts, kernels) == are
