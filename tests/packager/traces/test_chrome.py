# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Chrome's trace events: the runtime's, those of other programs, cut off and malformed ones."""

from __future__ import annotations

import json
import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from chrome_traces import DEVICE, END, HOST, Row, read, span, written

from packager.errors import FormatError, LimitError, PackagerError
from packager.traces import json_text, recorder
from packager.traces.load import load
from packager.traces.model import Label

KERNEL = "__omp_offloading_fe00_5368f3_main_l6"
REGION = (
    span("target", 0, 10, construct=1, device=0, source="app.c:6:1"),
    span("copy to device", 1, 2, pid=2, construct=1, bytes=64),
    span(KERNEL, 4, 3.5, pid=2, construct=1),
    {"ph": "i", "s": "t", "pid": 1, "tid": 1, "ts": 9, "name": "unmap", "args": {"references": 0}},
)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return written(tmp_path / "trace.json", *REGION)


def test_a_region(trace: Path) -> None:
    assert read(trace) == [
        Row("host, process 7", "thread 1", "target", "construct", 0, 10000, 1, 0),
        Row("host, process 7", "thread 1", "unmap", "mapping", 9000, 0, 0, 0),
        Row("device 0 (host)", "thread 1", KERNEL, "kernel", 4000, 3500, 1, 0),
        Row(
            "device 0 (host)",
            "thread 1, transfers",
            "copy to device",
            "copy to device",
            1000,
            2000,
            1,
            64,
        ),
    ]
    found = load(trace)
    assert found.notes == []
    assert Label("target", source="app.c:6:1", device=0) in found.labels
    assert len(found) == 4


def test_lanes_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    events = [span("wait", 0, 1) | {"tid": tid} for tid in (1000, 10, 9)]
    names = [
        {"ph": "M", "pid": 1, "tid": tid, "name": "thread_name", "args": {"name": name}}
        for tid, name in ((1000, "asynchronous 1"), (10, "thread 10"), (9, "thread 9"))
    ]
    found = load(written(tmp_path / "trace.json", *events, *names))
    assert [lane.name for lane in found.lanes] == ["thread 9", "thread 10", "asynchronous 1"]


# ---- traces that end too early ----


def test_the_trace_of_a_rank_has_an_end(trace: Path) -> None:
    """Another program may close the array; the runtime's own last event marks the end."""
    whole = trace.read_text().replace("host, process", "host, rank 3, process")
    trace.write_text(whole)
    assert load(trace).notes == []
    body, _, _ = whole.rstrip().rpartition("\n")
    trace.write_text(body.rstrip(",") + "]\n")
    assert load(trace).notes == ["the trace has no end: later events are missing"]


def test_every_beginning_of_a_trace_is_read(trace: Path) -> None:
    """A killed process leaves one."""
    data = trace.read_bytes()
    counts = set()
    for size in range(1, len(data) - 1):
        trace.write_bytes(data[:size])
        found = load(trace)
        counts.add(len(found))
        assert found.notes == ["the trace has no end: later events are missing"]
    assert counts == {0, 1, 2, 3, 4}


