# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A trace has every construct, operation and fallback, however the process ends."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest
from clangs import CLANG, FLAGS, compiled, libraries, made
from portable import left_as_bitcode
from products import Products
from recorder import OBSERVING
from traces import CONSTRUCTS, events_of, fields, only, run, spans

from omptool.installation import libdir

pytestmark = pytest.mark.offloads


@pytest.fixture
def program(tmp_path: Path) -> Path:
    return compiled(OBSERVING / "traced.c", tmp_path)


def test_chromes_trace_events(program: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    done = run(program, trace)
    assert (done.returncode, done.stderr) == (0, "")
    assert stat.S_IMODE(trace.stat().st_mode) == 0o600
    events = events_of(trace)
    assert events[-1]["name"] == "trace_end"
    host = Counter(event["name"] for event in spans(events) if event["pid"] == 1)
    host.pop("wait", None)
    assert host == CONSTRUCTS
    device = [event for event in spans(events) if event["pid"] == 2]
    kernels = [event for event in device if event["name"].startswith("__omp_offloading_")]
    assert len(kernels) == 2
    assert Counter(event["name"] for event in device)["copy to device"] == 4
    assert {event["args"]["bytes"] for event in device if event["name"].startswith("copy")} == {16}
    # Each operation is part of a construct of the host.
    constructs = {event["args"]["construct"] for event in spans(events) if event["pid"] == 1}
    assert {
        event["args"]["construct"] for event in device if event["name"] != "load image"
    } <= constructs
    mapped = [event for event in events if event["name"] in ("map", "unmap")]
    assert {event["args"]["references"] for event in mapped} == {0, 1, 2}
    names = {
        event["args"]["name"]
        for event in events
        if event["ph"] == "M" and event["name"] == "process_name"
    }
    assert "device 0 (host)" in names


def test_each_event_tells_what_it_is_about(program: Path, tmp_path: Path) -> None:
    """A region has its entry, an operation its construct and bytes, a map its references."""
    trace = tmp_path / "trace.json"
    run(program, trace)
    events = [event for event in events_of(trace) if event["ph"] in "Xi"]
    by_number = {
        event["args"]["construct"]: event
        for event in events
        if event["pid"] == 1 and event["name"] in CONSTRUCTS
    }
    regions = [event for event in by_number.values() if event["name"] == "target"]
    assert {event["args"]["device"] for event in regions} == {0}
    assert len(regions) == 2
    done_by: dict[str, Counter[str]] = {}
    for event in events:
        if event["name"] == "load image" or event in by_number.values():
            continue
        construct = by_number[event["args"]["construct"]]
        done_by.setdefault(construct["name"], Counter())[event["name"]] += 1
        if event["name"].startswith("__omp_offloading_"):
            assert construct["args"]["entry"] == event["name"]
        if event["name"] in ("allocate", "map", "unmap") or event["name"].startswith("copy"):
            assert event["args"]["bytes"] == 16
        if event["name"] in ("map", "unmap"):
            assert event["args"]["references"] in (0, 1, 2)
            assert event["args"]["host"].startswith("0x")
    assert done_by["omp_target_memcpy"]["copy to device"] == 1
    assert done_by["omp_target_memcpy"]["copy to host"] == 1
    assert done_by["omp_target_alloc"]["allocate"] == 1
    assert done_by["omp_target_associate_ptr"]["associate"] == 1
    assert done_by["target update"]["copy to host"] == 1
    assert done_by["target enter data"]["copy to device"] == 2
    assert done_by["target exit data"]["unmap"] == 2
    [load] = [event for event in events if event["name"] == "load image"]
    assert load["args"]["bytes"] > 0


def test_what_failed_says_so(tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    assert run(compiled(OBSERVING / "fails.c", tmp_path), trace).returncode == 0
    [allocation] = [event for event in events_of(trace) if event["name"] == "allocate"]
    assert (allocation["args"]["failed"], allocation["args"]["bytes"]) == (1, 1 << 46)


def test_a_compilation_is_part_of_the_load(tmp_path: Path, products: Products) -> None:
    """The second time the plugin's cache has the image."""
    program = left_as_bitcode(products)
    cache = str(tmp_path / "cache")
    spans_of = []
    for name in ("first.json", "second.json"):
        done = run(program, tmp_path / name, OMPTOOL_CACHE_DIR=cache, OMPTOOL_PLUGINS="host")
        assert done.stderr == ""
        spans_of.append({event["name"]: event for event in spans(events_of(tmp_path / name))})
    compilation, load = spans_of[0]["compile image"], spans_of[0]["load image"]
    assert (compilation["pid"], compilation["tid"]) == (load["pid"], load["tid"])
    assert compilation["args"] == load["args"]
    assert load["ts"] <= compilation["ts"]
    assert compilation["ts"] + compilation["dur"] <= load["ts"] + load["dur"]
    assert "compile image" not in spans_of[1]


def test_constructs_have_their_source_lines(tmp_path: Path) -> None:
    """A program has them with debug information alone."""
    program = compiled(OBSERVING / "traced.c", tmp_path, "-g")
    trace = tmp_path / "trace.json"
    run(program, trace)
    lines = [
        event["args"].get("source", "")
        for event in spans(events_of(trace))
        if event["name"] == "target"
    ]
    assert [line.split(":")[1] for line in lines] == ["6", "10"]
    assert all("traced.c" in line for line in lines)


@pytest.mark.parametrize("name", ["traced", "overlaps"])
def test_events_of_a_lane_are_nested(tmp_path: Path, name: str) -> None:
    """Viewers draw nothing else."""
    trace = tmp_path / "trace.json"
    run(compiled(OBSERVING / f"{name}.c", tmp_path), trace)
    lanes: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for event in spans(events_of(trace)):
        began, ended = event["ts"], event["ts"] + event["dur"]
        lanes.setdefault((event["pid"], event["tid"]), []).append((began, -ended))
    for lane in lanes.values():
        open_ends: list[float] = []
        for began, minus_ended in sorted(lane):
            while open_ends and open_ends[-1] <= began + 1e-3:
                open_ends.pop()
            assert not open_ends or -minus_ended <= open_ends[-1] + 1e-3
            open_ends.append(-minus_ended)


def test_regions_without_waiting_overlap(tmp_path: Path) -> None:
    """A trace changes nothing: they go on when their calls have returned."""
    trace = tmp_path / "trace.json"
    done = run(compiled(OBSERVING / "overlaps.c", tmp_path), trace)
    assert (done.returncode, done.stderr) == (0, "")
    kernels = [event for event in spans(events_of(trace)) if event["name"].startswith("__omp_")]
    first, second = sorted(kernels, key=lambda event: float(event["ts"]))
    assert second["ts"] < first["ts"] + first["dur"]
    constructs = [event for event in spans(events_of(trace)) if event["name"] == "target"]
    assert {event["args"]["construct"] for event in constructs} == {
        event["args"]["construct"] for event in kernels
    }


def test_names_are_written_in_utf_8(tmp_path: Path) -> None:
    source = tmp_path / "names.c"
    source.write_text(
        "void gr\u00f6\u00dfe(void) {\n#pragma omp target\n  ;\n}\n"
        "int main(void) { gr\u00f6\u00dfe(); return 0; }\n"
    )
    trace = tmp_path / "trace.json"
    assert run(compiled(source, tmp_path), trace).stderr == ""
    assert "_gr\u00f6\u00dfe_l2" in trace.read_bytes().decode("utf-8")
    names = {event["name"] for event in events_of(trace)}
    assert any(name.endswith("_gr\u00f6\u00dfe_l2") for name in names)


def test_a_fallback_has_its_reason(program: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    run(program, trace, OMPTOOL_PLUGINS="nosuch")
    [first, *_] = [event for event in events_of(trace) if event["name"] == "fallback"]
    assert "no plugin that OMPTOOL_PLUGINS names" in first["args"]["reason"]
    assert first["args"]["entry"].startswith("__omp_offloading_")


# ---- Perfetto's protobuf, by the numbers of its .proto files ----


def test_perfettos_packets(program: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace.pftrace"
    done = run(program, trace)
    assert (done.returncode, done.stderr) == (0, "")
    names: dict[int, str] = {}
    argument_names: dict[int, str] = {}
    texts: dict[int, str] = {}
    entries: list[str] = []
    tracks: dict[int, tuple[str, int | None]] = {}
    begun: Counter[str] = Counter()
    open_slices: Counter[int] = Counter()
    for packet in fields(trace.read_bytes()):
        assert packet.number == 1
        assert isinstance(packet.value, bytes)
        assert only(packet.value, 10) == 1  # trusted_packet_sequence_id
        for field in fields(only(packet.value, 12) or b""):  # interned_data
            of_field = {2: names, 3: argument_names, 29: texts}[field.number]
            assert isinstance(field.value, bytes)
            of_field[only(field.value, 1)] = only(field.value, 2).decode()
        if descriptor := only(packet.value, 60):  # track_descriptor
            tracks[only(descriptor, 1)] = (only(descriptor, 2).decode(), only(descriptor, 5))
        if event := only(packet.value, 11):  # track_event
            track = only(event, 11)
            assert track in tracks
            if only(event, 9) == 1:
                assert only(packet.value, 13) == 2  # the packet needs interned names
                name = names[only(event, 10)]
                begun[name] += 1
                arguments = {
                    argument_names[only(field.value, 1)]: field.value
                    for field in fields(event)
                    if field.number == 4 and isinstance(field.value, bytes)
                }
                assert ("construct" in arguments) == (name != "load image")
                if name == "target":
                    entries.append(texts[only(arguments["entry"], 17)])
            open_slices[track] += {1: 1, 2: -1, 3: 0}[only(event, 9)]
    assert set(open_slices.values()) <= {0}
    assert {name: begun[name] for name in CONSTRUCTS} == CONSTRUCTS
    assert begun["copy to device"] == 4
    assert entries == [name for name in begun if name.startswith("__omp_offloading_")]
    assert {tracks[parent][0] for _, parent in tracks.values() if parent} == {
        f"host, process {process_of(tracks)}",
        "device 0 (host)",
    }


def process_of(tracks: dict[int, tuple[str, int | None]]) -> str:
    return tracks[1][0].rpartition(" ")[2]


# ---- sizes and limits ----

MANY = """
int main(int argc, char** argv) {
  double x[8] = {0};
  for (int i = 0; i < (argc > 1 ? COUNT : 10); ++i)
#pragma omp target map(tofrom : x)
    x[0] += 1;
  (void)argv;
  return 0;
}
"""


@pytest.fixture
def loop(tmp_path: Path) -> Path:
    (tmp_path / "loop.c").write_text(MANY.replace("argc > 1 ? COUNT : 10", "5000"))
    return made(tmp_path / "loop", CLANG[".c"], *FLAGS, tmp_path / "loop.c")


@pytest.mark.parametrize(("form", "most"), [("json", 160), ("pftrace", 50)])
def test_events_are_small(loop: Path, tmp_path: Path, form: str, most: int) -> None:
    trace = tmp_path / f"trace.{form}"
    assert run(loop, trace).returncode == 0
    if form == "json":
        count = len([event for event in events_of(trace) if event["ph"] in "Xi"])
    else:
        types = [
            only(only(p.value, 11) or b"", 9)
            for p in fields(trace.read_bytes())
            if isinstance(p.value, bytes)
        ]
        count = types.count(1) + types.count(3)
    assert count > 5000 * 6
    assert trace.stat().st_size <= most * count


def test_a_trace_ends_at_its_limit(loop: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    done = run(loop, trace, OMPTOOL_TRACE_LIMIT="1")
    assert done.stderr == (
        f"omptarget: the trace {trace} ends here: it has reached 1 MiB (OMPTOOL_TRACE_LIMIT); "
        "what follows is not in it\n"
    )
    assert 0 < trace.stat().st_size <= 1 << 20
    assert events_of(trace)


@pytest.mark.parametrize(
    ("variable", "used"),
    [
        ("OMPTOOL_TRACE_LIMIT", "1024"),
        ("OMPTOOL_TRACE_FORMAT", "json"),
        ("LIBOMPTARGET_PROFILE_GRANULARITY", "0"),
    ],
)
def test_a_wrong_value_is_named(program: Path, tmp_path: Path, variable: str, used: str) -> None:
    done = run(program, tmp_path / "trace.json", **{variable: "many"})
    assert done.stderr.startswith(
        f"omptarget: the runtime ignores {variable}=many and uses {used}; "
    )
    assert done.stderr.count("\n") == 1


def test_a_killed_process_leaves_what_it_has_written(tmp_path: Path) -> None:
    program = tmp_path / "endless.c"
    program.write_text(MANY.replace("i < (argc > 1 ? COUNT : 10)", "1"))
    made(tmp_path / "endless", CLANG[".c"], *FLAGS, program)
    trace = tmp_path / "trace.json"
    with subprocess.Popen(
        [tmp_path / "endless"],
        env=os.environ
        | {"LD_LIBRARY_PATH": f"{libdir()}:{libraries('19')}", "OMPTOOL_TRACE": str(trace)},
    ) as process:
        limit = time.monotonic() + 60
        while not (trace.exists() and trace.stat().st_size > 1 << 16) and time.monotonic() < limit:
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
    text = trace.read_text()
    whole = text[: text.rindex("\n") + 1]
    assert len(json.loads(whole.rstrip().rstrip(",") + "]")) > 100
