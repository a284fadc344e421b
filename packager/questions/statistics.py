# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sum up a trace: times and sizes of its constructs, kernels, copies and waits."""

from __future__ import annotations

from array import array
from collections.abc import Iterator

from packager.records import NamedTuple
from packager.traces.model import (
    CONSTRUCT,
    FALLBACK,
    KERNEL,
    KINDS,
    ROUTINE,
    TO_DEVICE,
    TO_HOST,
    TRANSFERS,
    WAIT,
    Label,
    Lane,
    Trace,
)


class Times:
    """Durations of events that belong together, in nanoseconds, and the bytes that they moved."""

    def __init__(self) -> None:
        self.durations = array("d")
        self.bytes = 0

    def add(self, duration: float, size: int = 0) -> None:
        """Count an event."""
        self.durations.append(duration)
        self.bytes += size

    @property
    def count(self) -> int:
        """Return the number of events."""
        return len(self.durations)

    @property
    def total(self) -> float:
        """Return the sum."""
        return sum(self.durations)

    def median(self) -> float:
        """Return the median."""
        ordered = sorted(self.durations)
        middle = len(ordered) // 2
        return ordered[middle] if len(ordered) % 2 else sum(ordered[middle - 1 : middle + 1]) / 2


class Construct:
    """All runs of a construct or device routine: a region, or a place in the source."""

    def __init__(self) -> None:
        self.times = Times()
        self.copies = 0
        self.to_device = 0
        self.to_host = 0
        self.between = 0  # devices
        self.reasons: dict[str, int] = {}  # how often it fell back for each

    @property
    def fallbacks(self) -> int:
        """Return how often it ran on the host, as no device could run it."""
        return sum(self.reasons.values())

    @property
    def bytes(self) -> int:
        """Return the bytes of all its copies."""
        return self.to_device + self.to_host + self.between

    def add_copy(self, kind: int, size: int) -> None:
        """Count a copy."""
        self.copies += 1
        if kind == TO_DEVICE:
            self.to_device += size
        elif kind == TO_HOST:
            self.to_host += size
        else:
            self.between += size


class Called(NamedTuple):
    """A construct's directive or routine, its region's entry, and its place in the source."""

    what: str
    entry: str = ""
    source: str = ""


class Statistics:
    """The sums of a trace, each in the order of first events."""

    def __init__(self) -> None:
        self.constructs: dict[Called, Construct] = {}
        self.kernels: dict[tuple[str, str], Times] = {}  # keyed by name and device
        self.copies: dict[tuple[str, str], Times] = {}  # keyed by direction and device
        self.waits: dict[Called, Times] = {}  # keyed by the construct that waited


def statistics(trace: Trace) -> Statistics:
    """Return the sums of a trace."""
    return _Reading(trace).found()


class _Reading:
    """The events of a trace, read twice: copies name their constructs by number alone."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._found = Statistics()
        self._owners: dict[int, Called] = {}  # keyed by the number of a construct
        self._called: dict[int, Called] = {}  # keyed by the number of a label

    def found(self) -> Statistics:
        """Read all lanes."""
        for lane in self._trace.lanes:
            for kind, event in self._events(lane):
                if kind in (CONSTRUCT, ROUTINE):
                    self._add_construct(lane, event)
        for lane in self._trace.lanes:
            for kind, event in self._events(lane):
                if kind in TRANSFERS:
                    self._add_copy(lane, kind, event)
                elif kind == FALLBACK:
                    self._add_fallback(lane, event)
                elif kind in (KERNEL, WAIT):
                    self._add_other(lane, kind, event)
        return self._found

    def _events(self, lane: Lane) -> Iterator[tuple[int, int]]:
        """Yield the kind and the number of each event."""
        kinds = self._trace.kinds(lane.own_kind)
        return ((kinds[label], event) for event, label in enumerate(lane.labels))

    def _label(self, lane: Lane, event: int) -> Label:
        return self._trace.labels[lane.labels[event]]

    def _add_construct(self, lane: Lane, event: int) -> None:
        number = lane.labels[event]
        if number not in self._called:
            label = self._trace.labels[number]
            self._called[number] = Called(label.name, label.entry, label.source)
        called = self._called[number]
        self._construct(called).times.add(lane.durations[event])
        if construct := lane.constructs[event]:
            self._owners[construct] = called

    def _construct(self, called: Called) -> Construct:
        constructs = self._found.constructs
        return constructs.get(called) or constructs.setdefault(called, Construct())

    def _add_copy(self, lane: Lane, kind: int, event: int) -> None:
        size = self._trace.sizes[lane.sizes[event]]
        times = self._found.copies.setdefault((KINDS[kind], lane.process), Times())
        times.add(lane.durations[event], size)
        if owner := self._owners.get(lane.constructs[event]):
            self._construct(owner).add_copy(kind, size)

    def _add_fallback(self, lane: Lane, event: int) -> None:
        label = self._label(lane, event)
        owner = self._owners.get(lane.constructs[event])
        found = self._construct(owner or Called("target", label.entry, label.source))
        found.reasons[label.reason] = found.reasons.get(label.reason, 0) + 1

    def _add_other(self, lane: Lane, kind: int, event: int) -> None:
        label = self._label(lane, event)
        if kind == KERNEL:
            times = self._found.kernels.setdefault((label.name, lane.process), Times())
        else:
            owner = self._owners.get(lane.constructs[event]) or Called(label.name)
            times = self._found.waits.setdefault(owner, Times())
        times.add(lane.durations[event])