def test_pieces_of_a_file_do_not_matter(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = read(trace)
    for size in (1, 2, 3, 7, 64):
        monkeypatch.setattr("packager.files.reader.PIECE", size)
        assert read(trace) == whole


# ---- traces of other programs ----


def foreign(path: Path, *events: object, **more: object) -> Path:
    path.write_text(json.dumps({"displayTimeUnit": "ns", **more, "traceEvents": events}))
    return path


def test_an_object_with_begins_and_ends(tmp_path: Path) -> None:
    place = {"pid": "app", "tid": 5}
    trace = foreign(
        tmp_path / "trace.json",
        place | {"ph": "B", "ts": 1, "name": "outer", "args": {"bytes": 3}},
        place | {"ph": "B", "ts": 2, "name": "inner"},
        place | {"ph": "E", "ts": 4},
        place | {"ph": "E", "ts": 9, "args": {"source": "x.c:1"}},
        metadata={"nested": [[1, {"traceEvents": []}]]},
    )
    assert read(trace) == [
        Row("process app", "thread 5", "inner", "other", 2000, 2000, 0, 0),
        Row("process app", "thread 5", "outer", "other", 1000, 8000, 0, 3),
    ]
    assert Label("outer", source="x.c:1") in load(trace).labels
    assert load(trace).notes == []


def test_what_is_not_shown_is_named(tmp_path: Path) -> None:
    trace = foreign(
        tmp_path / "trace.json",
        {"ph": "C", "ts": 1, "name": "counter", "args": {"x": 1}},
        *({"ph": phase, "ts": 1, "id": 4, "pid": 1} for phase in "bbe"),
        {"ph": "E", "ts": 1, "pid": 1, "tid": 1},
        {"ph": "B", "ts": 3, "pid": 1, "tid": 1, "name": "open"},
        span("last", 5, 5),
    )
    found = load(trace)
    assert found.notes == [
        "1 events that do not end are drawn up to the end of the trace",
        (
            "the timeline does not show 2 events of phase 'b', 1 events of phase 'C', "
            "1 events of phase 'e', 1 ends without a begin"
        ),
    ]
    assert {row.name: row.duration for row in read(trace)} == {"open": 7000, "last": 5000}


def test_values_of_other_types_are_left_out(tmp_path: Path) -> None:
    odd: dict[str, Any] = {"bytes": [1], "construct": "x", "source": 4, "device": -1, "failed": {}}
    trace = foreign(
        tmp_path / "trace.json",
        span("a", 1, 1, **odd),
        span("b", 1, 1, bytes=-5, construct=1 << 40, references=True),
        span("c", 1, 1) | {"args": [1], "name": None},
        span("d", 1, 1, bytes=1 << 60),
    )
    assert [row[6:] for row in read(trace)] == [(0, 0)] * 4
    assert load(trace).labels == [Label(name) for name in ("a", "b", "", "d")]


def test_a_byte_order_mark_and_bytes_that_are_no_text(tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    event = json.dumps(span("a-b", 1, 1)).encode().replace(b"-", b"\xff\\ud800")
    trace.write_bytes(b"\xef\xbb\xbf \n[" + event + b"]")
    assert [row.name for row in read(trace)] == ["a\\udcff\\ud800b"]
    trace.write_bytes(b"\xef\xbb\xbf \n[" + event + b", 7]")
    with pytest.raises(FormatError, match=f"event at {len(event) + 8:#x}"):
        load(trace)


def test_names_are_safe_to_show(tmp_path: Path) -> None:
    trace = written(tmp_path / "trace.json", span("größe", 0, 1), span("a\x1b\u202e\n", 2, 1))
    assert [row.name for row in read(trace)] == ["größe", "a\\x1b\\u202e\\n"]


# ---- malformed traces ----


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ("7", "it is not an object"),
        ("{}", "it has no phase (ph)"),
        ('{"ph":5}', "it has no phase (ph)"),
        ('{"ph":"X","pid":1,"tid":1}', "it has no ts"),
        ('{"ph":"X","ts":1}', "it has no dur"),
        ('{"ph":"X","ts":"1"}', "ts is '1', which is no time in microseconds"),
        ('{"ph":"X","ts":true}', "ts is 'True', which is no time in microseconds"),
        ('{"ph":"i","ts":1e300}', "ts is '1e+300', which is no time in microseconds"),
        ('{"ph":"i","ts":1e999}', "ts is 'inf', which is no time in microseconds"),
        ('{"ph":"X","ts":1,"dur":-2}', "dur is -2; a duration is at least 0"),
        ('{"ph":"X","ts":1,"dur":2,"pid":[]}', "pid and tid are numbers or names"),
        ('{"ph":"B","ts":1,"pid":{}}', "pid and tid are numbers or names"),
    ],
)
def test_one_wrong_event_is_named(tmp_path: Path, event: str, message: str) -> None:
    trace = tmp_path / "trace.json"
    trace.write_text(f"[\n{json.dumps(HOST)},\n{event}]")
    offset = len(json.dumps(HOST)) + 4
    with pytest.raises(FormatError) as raised:
        load(trace)
    assert str(raised.value) == f"event at {offset:#x}: {message}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"ph":1,}, {}]' + " " * 20, "element at 0x1: Illegal trailing comma|Expecting property"),
        ("[{'ph':1}, {}]" + " " * 20, "element at 0x1: Expecting property name"),
        ('[{"ts":NaN}]' + " " * 20, "element at 0x1: NaN is no JSON"),
        ("[" * 200_000, "element at 0x1: it is nested too deeply"),
        ('[{"ts":' + "9" * 5000 + "}]", "element at 0x1: Exceeds the limit"),
        ('{"traceEvents":7}', "has no array 'traceEvents': it is no trace"),
        ('{"a":1}', "has no array 'traceEvents': it is no trace"),
        ('{"a" 1, "b": 2, "c": 3}', "element at 0x1: a colon is missing"),
        ("", "is empty"),
        ("hello", "is neither Chrome's trace events"),
        ("\x7fELF", "is neither Chrome's trace events"),
    ],
)
def test_text_that_is_no_trace_is_named(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "trace.json").write_text(text)
    with pytest.raises(FormatError, match=message):
        load(tmp_path / "trace.json")


