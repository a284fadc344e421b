# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table in which the checker of the runtime records findings (runtime's observe/check/findings.h)."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import NamedTuple

HEADER = struct.Struct("<8sIIIII36x")  # magic, records, record size, used, lost, options
NUMBERS = struct.Struct("<QQQQQQQIIii")
TEXTS = (504, 120, 392, 480, 480)  # bytes of message, variable, entry, source, call_file
RECORD_SIZE = 2048
RECORDS = 256
FULL = 2  # the level of --check=full


class Finding(NamedTuple):
    """One record."""

    code: str  # OMP321
    count: int
    bytes: int
    size: int  # of the object
    call: int  # behind an instruction, in call_file
    kernel: int  # an instruction in the kernel's image
    message: str
    variable: str
    entry: str
    source: str  # file:line:column of the construct
    call_file: str


def make_table(path: Path, level: int = FULL) -> Path:
    """Make an empty table."""
    header = HEADER.pack(b"OMPTCHK1", RECORDS, RECORD_SIZE, 0, 0, level)
    path.write_bytes(header + bytes(RECORDS * RECORD_SIZE))
    return path


def findings(path: Path) -> list[Finding]:
    """Return what a program has recorded, in order."""
    table = path.read_bytes()
    found: dict[int, Finding] = {}
    for at in range(HEADER.size, len(table), RECORD_SIZE):
        _, count, total, _, size, call, kernel, number, code, *_ = NUMBERS.unpack_from(table, at)
        if number == 0:  # nobody has filled it in
            continue
        texts, begin = [], at + NUMBERS.size
        for length in TEXTS:
            texts.append(table[begin : begin + length].partition(b"\0")[0].decode())
            begin += length
        found[number] = Finding(f"OMP{code}", count, total, size, call, kernel, *texts)
    return [found[number] for number in sorted(found)]
