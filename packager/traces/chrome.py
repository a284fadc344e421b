# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Chrome's trace events: an array of JSON objects, or an object with such an array.

https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU. The runtime writes
the array (runtime/observe/trace/json.cpp). A process that is killed leaves it without
its end.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from packager.errors import FormatError
from packager.files.reader import Reader
from packager.traces.json_text import JsonText
from packager.traces.model import Lane, Trace
from packager.traces.recorder import MOST_TIME, Place, Recorder, construct, notes

FIRST = 1 << 12  # bytes in which the array or object has to begin
MOST_MICROSECONDS = MOST_TIME / 1000
MOST_KEPT = 1 << 18  # places of events
NUMBERS = (int, float)  # excludes bool
DEEPEST = 1 << 10  # events of a thread that have begun and not ended
OWN = re.compile(r"host, (?:rank \d+, )?process \d+")


class _FaultError(ValueError):
    """An event is malformed."""


def probe(data: Reader) -> bool:
    """Return whether the file begins as JSON."""
    return data.bytes(0, min(len(data), FIRST)).lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"[", b"{")


def read(data: Reader, seen: Callable[[int], None]) -> Trace:
    """Read a trace. Raises FormatError with the place of a malformed part."""
    text = JsonText(data, seen)
    events = _Events()
    try:
        for number, event in enumerate(text.elements("traceEvents")):
            events.add(event)
            if number & 0xFFFF == 0:
                events.recorder.check_size()
    except _FaultError as fault:
        raise FormatError(f"event at {text.place():#x}: {fault}") from fault
    return events.trace(text.is_cut)


class _Events:
    """The events that have been read so far."""

    def __init__(self) -> None:
        self.recorder = Recorder()
        # Cache by the values in the file: most events repeat those of an earlier one.
        self._places: dict[tuple[object, ...], tuple[Lane, int]] = {}
        self._open: dict[object, list[tuple[int, dict[str, Any]]]] = {}  # begun, not ended
        self._names: dict[tuple[object, ...], str] = {}  # names of processes and threads
        self._has_end = False
        self._last = 0
        self._unused: Counter[str] = Counter()

    def add(self, event: Any) -> None:
        """Take an event. Raises _FaultError for a malformed one."""
        if type(event) is not dict:
            raise _FaultError("it is not an object")
        phase = event.get("ph")
        if phase == "X":
            self._add_span(event, _time(event, "ts"), _time(event, "dur"))
        elif phase in ("i", "I"):
            self._add_span(event, _time(event, "ts"), 0)
        elif phase == "M":
            self._add_name(event)
        elif phase == "B":
            self._begin(event)
        elif phase == "E":
            self._end(event)
        elif type(phase) is str:
            self._unused[f"events of phase {phase[:8]!r}"] += 1
        else:
            raise _FaultError("it has no phase (ph)")

    def _add_span(self, event: dict[str, Any], start: int, duration: int) -> None:
        if duration < 0:
            raise _FaultError(f"dur is {event['dur']}; a duration is at least 0")
        args = event.get("args")
        if type(args) is not dict:
            args = {}
        get = args.get
        key = (
            event.get("pid"),
            event.get("tid"),
            event.get("name"),
            get("source"),
            get("reason"),
            get("entry"),
            get("references"),
            get("device"),
            get("failed"),
        )
        try:
            lane, label = self._places.get(key) or self._places.setdefault(key, self._found(key))
        except TypeError:  # a list is no key
            lane, label = self._found(key)
        size = self.recorder.size(args["bytes"]) if "bytes" in args else 0
        lane.add(start, duration, label, construct(get("construct")), size)
        if start + duration > self._last:
            self._last = start + duration

    def _found(self, key: tuple[object, ...]) -> tuple[Lane, int]:
        """Return the lane and the label of an event with these values."""
        if len(self._places) >= MOST_KEPT:
            self._places.clear()
        process, thread, *values = key
        names = ("name", "source", "reason", "entry", "references", "device", "failed")
        label, is_transfer = self.recorder.label(dict(zip(names, values, strict=True)))
        return self.recorder.lane(_checked(process, thread), is_transfer), label

    def _begin(self, event: dict[str, Any]) -> None:
        begun = self._open.setdefault(_thread(event), [])
        if len(begun) >= DEEPEST:
            raise _FaultError(f"more than {DEEPEST} events of this thread have begun and not ended")
        begun.append((_time(event, "ts"), event))

    def _end(self, event: dict[str, Any]) -> None:
        begun = self._open.get(_thread(event))
        if not begun:
            self._unused["ends without a begin"] += 1
            return
        start, first = begun.pop()
        if type(event.get("args")) is dict and type(first.get("args", {})) is dict:
            first = first | {"args": first.get("args", {}) | event["args"]}
        self._add_span(first, start, max(0, _time(event, "ts") - start))

    def _add_name(self, event: dict[str, Any]) -> None:
        args, name = event.get("args"), event.get("name")
        named = args.get("name") if type(args) is dict else None
        if name == "trace_end":
            self._has_end = True
        elif name == "process_name" and type(named) is str:
            self._names[(_thread(event)[0],)] = named
        elif name == "thread_name" and type(named) is str:
            self._names[_thread(event)] = named

    def trace(self, is_cut: bool) -> Trace:
        """Return the trace, with notes on missing parts."""
        for begun in self._open.values():
            while begun:
                start, event = begun.pop()
                self._unused["events that do not end"] += 1
                self._add_span(event, start, max(0, self._last - start))
        is_own = any(OWN.fullmatch(name) for name in self._names.values())
        unended = self._unused.pop("events that do not end", 0)
        is_cut = is_cut or (is_own and not self._has_end)
        found = notes(is_cut=is_cut, unended=unended, unused=self._unused)
        return self.recorder.trace(self._place, list(found))

    def _place(self, key: Any) -> Place:
        process, thread = key
        return Place(
            self._names.get((process,), f"process {process}"),
            self._names.get(key, f"thread {thread}"),
            (0, process, "") if type(process) is int else (1, 0, str(process)),
        )


def _thread(event: dict[str, Any]) -> tuple[object, object]:
    return _checked(event.get("pid"), event.get("tid"))


def _checked(process: object, thread: object) -> tuple[object, object]:
    for value in (process, thread):
        if type(value) is not int and type(value) is not str and value is not None:
            raise _FaultError("pid and tid are numbers or names")
    return process, thread


def _time(event: dict[str, Any], key: str) -> int:
    """Return a time in nanoseconds."""
    value: Any = event.get(key)
    if type(value) in NUMBERS and -MOST_MICROSECONDS < value < MOST_MICROSECONDS:
        nanoseconds: int = round(value * 1000)
        return nanoseconds
    if value is None:
        raise _FaultError(f"it has no {key}")
    raise _FaultError(f"{key} is {str(value)[:40]!r}, which is no time in microseconds")