@pytest.mark.parametrize(
    ("limit", "value", "message"),
    [
        ("MOST_EVENTS", 3, "more than 3 events are not read"),
        ("MOST_LANES", 2, "more than 2 lanes are not read"),
        ("MOST_LABELS", 2, "more than 2 names of events are not read"),
        ("MOST_TEXT", 20, "names of events of more than 20 characters are not read"),
    ],
)
def test_sizes_are_limited(
    trace: Path, monkeypatch: pytest.MonkeyPatch, limit: str, value: int, message: str
) -> None:
    monkeypatch.setattr(recorder, limit, value)
    with pytest.raises(LimitError) as raised:
        load(trace)
    assert str(raised.value) == message


def test_an_element_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_text, "LARGEST", 1 << 10)
    monkeypatch.setattr("packager.files.reader.PIECE", 1 << 8)
    trace = tmp_path / "trace.json"
    trace.write_text('[{"ph":"X","name":"' + "x" * 5000 + '"}]')
    with pytest.raises(FormatError, match="element at 0x1: it is longer than 1024 characters"):
        load(trace)


def test_a_name_is_limited(tmp_path: Path) -> None:
    trace = written(tmp_path / "trace.json", span("x" * 100_000, 0, 1))
    assert len(read(trace)[0].name) == recorder.LONGEST


def test_begins_are_limited(tmp_path: Path) -> None:
    begin = {"ph": "B", "pid": 1, "tid": 1, "ts": 1, "name": "x"}
    with pytest.raises(FormatError, match="more than 1024 events of this thread have begun"):
        load(written(tmp_path / "trace.json", *[begin] * 2000))


def test_damage_is_an_error_or_read(trace: Path) -> None:
    """No changed byte raises another exception."""
    data = trace.read_bytes()
    dice = random.Random(7)
    for _ in range(400):
        damaged = bytearray(data)
        for _ in range(dice.randrange(1, 4)):
            damaged[dice.randrange(len(damaged))] = dice.randrange(256)
        trace.write_bytes(damaged)
        with suppress(PackagerError):
            assert len(load(trace)) <= 4


def test_an_empty_trace_is_one(tmp_path: Path) -> None:
    (tmp_path / "trace.json").write_text("[]")
    assert read(tmp_path / "trace.json") == []
    written(tmp_path / "trace.json")
    assert load(tmp_path / "trace.json") == ([], [], [0], [])
    assert {HOST["ph"], DEVICE["ph"], END["ph"]} == {"M"}
