# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decode the compiled helper's answers about cubins; device_elf is its equivalent in Python."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from struct import Struct
from typing import Any

from packager.errors import LimitError
from packager.files.reader import Reader
from packager.formats.compressed import helper
from packager.model import DeviceSymbol, Resources
from packager.records import NamedTuple

# exports, undefined names, bytes of names, has debug information, characters read, is for one
# architecture alone
HEAD = Struct("<6Q")
# size, code, code's size, is a kernel, has code, has resources; the resources
RECORD = Struct("<6Q3q")
KINDS = ("global", "kernel")
LARGEST = 1 << 24  # cubin that is read whole

_symbol: Callable[[tuple[Any, ...]], DeviceSymbol] = partial(tuple.__new__, DeviceSymbol)


class Found(NamedTuple):
    """The kernels and variables that a cubin has for a host."""

    symbols: tuple[DeviceSymbol, ...]
    undefined: tuple[str, ...]
    is_debugged: bool
    is_specific: bool  # a record restricts it to one architecture


def cubin(data: Reader, depth: int) -> Found | None:
    """Return the host's view of a cubin; None leaves it to the twin in Python."""
    answer = helper.answer(data, depth) or _answer(data, depth)
    if answer is None:
        return None
    exports, undefined, size, is_debugged, characters, is_specific = HEAD.unpack_from(answer)
    try:
        data.context.count(characters)
    except LimitError:
        data.context.strings -= characters
        return None
    end = HEAD.size + exports * RECORD.size
    names = answer[end : end + size].decode("ascii").split("\0")
    rows = RECORD.iter_unpack(memoryview(answer)[HEAD.size : end])
    symbols = {}
    for name, row in zip(names, rows, strict=False):
        size, code, length, kernel, has_code, has_needs, *needs = row
        kind = KINDS[kernel]
        needed = _resources(*needs) if has_needs else None
        place = (data.at + code, length) if has_code else None
        symbols[name] = _symbol(
            (name, kind, size, kind, size, True, None, needed, place, None, True)
        )
    absent = names[exports : exports + undefined]
    return Found(tuple(symbols.values()), tuple(absent), bool(is_debugged), bool(is_specific))


def _answer(data: Reader, depth: int) -> bytes | None:
    built = helper.built() if len(data) <= LARGEST else None
    return built.cubin(helper.whole(data.bytes(what="cubin")), depth) if built else None


@lru_cache(maxsize=1 << 12)  # many kernels need the same
def _resources(registers: int, shared: int, stack: int) -> Resources:
    return Resources(None if registers < 0 else registers, shared, None if stack < 0 else stack)
