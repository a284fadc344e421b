# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table in which the runtime's checker records findings: OMPTOOL_CHECK names its file.

The twin of its records is runtime/observe/check/findings.h.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from contextlib import contextmanager

from omptool.probes.reports import shared_table
from omptool.probes.reports.shared_table import Form, Table
from packager.files.names import text
from packager.machine.run_check.check_codes import CODES
from packager.machine.run_check.check_run import CheckFinding, FilePlace, Recorded, SourceLine
from packager.records import NamedTuple

VARIABLE = "OMPTOOL_CHECK"
LEVELS = {"events": 1, "full": 2}
_FORM = Form(
    b"OMPTCHK1", struct.Struct("<QQQQQQQIIii504s120s392s480s480s"), number_at=56, records=4096
)
_TITLE = 1  # kind of a record with a device's title, in place of a code
_SOURCE = re.compile(r"(.+?):(\d{1,9})(?::(\d{1,9}))?", re.DOTALL)


class _Record(NamedTuple):
    key: int
    times: int
    total: int
    host: int
    size: int
    call: int
    kernel: int
    number: int
    code: int
    process: int
    device: int
    message: bytes
    variable: bytes
    entry: bytes
    source: bytes
    call_file: bytes


class FindingReport:
    """A table that ends with the block of `made`."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self.path = table.path

    def recorded(self) -> Recorded:
        """Return the findings that the program's processes recorded, as far as they can be read."""
        if not self._table.is_whole():
            return Recorded(is_whole=False)
        records = [_Record(*row) for row in self._table.rows()]
        titles = {
            (one.process, one.device): _text(one.message) for one in records if one.code == _TITLE
        }
        records = [record for record in records if record.code != _TITLE]
        known = [record for record in records if f"OMP{record.code}" in CODES]
        found = tuple(
            _finding(record, titles.get((record.process, record.device), "")) for record in known
        )
        return Recorded(
            found,
            lost=self._table.lost(),
            damaged=len(records) - len(known),
            processes=self._table.processes(),
        )


def _finding(record: _Record, title: str) -> CheckFinding:
    call_file = shared_table.text(record.call_file)
    return CheckFinding(
        code=f"OMP{record.code}",
        message=_text(record.message) or "the record has no message",
        variable=_text(record.variable),
        entry=_text(record.entry),
        source=_source(_text(record.source)),
        call=FilePlace(call_file, record.call) if call_file and record.call else None,
        kernel=record.kernel,
        device=record.device if record.device >= 0 else None,
        device_title=title,
        process=record.process,
        address=record.host,
        size=record.size,
        times=record.times,
        total=record.total,
    )


def _text(field: bytes) -> str:
    return text(shared_table.text(field))


def _source(told: str) -> SourceLine | None:
    """Return the place that "file:line:column" names."""
    found = _SOURCE.fullmatch(told)
    if not found:
        return SourceLine(told, None) if told else None
    file, line, column = found.groups()
    return SourceLine(file, int(line) or None, int(column or 0) or None)


@contextmanager
def made(level: str) -> Iterator[FindingReport]:
    """Make an empty table that requests a level of LEVELS."""
    with shared_table.made(_FORM, LEVELS[level]) as table:
        yield FindingReport(table)
