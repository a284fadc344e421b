# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that write a trace, and readers of both formats."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import running

# Constructs and routines of traced.c, by name.
CONSTRUCTS = Counter(
    {
        "target": 2,
        "target enter data": 2,
        "target exit data": 2,
        "target update": 1,
        "omp_target_alloc": 1,
        "omp_target_memcpy": 2,
        "omp_target_associate_ptr": 1,
        "omp_target_disassociate_ptr": 1,
        "omp_target_free": 1,
    }
)


def run(program: Path, trace: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the program so that it writes the trace."""
    return running.run(program, OMPTOOL_TRACE=str(trace), **environment)


def events_of(trace: Path) -> list[dict[str, Any]]:
    """Return the events of a trace of Chrome's, whole or not."""
    text = trace.read_text()
    return list(json.loads(text if text.endswith("]\n") else text.rstrip().rstrip(",") + "]"))


def spans(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [event for event in events if event["ph"] == "X"]


# ---- Perfetto's protobuf, by the numbers of its .proto files ----


class Field(NamedTuple):
    number: int
    value: int | bytes


def fields(data: bytes) -> Iterator[Field]:
    """Decode a message's fields."""
    at = 0

    def varint() -> int:
        nonlocal at
        number = shift = 0
        while True:
            byte = data[at]
            at += 1
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield Field(key >> 3, varint())
        else:
            assert key & 7 == 2
            size = varint()
            assert at + size <= len(data)
            yield Field(key >> 3, data[at : at + size])
            at += size


def only(data: bytes, number: int) -> Any:
    """Return a field's value; None where the message lacks it."""
    return next((field.value for field in fields(data) if field.number == number), None)
