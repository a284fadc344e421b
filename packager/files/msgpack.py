# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decode MessagePack by the package `msgpack`, within limits: a few bytes may claim any size.

LLVM writes the metadata of AMD's code objects in this format, AMD's tools tables of archives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from packager.errors import FormatError
from packager.files.names import text

Value = None | bool | int | float | str | bytes | list["Value"] | dict[str, "Value"]


def decode(data: bytes) -> Value:
    """Decode the value that `data` begins with. Raises FormatError if it is malformed.

    Strings may contain surrogates.
    """
    found: Value = _read(data, lambda reader: reader.unpack())
    return found


def check(data: bytes) -> None:
    """Raise FormatError if bytes are missing or invalid; faster than `decode`."""
    _read(data, lambda reader: reader.skip())


def _read(data: bytes, read: Callable[[Any], Any]) -> Any:
    import msgpack

    size = len(data)
    reader = msgpack.Unpacker(
        max_buffer_size=max(size, 1), max_str_len=size, max_bin_len=size, max_array_len=size,
        max_map_len=size // 2, max_ext_len=0, strict_map_key=True,
        unicode_errors="surrogateescape",
    )  # fmt: skip
    what = f"MessagePack of {size} bytes"
    try:
        reader.feed(data)
        return read(reader)
    except msgpack.OutOfData as error:
        raise FormatError(f"{what} is cut off") from error
    except msgpack.StackError as error:
        raise FormatError(f"{what} is nested too deep") from error
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        reason = text(str(error).encode()) or type(error).__name__
        raise FormatError(f"{what} is malformed: {reason}") from error
