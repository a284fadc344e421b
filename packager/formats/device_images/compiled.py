# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The slow loops in a compiled helper, where one was built: runtime/inspect.

It answers for what is usual in cubins and in PTX. For all else, and where it is not there, its
twins answer: device_elf and ptx, in Python, which say the same.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache, partial
from pathlib import Path
from struct import Struct
from threading import Lock
from typing import Any, NamedTuple

import packager
from packager.errors import LimitError
from packager.files.reader import Reader
from packager.model import DeviceSymbol, Resources

LIBRARY = Path("_compiled", "libomptool_inspect.so")
# exports, undefined names, bytes of names, whether there is debug information, characters read
HEAD = Struct("<5Q")
# size, code, its size, whether it is a kernel, has code, has resources; these
RECORD = Struct("<6Q3q")
KINDS = ("global", "kernel")
ROOM = 1 << 22  # for an answer
LARGEST = 1 << 24  # cubin: it is read whole

_symbol: Callable[[tuple[Any, ...]], DeviceSymbol] = partial(tuple.__new__, DeviceSymbol)


class Found(NamedTuple):
    """The kernels and variables that a cubin has for a host."""

    symbols: tuple[DeviceSymbol, ...]
    undefined: tuple[str, ...]
    is_debugged: bool


class Helper:
    """The library's functions, and where they write to: one call at a time."""

    def __init__(self, path: Path) -> None:
        import ctypes

        library = ctypes.CDLL(str(path))
        size, out = ctypes.c_uint64, ctypes.c_void_p
        self._cubin = library.omptool_inspect_cubin
        self._cubin.argtypes = (ctypes.c_char_p, size, ctypes.c_int32, out, size)
        self._lines = library.omptool_ptx_lines
        self._lines.argtypes = (ctypes.c_char_p, size, out, size)
        self._cubin.restype = self._lines.restype = ctypes.c_int64
        self._out = ctypes.create_string_buffer(ROOM)
        self._copy = ctypes.string_at
        self._lock = Lock()

    def cubin(self, block: bytes, resources: bool) -> bytes | None:
        """Return what it writes of a cubin."""
        with self._lock:
            size = self._cubin(block, len(block), resources, self._out, ROOM)
            return self._copy(self._out, size) if size >= 0 else None

    def lines(self, text: bytes) -> tuple[int, ...] | None:
        """Return where lines begin that may have a directive."""
        with self._lock:
            count = self._lines(text, len(text), self._out, ROOM // 8)
            found = self._copy(self._out, 8 * count) if count >= 0 else None
        return None if found is None else tuple(memoryview(found).cast("Q"))


@cache
def helper() -> Helper | None:
    """The helper; None where it was not built, or cannot be loaded."""
    for place in packager.__path__:  # an editable install has two: sources and build
        try:
            return Helper(Path(place) / LIBRARY)
        except (ImportError, OSError, AttributeError):  # no ctypes, no library, or another one
            continue
    return None


def cubin(data: Reader, *, resources: bool) -> Found | None:
    """Return what a cubin has for a host; None: it is for the twin."""
    compiled = helper() if len(data) <= LARGEST else None
    answer = compiled.cubin(data.bytes(what="cubin"), resources) if compiled else None
    if answer is None:
        return None
    exports, undefined, size, is_debugged, characters = HEAD.unpack_from(answer)
    try:
        data.spent.count(characters)
    except LimitError:
        data.spent.strings -= characters
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
    return Found(tuple(symbols.values()), tuple(absent), bool(is_debugged))


@lru_cache(maxsize=1 << 12)  # many kernels need the same
def _resources(registers: int, shared: int, stack: int) -> Resources:
    return Resources(None if registers < 0 else registers, shared, None if stack < 0 else stack)


def lines(text: bytes) -> tuple[int, ...] | None:
    """The newlines of PTX behind which a directive may be; None: it is for the twin."""
    compiled = helper()
    return compiled.lines(text) if compiled else None
