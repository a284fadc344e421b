# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A view of bytes, read a piece at a time."""

from __future__ import annotations

import pytest

from packager.files.reader import PIECE, Reader


@pytest.mark.parametrize("at", [0, 1, PIECE - 4, PIECE - 3, PIECE, PIECE + 1, 2 * PIECE - 2])
def test_a_word_is_found_across_pieces(at: int) -> None:
    data = bytearray(2 * PIECE + 2)
    data[at : at + 4] = b"word"
    assert Reader(data).holds(b"word")
    assert not Reader(data).holds(b"wore")
    assert Reader(data).slice(at, 4, "the word").holds(b"word")
    assert not Reader(data).slice(at, 3, "less").holds(b"word")
