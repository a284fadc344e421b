# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Perfetto's protobuf: packets with tracks, and with the begin and the end of slices on them.

Field numbers are those of Perfetto's .proto files, as the runtime writes them
(runtime/libomptarget/observe/trace/perfetto.cpp). Names are interned by sequence of packets.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from packager.errors import FormatError
from packager.files.reader import Reader
from packager.records import NamedTuple
from packager.traces.model import Trace
from packager.traces.recorder import MOST_TIME, Place, Recorder, construct

FIRST = 1 << 16  # bytes that tell the format
LARGEST = 1 << 24  # bytes of a packet
DEEPEST = 1 << 10  # slices of a track that have begun and not ended
MOST_NAMES = 1 << 22
MOST_KEPT = 1 << 16  # decoded events
PACKET = 0x0A
# How nearly all packets begin: a length of one byte, a timestamp, sequence 1, and an event.
USUAL = re.compile(
    rb"\x0a([\x00-\x7f])\x40([\x80-\xff]{0,8}[\x00-\x7f])\x50\x01(?:\x68\x02)?\x5a([\x00-\x7f])",
    re.DOTALL,
)
BEGIN, END, INSTANT = 1, 2, 3


class _Span(NamedTuple):
    """A field of bytes: where they are."""

    begin: int
    end: int


class _Event(NamedTuple):
    """A TrackEvent."""

    kind: int
    track: int
    name: int | str  # interned, or itself
    args: dict[str, object]


class _TooShortError(ValueError):
    """More bytes are needed."""


def probe(data: Reader) -> bool:
    """Return whether the file begins with a packet."""
    start = data.bytes(0, min(len(data), FIRST))
    if start[0] != PACKET:
        return False
    try:
        length, at = _varint(start, 1)
        return all(number > 0 for number, _ in _fields(start, at, at + length))
    except (FormatError, _TooShortError):
        return False


def read(data: Reader, seen: Callable[[int], None]) -> Trace:
    """Return the trace. Raises FormatError with the place of what is malformed."""
    packets = _Packets()
    rest, offset = b"", 0
    for piece in data.pieces():
        seen(offset)
        rest += piece
        done = packets.read(rest, offset)
        rest, offset = rest[done:], offset + done
        if len(rest) > LARGEST:
            raise FormatError(f"packet at {offset:#x} is larger than {LARGEST} bytes")
        packets.recorder.check_size()
    return packets.trace(is_cut=bool(rest))


