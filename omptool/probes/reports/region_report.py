# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table in which the runtime counts where regions ran: OMPTOOL_REPORT names its file.

The twin of its records is runtime/observe/report.h.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager

from omptool.probes.reports import shared_table
from omptool.probes.reports.shared_table import Form, Table
from packager.machine.region_run import Region
from packager.records import NamedTuple

VARIABLE = "OMPTOOL_REPORT"
_FORM = Form(b"OMPTRPT1", struct.Struct("<QQQQIIii984s1016s"), number_at=32, records=8192)
_LIBRARY, _DEVICE, _ON_DEVICE, _ON_HOST, _OF_GCC, _LOADED = range(6)


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
    """A table that ends with the block of `made`."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self.path = table.path

    def libraries(self) -> list[str]:
        """Return the files that registered regions, each once."""
        return self._files(_LIBRARY)

    def of_gcc(self) -> list[str]:
        """Return the files that registered regions by GCC with libgomp, each once."""
        return self._files(_OF_GCC)

    def loaded(self) -> list[str]:
        """Return the shared libraries that were loaded when a process ended, each once."""
        return self._files(_LOADED)

    def regions(self) -> list[Region]:
        """Return the regions that ran, in the order of their first runs."""
        records = self._records()
        devices = {(one.process, one.device): one for one in records if one.kind == _DEVICE}
        return [
            _region(record, devices.get((record.process, record.device)))
            for record in records
            if record.kind in (_ON_DEVICE, _ON_HOST)
        ]

    def lost(self) -> int:
        """Return how many runs found no place."""
        return self._table.lost()

    def _files(self, kind: int) -> list[str]:
        found = (_text(one.name) for one in self._records() if one.kind == kind)
        return list(dict.fromkeys(name for name in found if name))

    def _records(self) -> list[_Record]:
        return [_Record(*row) for row in self._table.rows()]


def _region(record: _Record, device: _Record | None) -> Region:
    is_on_host = record.kind == _ON_HOST
    return Region(
        process=record.process,
        name=_text(record.name),
        device=None if is_on_host else record.device,
        plugin=_text(device.name) if device else "",
        reason=_text(record.reason),
        begun=record.begun,
        ended=record.begun if is_on_host else record.ended,
        failed=record.failed,
        title=_text(device.reason) if device else "",
    )


def _text(field: bytes) -> str:
    return shared_table.text(field).decode("utf-8", "backslashreplace")


@contextmanager
def made() -> Iterator[Report]:
    """Make an empty table."""
    with shared_table.made(_FORM) as table:
        yield Report(table)
