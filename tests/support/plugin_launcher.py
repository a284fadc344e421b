# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A plugin, called by its own functions: launches without a program around them."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from omptool.installation import libdir


class _Entry(ctypes.Structure):
    _fields_ = (("address", ctypes.c_void_p), ("name", ctypes.c_char_p), ("size", ctypes.c_int64))


class _Image(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_void_p) for name in ("start", "end", "first", "last"))


class Launcher:
    """An image on the first device of a plugin."""

    def __init__(self, image: Path, kernels: Sequence[str], plugin: str = "host") -> None:
        self._plugin = ctypes.CDLL(str(libdir() / f"libomptarget.rtl.{plugin}.so"))
        self._allocate = self._plugin["__tgt_rtl_data_alloc"]
        self._allocate.restype = ctypes.c_void_p
        load = self._plugin["__tgt_rtl_load_binary"]
        load.restype = ctypes.POINTER(ctypes.c_void_p)
        data = image.read_bytes()
        self._bytes = ctypes.create_string_buffer(data, len(data))
        self._names = list(kernels)
        wanted = [_Entry(index + 1, name.encode(), 0) for index, name in enumerate(kernels)]
        self._entries = (_Entry * len(kernels))(*wanted)
        begin, first = ctypes.addressof(self._bytes), ctypes.addressof(self._entries)
        self._record = _Image(begin, begin + len(data), first, first + ctypes.sizeof(self._entries))
        assert self._plugin["__tgt_init_device"](0) == 0, self._reason()
        table = load(0, ctypes.byref(self._record))
        assert table, self._reason()
        self._table = ctypes.cast(table[0], ctypes.POINTER(_Entry))

    def run(
        self, kernel: str, teams: int, threads: int, *arguments: ctypes.Array[Any] | int
    ) -> None:
        """Run it on copies of objects of this process, which are brought back, and integers."""
        copies = [
            (there, argument)
            for argument in arguments
            if not isinstance(argument, int)
            for there in [ctypes.c_void_p(self._allocated(ctypes.sizeof(argument)))]
        ]
        for there, here in copies:
            self._call("data_submit", there, here, ctypes.c_int64(ctypes.sizeof(here)))
        addresses = iter(there for there, _ in copies)
        values = [a if isinstance(a, int) else next(addresses).value for a in arguments]
        passed = (ctypes.c_void_p * len(values))(*values)
        address = ctypes.c_void_p(self._table[self._names.index(kernel)].address)
        self._call("run_target_team_region", address, passed, len(values), teams, threads)
        for there, here in copies:
            self._call("data_retrieve", here, there, ctypes.c_int64(ctypes.sizeof(here)))
            self._call("data_delete", there)

    def _allocated(self, size: int) -> int:
        address: int | None = self._allocate(0, ctypes.c_int64(size))
        assert address, self._reason()
        return address

    def _call(self, function: str, *arguments: Any) -> None:
        assert self._plugin[f"__tgt_rtl_{function}"](0, *arguments) == 0, self._reason()

    def _reason(self) -> str:
        last_error = self._plugin["__tgt_rtl_last_error"]
        last_error.restype = ctypes.c_char_p
        return (last_error() or b"").decode()
