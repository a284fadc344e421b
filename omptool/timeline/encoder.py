# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Encode a trace for the page: tables as JSON, events as columns in base64.

An event takes 25 bytes. Events of a row follow each other, and so do the rows of a lane, so no
column names them.
"""

from __future__ import annotations

import json
import sys
from array import array
from base64 import b64encode
from collections.abc import Iterator, Mapping
from typing import Any

from omptool.timeline.rows import Rows, rows
from packager.naming.region_names import short_names
from packager.traces.model import CONSTRUCT, FALLBACK, KINDS, Label, Lane, Trace
from packager.traces.recorder import clean

# Name, type and size of a column. `start` and `duration` are in nanoseconds; `label` and `size` are
# indices of tables, `construct` is 0 for none, `kind` is an index into KINDS.
COLUMNS = (
    ("start", "d", 8),
    ("duration", "f", 4),
    ("label", "I", 4),
    ("construct", "I", 4),
    ("size", "I", 4),
    ("kind", "B", 1),
)
PIECE = 3 << 18  # bytes that are encoded at a time: base64 takes three by three


class Encoded:
    """A trace in the order of its rows."""

    def __init__(self, trace: Trace, title: str) -> None:
        self._columns: dict[str, array[Any]] = {name: array(code) for name, code, _ in COLUMNS}
        self._kinds: dict[int, bytes] = {}  # labels' kinds, by the lane's own kind
        notes = list(trace.notes)
        lanes = [self._lane(trace, lane) for lane in trace.lanes]
        left_out = sum(lane.pop("left_out") for lane in lanes)
        if left_out:
            notes.append(f"the timeline does not show {left_out} events that are nested too deeply")
        self.notes = notes
        self._mark_fallbacks()
        texts: dict[str, int] = {}
        short = short_names(map(_named, trace.labels))
        self._tables = {
            "title": title,
            "notes": notes,
            "kinds": KINDS,
            "lanes": lanes,
            "sizes": trace.sizes,
            "labels": [
                [
                    *(
                        texts.setdefault(one, len(texts))
                        for one in (_shown(label, short), *label[:4])
                    ),
                    label.references,
                    label.device,
                    label.failed,
                ]
                for label in trace.labels
            ],
            "texts": texts,
        }
        self._tables["texts"] = list(texts)

    def _lane(self, trace: Trace, lane: Lane) -> dict[str, Any]:
        """Append a lane's events, and return the row of its table."""
        sorted_rows = rows(lane)
        own = lane.own_kind
        kinds = self._kinds.get(own) or self._kinds.setdefault(own, trace.kinds(own))
        for row in (*sorted_rows.spans, sorted_rows.instants):
            self._add(lane, row, kinds)
        return _described(lane, sorted_rows)

    def _add(self, lane: Lane, row: array[int], kinds: bytes) -> None:
        columns = self._columns
        columns["start"].extend(lane.starts[event] for event in row)
        columns["duration"].extend(lane.durations[event] for event in row)
        columns["label"].extend(lane.labels[event] for event in row)
        columns["construct"].extend(lane.constructs[event] for event in row)
        columns["size"].extend(lane.sizes[event] for event in row)
        columns["kind"].extend(kinds[lane.labels[event]] for event in row)

    def _mark_fallbacks(self) -> None:
        """Make a construct that fell back one of the fallbacks."""
        kinds, constructs = self._columns["kind"], self._columns["construct"]
        fallen = {constructs[at] for at, kind in enumerate(kinds) if kind == FALLBACK} - {0}
        for at, construct in enumerate(constructs) if fallen else ():
            if kinds[at] == CONSTRUCT and construct in fallen:
                kinds[at] = FALLBACK

    def tables(self) -> str:
        """Return the tables as JSON that HTML cannot mistake for its own."""
        text = json.dumps(self._tables, separators=(",", ":"))
        return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")

    def columns(self) -> Iterator[tuple[str, Iterator[bytes]]]:
        """Yield the name of each column, and its base64, little-endian."""
        return ((name, _base64(self._columns[name])) for name, _, _ in COLUMNS)


def _named(label: Label) -> str:
    """Return the name of an event, or of the region that fell back."""
    return label.entry or label.name


def _shown(label: Label, short: Mapping[str, str]) -> str:
    """Return an event's display name: for a kernel, its function and line."""
    name = _named(label)
    return clean(short[name]) if name in short else name


def _described(lane: Lane, sorted_rows: Rows) -> dict[str, Any]:
    return {
        "process": lane.process,
        "name": lane.name,
        "device": lane.device,
        "rows": [len(row) for row in sorted_rows.spans],
        "instants": len(sorted_rows.instants),
        "left_out": sorted_rows.left_out,
    }


def _base64(column: array[Any]) -> Iterator[bytes]:
    if sys.byteorder == "big":
        column = column[:]
        column.byteswap()
    data = memoryview(column).cast("B")
    for at in range(0, len(data), PIECE):
        yield b64encode(data[at : at + PIECE])
