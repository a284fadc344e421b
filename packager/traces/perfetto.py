# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Perfetto's protobuf: packets with tracks, and with the begin and the end of slices on them.

Field numbers are those of Perfetto's .proto files, as the runtime writes them
(runtime/observe/trace/perfetto.cpp). Names are interned by sequence of packets.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from packager.errors import FormatError
from packager.files.reader import Reader
from packager.records import NamedTuple
from packager.traces.model import Lane, Trace
from packager.traces.protobuf import (
    Bytes,
    TooShortError,
    fields,
    message_at,
    number,
    text,
    varint,
    whole,
)
from packager.traces.recorder import MOST_TIME, Place, Recorder, construct, notes

FIRST = 1 << 16  # bytes that tell the format
LARGEST = 1 << 24  # bytes of a packet
DEEPEST = 1 << 10  # slices of a track that have begun and not ended
MOST_NAMES = 1 << 22
MOST_KEPT = 1 << 16  # decoded arguments
PACKET = 0x0A
# Patterns of nearly all packets: a begin or an instant with numbers and interned texts, and an end.
# Sizes have one byte, and the sequence is 1.
_SIZE, _NUMBER = rb"([\x00-\x7f])", rb"([\x80-\xff]{0,9}[\x00-\x7f])"
_TEXT_FIELD = b"\x88\x01"
USUAL = re.compile(
    rb"\x0a%(s)b\x40%(n)b\x50\x01\x68\x02\x5a%(s)b\x48([\x01\x03])\x58%(n)b\x50%(n)b"
    rb"((?:\x22[\x00-\x7f]\x08[\x00-\x7f](?:\x18|\x88\x01)[\x80-\xff]{0,9}[\x00-\x7f])*)"
    % {b"s": _SIZE, b"n": _NUMBER}
)
USUAL_ARGUMENT = re.compile(rb"\x22%b\x08%b(\x18|\x88\x01)%b" % (_SIZE, _SIZE, _NUMBER))
USUAL_END = re.compile(
    rb"\x0a%b\x40%b\x50\x01\x5a%b\x48\x02\x58%b" % (_SIZE, _NUMBER, _SIZE, _NUMBER)
)
BEGIN, END, INSTANT = 1, 2, 3


class _Event(NamedTuple):
    """A TrackEvent."""

    kind: int
    track: int
    name: int  # interned
    args: dict[str, object]
    own_name: str = ""


def probe(data: Reader) -> bool:
    """Return whether the file begins with a packet."""
    start = data.bytes(0, min(len(data), FIRST))
    if start[0] != PACKET:
        return False
    try:
        length, at = varint(start, 1)
        return all(field > 0 for field, _ in fields(start, at, at + length))
    except TooShortError:
        return len(start) == FIRST  # the packet is large
    except FormatError:
        return False


