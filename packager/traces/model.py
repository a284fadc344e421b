# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A trace as data: lanes of events, in columns, as there may be millions of them."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from packager.records import NamedTuple

# Kinds of events; an event has an index into this.
KINDS = (
    "construct",
    "routine",
    "kernel",
    "copy to device",
    "copy to host",
    "copy between devices",
    "memory",
    "load",
    "wait",
    "mapping",
    "fallback",
    "other",
)
CONSTRUCT, ROUTINE, KERNEL, TO_DEVICE, TO_HOST, BETWEEN = range(6)
MEMORY, LOAD, WAIT, MAPPING, FALLBACK, OTHER = range(6, 12)
TRANSFERS = frozenset((TO_DEVICE, TO_HOST, BETWEEN))
# Names that the runtime gives to events (runtime/observe/trace/record.h).
KIND_OF_NAME = {
    "target": CONSTRUCT,
    "target enter data": CONSTRUCT,
    "target exit data": CONSTRUCT,
    "target update": CONSTRUCT,
    "routine": ROUTINE,
    "kernel": KERNEL,
    "copy to device": TO_DEVICE,
    "copy to host": TO_HOST,
    "copy between": BETWEEN,
    "allocate": MEMORY,
    "free": MEMORY,
    "associate": MEMORY,
    "disassociate": MEMORY,
    "fill": MEMORY,
    "load image": LOAD,
    "compile image": LOAD,
    "wait": WAIT,
    "map": MAPPING,
    "unmap": MAPPING,
    "fallback": FALLBACK,
}


class Label(NamedTuple):
    """All that many events have in common."""

    name: str
    source: str = ""  # the place in the program, "FILE:LINE:COLUMN"
    reason: str = ""  # reason for a fallback
    entry: str = ""  # the region that fell back
    references: int | None = None  # references to a mapped object
    device: int | None = None  # the device that a construct of the host is for
    failed: bool = False


class Lane:
    """A thread, a queue, or the transfers of one: its events, in the order of the file."""

    def __init__(self, key: object, *, of_transfers: bool) -> None:
        self.key = key  # the reader's
        self.of_transfers = of_transfers
        self.process = ""
        self.name = ""
        self.device: int | None = None  # None: the host
        self.starts = array("d")  # nanoseconds
        self.durations = array("d")  # nanoseconds; 0: an instant
        self.labels = array("I")  # indices into Trace.labels
        self.constructs = array("I")  # 0: the event belongs to none
        self.sizes = array("I")  # indices into Trace.sizes

    def __len__(self) -> int:
        return len(self.starts)

    def add(self, start: int, duration: int, label: int, construct: int, size: int) -> None:
        """Append an event."""
        self.starts.append(start)
        self.durations.append(duration)
        self.labels.append(label)
        self.constructs.append(construct)
        self.sizes.append(size)

    @property
    def own_kind(self) -> int:
        """Return the kind of events with names of their own: kernels, routines, or any others."""
        if self.device is not None:
            return KERNEL
        return ROUTINE if self.process.startswith("host, process ") else OTHER


class Trace(NamedTuple):
    """A trace, with the lanes in the order in which they are drawn."""

    lanes: Sequence[Lane]
    labels: Sequence[Label]
    sizes: Sequence[int]  # bytes; the first is 0
    notes: Sequence[str]  # missing parts, a sentence each

    def __len__(self) -> int:
        return sum(map(len, self.lanes))

    def kinds(self, own_kind: int) -> bytes:
        """Return the kind of each label in lanes of this own kind."""
        return bytes(KIND_OF_NAME.get(label.name, own_kind) for label in self.labels)