class _Packets:
    """The packets that have been read so far."""

    def __init__(self) -> None:
        self.recorder = Recorder()
        self._tracks: dict[int, tuple[str, int]] = {}  # the name and the parent of each
        self._names: dict[tuple[int, int], str] = {}  # of events, by sequence and number
        self._keys: dict[tuple[int, int], str] = {}  # of arguments
        self._open: dict[int, list[tuple[int, _Event, str]]] = {}  # begun, not ended
        self._kept: dict[bytes, _Event] = {}  # decoded events without a construct, by their bytes
        self._labels: dict[tuple[object, ...], tuple[int, bool]] = {}
        self._last = 0
        self._unused: Counter[str] = Counter()

    def read(self, data: bytes, offset: int) -> int:
        """Take all whole packets, and return where the rest begins; `offset` is for messages."""
        at = 0
        try:
            while at < len(data):
                at = self._usual(data, at) or self._packet(data, at)
        except _TooShortError:
            pass
        except FormatError as error:
            raise FormatError(f"packet at {offset + at:#x}: {error}") from error
        return at

    def _usual(self, data: bytes, at: int) -> int:
        """Take a packet as nearly all are, and return where it ends; 0 for any other."""
        found = USUAL.match(data, at)
        if not found:
            return 0
        begin = found.end()
        end = begin + found[3][0]
        if end != at + 2 + found[1][0] or end > len(data):
            return 0
        self._add(data[begin:end], _varint(found[2], 0)[0], 1)
        return end

    def _packet(self, data: bytes, at: int) -> int:
        number, at, size = _length(data, at)
        end = at + size
        if end > len(data):
            raise _TooShortError
        if number != 1:
            return end
        time, sequence, event = 0, 0, None
        interned: list[_Span] = []
        for number, value in _whole(data, at, end):
            if number == 8 and type(value) is int:
                time = value
            elif number == 10 and type(value) is int:
                sequence = value
            elif number == 13 and type(value) is int and value & 1:
                self._forget(sequence)
            elif number == 12 and type(value) is _Span:
                interned.append(value)
            elif number == 60 and type(value) is _Span:
                self._describe(data, value)
            elif number == 11 and type(value) is _Span:
                event = value
        for span in interned:
            self._intern(data, span, sequence)
        if event:
            self._add(data[event.begin : event.end], time, sequence)
        return end

    def _forget(self, sequence: int) -> None:
        """A sequence begins anew."""
        self._kept.clear()
        for names in (self._names, self._keys):
            for key in [key for key in names if key[0] == sequence]:
                del names[key]

    def _describe(self, data: bytes, span: _Span) -> None:
        fields = dict(_whole(data, *span))
        name = _text(data, fields.get(2))
        self._tracks[_int(fields.get(1))] = (name, _int(fields.get(5)))
        if len(self._tracks) > MOST_NAMES:
            raise FormatError(f"more than {MOST_NAMES} tracks are not read")

    def _intern(self, data: bytes, span: _Span, sequence: int) -> None:
        for number, value in _whole(data, *span):
            names = {2: self._names, 3: self._keys}.get(number)
            if names is None or type(value) is not _Span:
                continue
            fields = dict(_whole(data, *value))
            names[sequence, _int(fields.get(1))] = _text(data, fields.get(2))
            if len(names) > MOST_NAMES:
                raise FormatError(f"more than {MOST_NAMES} names are not read")

    def _add(self, data: bytes, time: int, sequence: int) -> None:
        """Take an event."""
        if time >= MOST_TIME:
            raise FormatError(f"timestamp {time} is no time in nanoseconds")
        event = self._kept.get(data) if sequence == 1 else None
        if event is None:
            event = self._event(data, sequence)
        if event.kind == END:
            begun = self._open.get(event.track)
            if begun:
                start, first, name = begun.pop()
                self._add_span(start, max(0, time - start), first, name)
            else:
                self._unused["ends without a begin"] += 1
            return
        name = event.name if type(event.name) is str else self._names.get((sequence, event.name), "")
        if event.kind == INSTANT:
            self._add_span(time, 0, event, name)
        elif event.kind == BEGIN:
            begun = self._open.setdefault(event.track, [])
            if len(begun) >= DEEPEST:
                raise FormatError(f"more than {DEEPEST} slices of a track have begun and not ended")
            begun.append((time, event, name))
        else:
            self._unused[f"events of type {event.kind}"] += 1

    def _event(self, data: bytes, sequence: int) -> _Event:
        kind = track = 0
        name: int | str = 0
        args: dict[str, object] = {}
        for number, value in _whole(data, 0, len(data)):
            if number == 9 and type(value) is int:
                kind = value
            elif number == 11 and type(value) is int:
                track = value
            elif number == 10 and type(value) is int:
                name = value
            elif number == 23 and type(value) is _Span:
                name = _text(data, value)
            elif number == 4 and type(value) is _Span:
                self._argument(data, value, sequence, args)
        event = _Event(kind, track, name, args)
        if "construct" not in args and "host" not in args and sequence == 1:
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            self._kept[data] = event
        return event

    def _argument(self, data: bytes, span: _Span, sequence: int, args: dict[str, object]) -> None:
        key = ""
        found: object = None
        for number, value in _whole(data, *span):
            if number == 1 and type(value) is int:
                key = self._keys.get((sequence, value), "")
            elif number == 10:
                key = _text(data, value)
            elif number == 6:
                found = _text(data, value)
            elif number in (2, 3, 4):
                found = value
        args[key] = found

    def _add_span(self, start: int, duration: int, event: _Event, name: str) -> None:
        get = event.args.get
        key = (name, get("source"), get("reason"), get("references"), get("failed"))
        label = self._labels.get(key)
        if label is None:
            label = self._labels[key] = self.recorder.label(event.args | {"name": name})
        lane = self.recorder.lane(event.track, label[1])
        size = self.recorder.size(get("bytes"))
        lane.add(start, duration, label[0], construct(get("construct")), size)
        if start + duration > self._last:
            self._last = start + duration

    def trace(self, is_cut: bool) -> Trace:
        """Return the whole, with what is missing."""
        unended = 0
        for begun in self._open.values():
            while begun:
                start, event, name = begun.pop()
                self._add_span(start, max(0, self._last - start), event, name)
                unended += 1
        return self.recorder.trace(self._place, list(self._notes(is_cut, unended)))

    def _notes(self, is_cut: bool, unended: int) -> Iterator[str]:
        if is_cut:
            yield "the trace has no end: later events are missing"
        if unended:
            yield f"{unended} events that do not end are drawn up to the end of the trace"
        if self._unused:
            unused = ", ".join(f"{count} {what}" for what, count in self._unused.most_common(6))
            yield f"the timeline does not show {unused}"

    def _place(self, key: Any) -> Place:
        name, parent = self._tracks.get(key, ("", 0))
        process, _ = self._tracks.get(parent, ("", 0))
        return Place(process or f"process {parent}", name or f"track {key}", (parent,))


