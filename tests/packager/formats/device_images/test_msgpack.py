# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MessagePack: each kind of value, and what is malformed."""

from __future__ import annotations

import pytest

from packager.errors import FormatError
from packager.formats.device_images.msgpack import Value, decode


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
        with pytest.raises(FormatError):
            decode(data[:size])


def test_parts_that_are_left_out() -> None:
    """Past each kind of value, and no further than the data."""
    values = (
        b"\x07", b"\xc0", b"\xcd\x01\x00", b"\xa2ab", b"\xd9\x02ab", b"\xc4\x02ab",
        b"\xdb\0\0\0\x01x", b"\x92\x01\xa1x", b"\xdc\x00\x01\x05",
        b"\x81\xa1k\x91\x90", b"\xde\x00\x01\xa1k\x02",
    )  # fmt: skip
    for value in values:
        data = b"\x82\xa1a" + value + b"\xa1b\x05"
        assert decode(data, without=("a",)) == {"b": 5}
        for size in range(len(data)):
            with pytest.raises(FormatError):
                decode(data[:size], without=("a",))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\xc1", "a value of type 0xc1, which is not read"),
        (b"\xdb\xff\xff\xff\xff", "has a string of 4294967295"),
        (b"\x91" * 17 + b"\x01", "nested more than 16 deep"),
    ],
)
def test_malformed(data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        decode(data)
