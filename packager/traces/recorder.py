# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Collect the events that a reader finds, within limits against hostile traces."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from packager.errors import LimitError
from packager.files.names import text
from packager.records import NamedTuple
from packager.traces.model import KIND_OF_NAME, OTHER, TRANSFERS, Label, Lane, Trace

MOST_EVENTS = 1 << 24
MOST_LANES = 1 << 12
MOST_TEXT = 1 << 26  # characters of all labels
MOST_LABELS = 1 << 20
LONGEST = 1 << 12  # characters of a name
MOST_NUMBER = (1 << 32) - 1
LARGEST = 1 << 53  # bytes: the page counts in doubles
MOST_TIME = 1 << 62  # nanoseconds

DEVICE = re.compile(r"device (\d{1,9})\b")


class Place(NamedTuple):
    """The names of a lane and its process, and the sort key of the process."""

    process: str
    lane: str
    rank: tuple[int | str, ...]


class Recorder:
    """The events of one trace."""

    def __init__(self) -> None:
        self._lanes: dict[tuple[object, bool], Lane] = {}
        self._labels: dict[Label, int] = {}
        self._sizes: dict[int, int] = {0: 0}
        self._text = 0

    def label(self, values: Mapping[str, object]) -> tuple[int, bool]:
        """Return the number of a label, and whether its events are transfers.

        Values of a wrong type count as missing: other programs use these names for other things.
        """
        label = Label(
            name=self._known(values.get("name")),
            source=self._known(values.get("source")),
            reason=self._known(values.get("reason")),
            entry=self._known(values.get("entry")),
            references=_number(values.get("references")),
            device=_number(values.get("device")),
            failed=bool(values.get("failed")),
        )
        number = self._labels.setdefault(label, len(self._labels))
        if len(self._labels) > MOST_LABELS:
            raise LimitError(f"more than {MOST_LABELS} names of events are not read")
        return number, KIND_OF_NAME.get(label.name, OTHER) in TRANSFERS

    def size(self, value: object) -> int:
        """Return the number of a size, in bytes."""
        if type(value) is int and 0 < value < LARGEST:
            return self._sizes.setdefault(value, len(self._sizes))
        return 0

    def lane(self, key: object, of_transfers: bool) -> Lane:
        """Return a lane of the reader's key; each has a second one for its transfers."""
        lane = self._lanes.get((key, of_transfers))
        if lane is None:
            if len(self._lanes) >= MOST_LANES:
                raise LimitError(f"more than {MOST_LANES} lanes are not read")
            lane = self._lanes[key, of_transfers] = Lane(key, of_transfers=of_transfers)
        return lane

    def check_size(self) -> None:
        """Raise LimitError for too many events. Readers call this from time to time."""
        if sum(map(len, self._lanes.values())) > MOST_EVENTS:
            raise LimitError(f"more than {MOST_EVENTS} events are not read")

    def trace(self, place: Callable[[object], Place], notes: Sequence[str]) -> Trace:
        """Return the trace; `place` names the lane of a key."""
        self.check_size()
        ranks: dict[Lane, tuple[object, ...]] = {}
        for lane in self._lanes.values():
            process, name, rank = place(lane.key)
            lane.process, name = clean(process), clean(name)
            lane.name = f"{name}, transfers" if lane.of_transfers else name
            device = DEVICE.match(lane.process)
            lane.device = int(device[1]) if device else None
            # Threads precede queues, whose work they start.
            ranks[lane] = (rank, not name.startswith("thread"), _natural(name), lane.of_transfers)
        lanes = sorted((lane for lane in ranks if lane), key=ranks.__getitem__)
        return Trace(lanes, list(self._labels), list(self._sizes), list(notes))

    def _known(self, value: object) -> str:
        if type(value) is not str or not value:
            return ""
        self._text += len(value)
        if self._text > MOST_TEXT:
            raise LimitError(f"names of events of more than {MOST_TEXT} characters are not read")
        return clean(value)


def construct(value: object) -> int:
    """Return the number of a construct, or 0."""
    return value if type(value) is int and 0 < value <= MOST_NUMBER else 0


def clean(name: str) -> str:
    """Return a name that is safe to show."""
    name = name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
    return text(name.encode("utf-8", "backslashreplace"))


def _number(value: object) -> int | None:
    return value if type(value) is int and 0 <= value <= MOST_NUMBER else None


def _natural(name: str) -> list[tuple[bool, int, str]]:
    """Return a sort key that puts "queue 10" after "queue 9"."""
    parts = re.findall(r"\d{1,18}|\D+", name[:200])
    return [(part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in parts]


def notes(*, is_cut: bool, unended: int, unused: Counter[str]) -> Iterator[str]:
    """Yield a sentence for each thing that the timeline lacks."""
    if is_cut:
        yield "the trace has no end: later events are missing"
    if unended:
        yield f"{unended} events that do not end are drawn up to the end of the trace"
    if unused:
        left_out = ", ".join(f"{count} {what}" for what, count in unused.most_common(6))
        yield f"the timeline does not show {left_out}"
