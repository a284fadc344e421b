# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A shared memory table in which the runtime records events for omptool.

All processes of a program map its file, so that it is complete however each of them ends. Its twin
is runtime/observe/output/shared_table.h.
"""

from __future__ import annotations

import fcntl
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from packager.errors import UsageError
from packager.records import NamedTuple

_HEADER = struct.Struct("<8sIIIIII32x")
_NUMBER = struct.Struct("<I")
_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


class Form(NamedTuple):
    """The form of a table's records."""

    magic: bytes
    record: struct.Struct
    number_at: int  # offset of the record's number, which counts from 1; 0 means unfilled
    records: int  # the file is sparse: those that nobody uses take no memory


class Table:
    """A table in memory that ends with the block of `made`."""

    def __init__(self, file: int, form: Form) -> None:
        self._file = file
        self._form = form
        self.path = f"/proc/{os.getpid()}/fd/{file}"  # path for the program's processes

    def is_whole(self) -> bool:
        """Return whether the header still describes the records: the program can write to it."""
        magic, records, size, *_ = self._header()
        return (magic, records, size) == _sizes(self._form)

    def lost(self) -> int:
        """Return how many found no record."""
        return int(self._header()[4])

    def processes(self) -> int:
        """Return how many processes of the program had the runtime write to it."""
        return int(self._header()[6])

    def rows(self) -> list[tuple[Any, ...]]:
        """Return the records, in the order in which they were filled in."""
        found = sorted(self._filled(), key=lambda filled: filled[0])
        return [self._form.record.unpack(record) for _, record in found]

    def _header(self) -> tuple[Any, ...]:
        return _HEADER.unpack(os.pread(self._file, _HEADER.size, 0))

    def _filled(self) -> Iterator[tuple[int, bytes]]:
        size = self._form.record.size
        for index in range(self._form.records):
            at = _HEADER.size + index * size
            start = os.pread(self._file, _NUMBER.size, at + self._form.number_at)
            (number,) = _NUMBER.unpack(start)
            if number:
                yield number, os.pread(self._file, size, at)


def text(field: bytes) -> bytes:
    """Return a record's text up to its first NUL."""
    return field.split(b"\0", 1)[0]


def _sizes(form: Form) -> tuple[bytes, int, int]:
    return form.magic, form.records, form.record.size


@contextmanager
def made(form: Form, options: int = 0) -> Iterator[Table]:
    """Make an empty table, in memory: there may be no file system that can be written to.

    Raises UsageError where this process may have no more files.
    """
    name = f"omptool {form.magic.decode()}"
    try:
        file = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    except OSError as error:
        raise UsageError(f"cannot make a file in memory: {error.strerror}") from error
    try:
        os.ftruncate(file, _HEADER.size + form.records * form.record.size)
        os.pwrite(file, _HEADER.pack(*_sizes(form), 0, 0, options, 0), 0)
        fcntl.fcntl(file, fcntl.F_ADD_SEALS, _SEALS)
        yield Table(file, form)
    finally:
        os.close(file)
