# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table in which the runtime counts where regions ran: OMPTOOL_REPORT names its file.

All processes of a program map the file, so that it is whole however each of them ends. Its twin is
runtime/libomptarget/observe/report.h.
"""

from __future__ import annotations

import fcntl
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager

from packager.machine.region_run import Region
from packager.records import NamedTuple

VARIABLE = "OMPTOOL_REPORT"
MAGIC = b"OMPTRPT1"
RECORDS = 8192  # sparse: those that nobody uses take no memory
_HEADER = struct.Struct("<8sIIII40x")
_RECORD = struct.Struct("<QQQQIIii984s1016s")
_NUMBER = struct.Struct("<I")
_NUMBER_AT = 32  # in a record; 0: it is not filled in
_LIBRARY, _DEVICE, _ON_DEVICE, _ON_HOST = range(4)


class _Record(NamedTuple):
    key: int
    begun: int
    ended: int
    failed: int
    number: int
    kind: int
    process: int
    device: int
    name: bytes
    reason: bytes


class Report:
    """A table in memory that ends with the block of `made`."""

    def __init__(self, file: int) -> None:
        self._file = file
        self.path = f"/proc/{os.getpid()}/fd/{file}"  # which the program's processes open

    def libraries(self) -> list[str]:
        """Return the files that registered regions, each once."""
        found = (_text(one.name) for one in self._records() if one.kind == _LIBRARY)
        return list(dict.fromkeys(name for name in found if name))

    def regions(self) -> list[Region]:
        """Return what ran, in the order in which it first did."""
        records = self._records()
        plugins = {(r.process, r.device): _text(r.name) for r in records if r.kind == _DEVICE}
        return [
            _region(record, plugins.get((record.process, record.device), ""))
            for record in records
            if record.kind in (_ON_DEVICE, _ON_HOST)
        ]

    def lost(self) -> int:
        """Return how many runs found no place."""
        *_, lost = _HEADER.unpack(os.pread(self._file, _HEADER.size, 0))
        return int(lost)

    def _records(self) -> list[_Record]:
        return sorted(self._filled(), key=lambda record: record.number)

    def _filled(self) -> Iterator[_Record]:
        for index in range(RECORDS):
            at = _HEADER.size + index * _RECORD.size
            (number,) = _NUMBER.unpack(os.pread(self._file, _NUMBER.size, at + _NUMBER_AT))
            if number:
                yield _Record(*_RECORD.unpack(os.pread(self._file, _RECORD.size, at)))


def _region(record: _Record, plugin: str) -> Region:
    is_on_host = record.kind == _ON_HOST
    return Region(
        process=record.process,
        name=_text(record.name),
        device=None if is_on_host else record.device,
        plugin=plugin,
        reason=_text(record.reason),
        begun=record.begun,
        ended=record.begun if is_on_host else record.ended,
        failed=record.failed,
    )


def _text(field: bytes) -> str:
    return field.split(b"\0", 1)[0].decode("utf-8", "backslashreplace")


@contextmanager
def made() -> Iterator[Report]:
    """Make an empty table, in memory: there may be no file system that can be written to."""
    file = os.memfd_create("omptool report", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.ftruncate(file, _HEADER.size + RECORDS * _RECORD.size)
        os.pwrite(file, _HEADER.pack(MAGIC, RECORDS, _RECORD.size, 0, 0), 0)
        fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
        yield Report(file)
    finally:
        os.close(file)
