# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Baselines: what they keep of a finding, and files that are none."""

from __future__ import annotations

import pytest

from packager.errors import FormatError
from packager.gates.baseline import known, read, written


def test_addresses_differ_in_each_run() -> None:
    one = known("app", "OMP303", "a (80 bytes at 0x7f0012) is longer")
    assert one == known("app", "OMP303", "a (80 bytes at 0x5555ab) is longer")
    assert read(written([one, one])) == {one}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"schema": 2, "findings": []}',
        '{"schema": 1, "findings": [1]}',
        '{"schema": 1, "findings": [{"file": "a", "code": 1, "message": "m"}]}',
    ],
)
def test_a_malformed_baseline(text: str) -> None:
    with pytest.raises(FormatError, match=r"^is (no|a) baseline"):
        read(text)
