# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small traces as Chrome's events, and traces as rows that tests compare."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from packager.traces.load import load
from packager.traces.model import KINDS, Trace

HOST: dict[str, Any] = {
    "ph": "M",
    "pid": 1,
    "name": "process_name",
    "args": {"name": "host, process 7"},
}
DEVICE: dict[str, Any] = {
    "ph": "M",
    "pid": 2,
    "name": "process_name",
    "args": {"name": "device 0 (host)"},
}
END: dict[str, Any] = {"ph": "M", "pid": 1, "name": "trace_end", "args": {}}


class Row(NamedTuple):
    """An event of a trace."""

    process: str
    lane: str
    name: str
    kind: str
    start: float
    duration: float
    construct: int
    size: int


def span(name: str, begin: float, length: float, pid: int = 1, **args: object) -> dict[str, Any]:
    """Return an event of a thread of the host, or of a device."""
    place = {"pid": pid, "tid": 1, "ts": begin, "dur": length}
    return {"ph": "X", **place, "name": name, "args": args}


def written(path: Path, *events: object) -> Path:
    """Write a whole trace of the runtime's, with these events."""
    lines = [json.dumps(event) for event in (HOST, DEVICE, *events, END)]
    path.write_text("[\n" + ",\n".join(lines) + "]\n")
    return path


def read(path: Path) -> list[Row]:
    """Return the events of a trace."""
    return rows_of(load(path))


def rows_of(trace: Trace) -> list[Row]:
    """Return the events of a trace, lane by lane."""
    found = []
    for lane in trace.lanes:
        kinds = trace.kinds(lane.own_kind)
        for at, label in enumerate(lane.labels):
            times = (lane.starts[at], lane.durations[at])
            name, kind = trace.labels[label].name, KINDS[kinds[label]]
            size = trace.sizes[lane.sizes[at]]
            found.append(
                Row(lane.process, lane.name, name, kind, *times, lane.constructs[at], size)
            )
    return found
