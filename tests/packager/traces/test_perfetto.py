# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Perfetto's packets: beside the same events as JSON, cut off and malformed."""

from __future__ import annotations

import random
import re
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from chrome_traces import read
from timeline import make_json, make_pftrace, message

from packager.errors import FormatError, PackagerError
from packager.traces import perfetto
from packager.traces.load import load

EVENTS = 400


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    make_pftrace(tmp_path / "trace", EVENTS)
    return tmp_path / "trace"


def packets(*fields: tuple[int, int | str | bytes]) -> bytes:
    """Return one packet of sequence 1."""
    return message((1, message((10, 1), *fields)))


def test_the_same_events_as_in_json(trace: Path, tmp_path: Path) -> None:
    make_json(tmp_path / "trace.json", EVENTS)
    both = [sorted(read(path)) for path in (trace, tmp_path / "trace.json")]
    starts = [[row.start for row in rows] for rows in both]
    assert starts[0][0] >= 0  # numbers of protobuf have no sign
    both[1] = [row._replace(start=max(0, row.start)) for row in both[1]]
    assert both[0] == sorted(both[1])
    assert len(both[0]) == EVENTS
    assert load(trace).notes == []


def test_usual_packets_are_read_as_all_are(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = read(trace)
    monkeypatch.setattr(perfetto, "USUAL", re.compile(rb"(?!)"))
    assert read(trace) == usual


def test_pieces_of_a_file_do_not_matter(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = read(trace)
    for size in (1, 3, 64):
        monkeypatch.setattr("packager.files.reader.PIECE", size)
        assert read(trace) == whole


def test_every_beginning_of_a_trace_is_read(trace: Path) -> None:
    data = trace.read_bytes()
    notes: Counter[str] = Counter()
    for size in range(200, 700):
        trace.write_bytes(data[:size])
        notes.update(load(trace).notes)
    assert set(notes) == {
        "the trace has no end: later events are missing",
        "1 events that do not end are drawn up to the end of the trace",
    }


def test_slices_of_other_programs_are_nested(tmp_path: Path) -> None:
    """Slices are in the order of time, with names of their own."""
    trace = tmp_path / "trace"

    def event(time: int, kind: int, name: str = "") -> bytes:
        own = [(23, name)] if name else []
        return packets((8, time), (11, message((9, kind), (11, 5), *own)))

    trace.write_bytes(
        packets((60, message((1, 5), (2, "main"))))
        + event(10, 1, "outer")
        + event(20, 1, "inner")
        + event(30, 2)
        + event(60, 2)
        + event(70, 2)
        + event(80, 4)
    )
    assert [(row.lane, row.name, row.start, row.duration) for row in read(trace)] == [
        ("main", "inner", 20, 10),
        ("main", "outer", 10, 50),
    ]
    assert load(trace).notes == [
        "the timeline does not show 1 ends without a begin, 1 events of type 4"
    ]


@pytest.mark.parametrize(
    ("damage", "what"),
    [
        (b"\x13\x00", "tag 0x13 is not that of a packet"),
        (b"\x0a\x02\x0b\x00", "field 1 has the unknown wire type 3"),
        (b"\x0a\x02\x0a\x05", "field 1 of 5 bytes runs past its message"),
        (b"\x0a\x01\x08", "a field runs past its packet|field 1 runs past its message"),
        (b"\x0a" + b"\xff" * 12, "a number has more than ten bytes"),
        (message((1, message((8, 1 << 63), (11, message((9, 3)))))), "is no time in nanoseconds"),
    ],
)
def test_one_wrong_packet_is_named(trace: Path, damage: bytes, what: str) -> None:
    data = trace.read_bytes()
    trace.write_bytes(data + damage + b"\x0a\x00")
    with pytest.raises(FormatError, match=f"^packet at {len(data):#x}: .*({what})"):
        load(trace)


def test_begins_are_limited(trace: Path) -> None:
    begin = packets((8, 1), (11, message((9, 1), (11, 5))))
    trace.write_bytes(begin * 2000)
    with pytest.raises(FormatError, match="more than 1024 slices of a track have begun"):
        load(trace)


def test_damage_is_an_error_or_read(trace: Path) -> None:
    data = trace.read_bytes()[:3000]
    dice = random.Random(7)
    for _ in range(400):
        damaged = bytearray(data)
        for _ in range(dice.randrange(1, 4)):
            damaged[dice.randrange(len(damaged))] = dice.randrange(256)
        trace.write_bytes(damaged)
        with suppress(PackagerError):
            load(trace)