# ---- protobuf ----


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number, and where it ends. Raises _TooShortError where the data ends before."""
    number = shift = 0
    try:
        while (byte := data[at]) >= 0x80:
            number |= (byte & 0x7F) << shift
            shift += 7
            at += 1
            if shift > 63:
                raise FormatError("a number has more than ten bytes")
    except IndexError as error:
        raise _TooShortError from error
    return number | byte << shift, at + 1


def _length(data: bytes, at: int) -> tuple[int, int, int]:
    """Return the number of a field of bytes, where they begin, and how many they are."""
    tag, at = _varint(data, at)
    if tag & 7 != 2:
        raise FormatError(f"tag {tag:#x} is not that of a packet")
    size, at = _varint(data, at)
    return tag >> 3, at, size


def _fields(data: bytes, at: int, end: int) -> Iterator[tuple[int, int | _Span]]:
    """Yield each field of a message: its number, and its value or where its bytes are."""
    while at < end:
        tag, at = _varint(data, at)
        wire = tag & 7
        if wire == 0:
            value, at = _varint(data, at)
            if at > end:
                raise FormatError(f"field {tag >> 3} runs past its message")
            yield tag >> 3, value
            continue
        if wire not in (1, 2, 5):
            raise FormatError(f"field {tag >> 3} has the unknown wire type {wire}")
        size, at = _varint(data, at) if wire == 2 else (8 if wire == 1 else 4, at)
        if size > end - at:
            raise FormatError(f"field {tag >> 3} of {size} bytes runs past its message")
        if wire == 2:
            yield tag >> 3, _Span(at, at + size)
        at += size


def _whole(data: bytes, at: int, end: int) -> Iterator[tuple[int, int | _Span]]:
    """Yield the fields of a message that is here as a whole."""
    try:
        yield from _fields(data, at, end)
    except _TooShortError as error:
        raise FormatError("a field runs past its packet") from error


def _text(data: bytes, value: object) -> str:
    if type(value) is not _Span:
        return ""
    return data[value.begin : value.end].decode("utf-8", "backslashreplace")


def _int(value: object) -> int:
    return value if type(value) is int else 0
