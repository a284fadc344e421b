# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Patterns that are compiled at their first use work as those of `re`."""

from __future__ import annotations

import re

import pytest

from packager.patterns import pattern


def test_text_and_bytes() -> None:
    number = pattern(r"(\d+)\w", re.ASCII)
    assert [found[1] for found in number.finditer("1a 2b")] == ["1", "2"]
    assert number.fullmatch("12c") is not None
    assert number.sub("x", "1a 2b") == "x x"
    assert number.pattern == r"(\d+)\w"
    assert pattern(b".", re.DOTALL).match(b"\n") is not None


def test_an_error_comes_at_the_first_use() -> None:
    broken = pattern("(")
    with pytest.raises(re.error):
        broken.match("")