def read(data: Reader, seen: Callable[[int], None]) -> Trace:
    """Read a trace. Raises FormatError with the place of a malformed part."""
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
        self._names: dict[tuple[int, int], str] = {}  # names of events, by sequence and number
        self._keys: dict[tuple[int, int], str] = {}  # names of arguments
        self._texts: dict[tuple[int, int], str] = {}  # values of arguments
        self._open: dict[int, list[tuple[int, _Event, int]]] = {}  # begun, not ended
        self._runs: dict[bytes, dict[str, object]] = {}  # decoded arguments, by their bytes
        self._places: dict[tuple[object, ...], tuple[Lane, int]] = {}  # places of events, by values
        self._last = 0
        self._unused: Counter[str] = Counter()

    def read(self, data: bytes, offset: int) -> int:
        """Take all whole packets, and return where the rest begins; `offset` is for messages."""
        at = 0
        try:
            while at < len(data):
                at = self._usual(data, at) or self._packet(data, at)
        except TooShortError:
            pass
        except FormatError as error:
            raise FormatError(f"packet at {offset + at:#x}: {error}") from error
        return at

    def _usual(self, data: bytes, at: int) -> int:
        """Take a packet as nearly all are, with its end, and return where they end; 0 for others.

        The runtime writes a span when it has ended: both packets follow each other.
        """
        found = USUAL.match(data, at)
        if not found:
            return 0
        size, begun, inner, kind, track, name, run = found.groups()
        end = found.end()
        start = found.start(4) - 1  # the event's start
        args = self._usual_arguments(run)
        if args is None or (start + inner[0], at + 2 + size[0]) != (end, end):
            return 0
        event = _Event(kind[0], varint(track, 0)[0], varint(name, 0)[0], args)
        ended = USUAL_END.match(data, end) if event.kind == BEGIN else None
        time = varint(begun, 0)[0]
        if ended is None or ended[4] != track or not _is_end(ended):
            self._add(event, time, 1)
            return end
        duration = varint(ended[2], 0)[0] - time
        self._add_span(time, max(0, duration), event, 1)
        return ended.end()

    def _usual_arguments(self, run: bytes) -> dict[str, object] | None:
        """Return the values of arguments; None if their sizes are wrong."""
        args = self._runs.get(run)
        if args is not None:
            return args
        args = {}
        for size, key, field, value in USUAL_ARGUMENT.findall(run):
            if size[0] != len(field) + len(value) + 2:
                return None
            found = varint(value, 0)[0]
            is_text = field == _TEXT_FIELD
            name = self._keys.get((1, key[0]), "")
            args[name] = self._texts.get((1, found), "") if is_text else found
        if "construct" not in args and "host" not in args:  # the others come again
            if len(self._runs) >= MOST_KEPT:
                self._runs.clear()
            self._runs[run] = args
        return args

    def _packet(self, data: bytes, at: int) -> int:
        field, at, size = message_at(data, at)
        end = at + size
        if end > len(data):
            raise TooShortError
        if field != 1:
            return end
        time, sequence, event = 0, 0, None
        interned: list[Bytes] = []
        for field, value in whole(data, at, end):
            if field == 8 and isinstance(value, int):
                time = value
            elif field == 10 and isinstance(value, int):
                sequence = value
            elif field == 13 and isinstance(value, int) and value & 1:
                self._forget(sequence)
            elif field == 12 and isinstance(value, Bytes):
                interned.append(value)
            elif field == 60 and isinstance(value, Bytes):
                self._describe(data, value)
            elif field == 11 and isinstance(value, Bytes):
                event = value
        for span in interned:
            self._intern(data, span, sequence)
        if event:
            self._add(self._event(data, event, sequence), time, sequence)
        return end

    def _forget(self, sequence: int) -> None:
        """Drop the interned names of a sequence that begins anew."""
        self._forget_places()
        for names in (self._names, self._keys, self._texts):
            for key in [key for key in names if key[0] == sequence]:
                del names[key]

    def _forget_places(self) -> None:
        self._runs.clear()
        self._places.clear()

    def _describe(self, data: bytes, span: Bytes) -> None:
        track = dict(whole(data, *span))
        name = text(data, track.get(2))
        self._tracks[number(track.get(1))] = (name, number(track.get(5)))
        if len(self._tracks) > MOST_NAMES:
            raise FormatError(f"more than {MOST_NAMES} tracks are not read")

    def _intern(self, data: bytes, span: Bytes, sequence: int) -> None:
        for field, value in whole(data, *span):
            tables = {2: self._names, 3: self._keys, 29: self._texts}
            names = tables.get(field)
            if names is None or not isinstance(value, Bytes):
                continue
            entry = dict(whole(data, *value))
            key = (sequence, number(entry.get(1)))
            if key in names:  # the name gets another meaning
                self._forget_places()
            names[key] = text(data, entry.get(2))
            if len(names) > MOST_NAMES:
                raise FormatError(f"more than {MOST_NAMES} names are not read")

    def _add(self, event: _Event, time: int, sequence: int) -> None:
        """Take an event."""
        if event.kind == END:
            begun = self._open.get(event.track)
            if begun:
                start, first, sequence = begun.pop()
                self._add_span(start, max(0, time - start), first, sequence)
            else:
                self._unused["ends without a begin"] += 1
            return
        if event.kind == INSTANT:
            self._add_span(time, 0, event, sequence)
        elif event.kind == BEGIN:
            begun = self._open.setdefault(event.track, [])
            if len(begun) >= DEEPEST:
                raise FormatError(f"more than {DEEPEST} slices of a track have begun and not ended")
            begun.append((time, event, sequence))
        else:
            self._unused[f"events of type {event.kind}"] += 1

    def _event(self, data: bytes, span: Bytes, sequence: int) -> _Event:
        kind = track = name = 0
        own_name = ""
        args: dict[str, object] = {}
        for field, value in whole(data, *span):
            if field == 9 and isinstance(value, int):
                kind = value
            elif field == 11 and isinstance(value, int):
                track = value
            elif field == 10 and isinstance(value, int):
                name = value
            elif field == 23:
                own_name = text(data, value)
            elif field == 4 and isinstance(value, Bytes):
                self._argument(data, value, sequence, args)
        return _Event(kind, track, name, args, own_name)

    def _argument(self, data: bytes, span: Bytes, sequence: int, args: dict[str, object]) -> None:
        key = ""
        found: object = None
        for field, value in whole(data, *span):
            if field == 1 and isinstance(value, int):
                key = self._keys.get((sequence, value), "")
            elif field == 10:
                key = text(data, value)
            elif field == 6:
                found = text(data, value)
            elif field == 17 and isinstance(value, int):
                found = self._texts.get((sequence, value), "")
            elif field in (2, 3, 4):
                found = value
        args[key] = found

    def _add_span(self, start: int, duration: int, event: _Event, sequence: int) -> None:
        if start + duration > MOST_TIME:
            raise FormatError(f"timestamp {start + duration} is no time in nanoseconds")
        args = event.args
        get = args.get
        key = (
            event.track,
            sequence,
            event.name,
            event.own_name,
            get("source"),
            get("reason"),
            get("entry"),
            get("device"),
            get("references"),
            get("failed"),
        )
        lane, label = self._places.get(key) or self._found(key, event, sequence)
        size = self.recorder.size(args["bytes"]) if "bytes" in args else 0
        lane.add(start, duration, label, construct(get("construct")), size)
        if start + duration > self._last:
            self._last = start + duration

    def _found(self, key: tuple[object, ...], event: _Event, sequence: int) -> tuple[Lane, int]:
        """Return the lane and the label of an event with these values."""
        if len(self._places) >= MOST_KEPT:
            self._places.clear()
        name = event.own_name or self._names.get((sequence, event.name), "")
        label, is_transfer = self.recorder.label(event.args | {"name": name})
        self._places[key] = self.recorder.lane(event.track, is_transfer), label
        return self._places[key]

    def trace(self, is_cut: bool) -> Trace:
        """Return the trace, with notes on missing parts."""
        unended = 0
        for begun in self._open.values():
            while begun:
                start, event, sequence = begun.pop()
                self._add_span(start, max(0, self._last - start), event, sequence)
                unended += 1
        found = notes(is_cut=is_cut, unended=unended, unused=self._unused)
        return self.recorder.trace(self._place, list(found))

    def _place(self, key: Any) -> Place:
        name, parent = self._tracks.get(key, ("", 0))
        process, _ = self._tracks.get(parent, ("", 0))
        return Place(process or f"process {parent}", name or f"track {key}", (parent,))


def _is_end(found: re.Match[bytes]) -> bool:
    """Return whether the sizes of a packet that ends a span are right."""
    event = len(found[4]) + 3
    return found[3][0] == event and found[1][0] == event + len(found[2]) + 5
