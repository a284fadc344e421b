# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names and pointers that are read in bulk are those that are read one by one."""

from __future__ import annotations

import random
import re
from array import array
from pathlib import Path

import pytest

from packager.elf.relocated import Range, Window, WindowIndex
from packager.errors import FormatError
from packager.files.reader import MAX_STRING, Reader, open_reader
from packager.files.sources import BLOCK

RECORD = 24


def nth(number: int) -> str:
    return f"name {number}"


def test_strings_near_and_far(tmp_path: Path) -> None:
    rng = random.Random(7)
    names = [bytes(rng.choices(b"abc\xff\x01", k=rng.choice((0, 1, 9, 127, 128, 5000))))
             for _ in range(400)]  # fmt: skip
    (tmp_path / "names").write_bytes(b"\0".join(names) + b"\0")
    starts = [0]
    for name in names[:-1]:
        starts.append(starts[-1] + len(name) + 1)
    with open_reader(tmp_path / "names") as data:
        for order in (starts, rng.sample(starts, len(starts))):
            expected = [data.string(at, "name") for at in order]
            assert list(data.strings(order, nth)) == expected


@pytest.mark.parametrize(
    ("data", "at", "message"),
    [
        pytest.param(b"a\0b", 2, "name 1 at 0x2 has no terminating NUL", id="open"),
        pytest.param(b"a\0b", 4, "name 1 at 0x4..0x4 runs past the end at 0x3", id="outside"),
        pytest.param(b"a\0b", 1 << 63, "runs past the end at 0x3", id="far-outside"),
        pytest.param(b"a\0b", -1, "runs past the end at 0x3", id="before"),
        pytest.param(
            b"a\0" + b"b" * (MAX_STRING + 1) + b"\0", 2, "has no terminating NUL", id="long"
        ),
    ],
)
def test_strings_that_are_not_there(data: bytes, at: int, message: str) -> None:
    assert BLOCK < MAX_STRING
    found = Reader(data).strings([0, at], nth)
    assert next(found) == "a"
    with pytest.raises(FormatError, match=re.escape(message)):
        next(found)


def table(size: int) -> Window:
    """Return records whose words are their numbers."""
    data = array("Q", range(size // 8)).tobytes() + bytes(size % 8)
    return Window(Range(0x1000, size, "table"), data, {1: "one"}.get)


def test_columns() -> None:
    window = table(RECORD * 4 + 7)  # an incomplete record at the end
    assert window.column("Q", 8, RECORD) == [1, 4, 7, 10]
    assert window.column("I", 16, RECORD) == [2, 5, 8, 11]
    assert window.column("i", 20, RECORD) == [0, 0, 0, 0]


def test_pointers_of_other_files() -> None:
    window = table(RECORD * 4)
    window.relocate(0x1000 + RECORD, None, 3, 1)
    window.relocate(0x1000 + RECORD * 4 - 8, None, 0, 1)
    window.relocate(0x1000 + RECORD * 4 - 4, 9, 9, 1)  # begins in the table and ends beyond
    assert window.pointers(0, RECORD) == [0, None, 6, 9]
    assert window.pointers(8, RECORD) == [1, 4, 7, 10]
    assert list(window.targets(0, RECORD)) == [None, ("one", 3), (None, 6), (None, 9)]
    assert [window.symbol(at) for at in (0, RECORD)] == [None, "one"]


def test_relative_pointers_in_bulk() -> None:
    one, other = table(RECORD), table(RECORD)
    places = [0x1000, 0x0FFC, 0x1008, 0x1014, 0x1018, 0x2000]
    addends = [(1 << 64) - 1, 2, 3, 4, 5, 6]
    one.rebase(places, addends)
    for place, addend in zip(places, addends, strict=True):
        other.relocate(place, 0, addend, 0)
    assert one.data == other.data
    assert one.column("Q", 0, RECORD) == [(1 << 64) - 1]
    assert [one.is_relocated(at) for at in (0, 8, 16)] == [True, True, False]
    assert [other.is_relocated(at) for at in (0, 8, 16)] == [True, True, False]


def test_windows_that_overlap() -> None:
    windows = [table(RECORD), Window(Range(0x1008, 8, "part"), bytes(8), nth)]
    index = WindowIndex(windows)
    assert not index.is_single
    assert {id(w) for w in index.at(0x1008)} == set(map(id, windows))
    assert list(index.at(0x1010)) == windows[:1]
