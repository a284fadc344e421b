# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MessagePack: values of each kind, and malformed ones."""

from __future__ import annotations

import pytest

from packager.errors import FormatError
from packager.files.msgpack import Value, check, decode


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"\x07", 7),
        (b"\xff", -1),
        (b"\xc0", None),
        (b"\xc3", True),
        (b"\xcd\x01\x00", 256),
        (b"\xd1\xff\x00", -256),
        (b"\xcb\x3f\xf0\0\0\0\0\0\0", 1.0),
        (b"\xa2ab", "ab"),
        (b"\xd9\x02ab", "ab"),
        (b"\xc4\x02ab", b"ab"),
        (b"\x92\x01\xa1x", [1, "x"]),
        (b"\xdc\x00\x01\x05", [5]),
        (b"\x81\xa1k\x90", {"k": []}),
        (b"\xde\x00\x01\xa1k\x81\xa1l\x02", {"k": {"l": 2}}),
    ],
)
def test_values(data: bytes, value: Value) -> None:
    assert decode(data) == value
    for size in range(len(data)):
        for read in (decode, check):
            with pytest.raises(FormatError):
                read(data[:size])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\xc1", "is malformed: FormatError"),
        (b"\xdb\xff\xff\xff\xff", "is cut off"),
        (b"\xdd\xff\xff\xff\xff", "exceeds max_array_len|is cut off"),
        (b"\x91" * 2000 + b"\x01", "is nested too deep"),
    ],
)
def test_malformed(data: bytes, message: str) -> None:
    for read in (decode, check):
        with pytest.raises(FormatError, match=message):
            read(data)


@pytest.mark.parametrize("data", [b"\x81\x01\x02", b"\x81\x90\x02", b"\xc7\x01\x05a"])
def test_values_that_are_not_read(data: bytes) -> None:
    with pytest.raises(FormatError, match="is malformed"):
        decode(data)
