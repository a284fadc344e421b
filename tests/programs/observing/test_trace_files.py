# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files of a trace, and the variables and options that name them."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest
import running
from clangs import compiled
from recorder import OBSERVING
from running import omptool_run
from traces import CONSTRUCTS, events_of, fields, run, spans

pytestmark = pytest.mark.offloads


@pytest.fixture
def program(tmp_path: Path) -> Path:
    return compiled(OBSERVING / "traced.c", tmp_path)


# ---- files ----


def test_each_process_has_its_own(program: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    trace.write_text("mine")
    done = run(program, trace)
    [other] = [path for path in tmp_path.iterdir() if path.name.startswith("trace.json.")]
    process = other.suffix.removeprefix(".")
    assert done.stderr == (
        f"omptarget: the trace of process {process} goes to {other}: {trace} is there already\n"
    )
    assert trace.read_text() == "mine"
    assert events_of(other)


def test_the_process_may_be_in_the_name(program: Path, tmp_path: Path) -> None:
    assert run(program, tmp_path / "trace.%p.json").stderr == ""
    [trace] = tmp_path.glob("trace.*.json")
    assert f"process {trace.name.split('.')[1]}" in trace.read_text()


def test_no_link_is_followed(program: Path, tmp_path: Path) -> None:
    (tmp_path / "trace.json").symlink_to(tmp_path / "elsewhere")
    run(program, tmp_path / "trace.json")
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("kind", ["stdout", "device", "fifo"])
def test_what_is_no_regular_file_is_refused(program: Path, tmp_path: Path, kind: str) -> None:
    """The runtime made a file beside it, as /dev/stdout.1234."""
    folder = tmp_path / "folder"
    folder.mkdir()
    place = folder / kind
    if kind == "fifo":
        os.mkfifo(place)
    else:
        place.symlink_to("/proc/self/fd/1" if kind == "stdout" else "/dev/null")
    done = run(program, place)
    line = f"omptarget: the runtime writes no trace: {place} is not a regular file\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, "", line)
    assert list(folder.iterdir()) == [place]


def test_a_trace_that_cannot_be_made_is_named(program: Path, tmp_path: Path) -> None:
    trace = tmp_path / "no" / "trace.json"
    done = run(program, trace)
    assert done.returncode == 0
    assert done.stderr == (
        f"omptarget: the runtime writes no trace: {trace}: No such file or directory\n"
    )


# ---- LLVM's variable ----


def test_llvms_variable_asks_for_the_same_trace(program: Path, tmp_path: Path) -> None:
    trace = tmp_path / "profile.pftrace"  # JSON all the same, as LLVM's is
    done = running.run(program, LIBOMPTARGET_PROFILE=str(trace))
    assert (done.returncode, done.stderr) == (0, "")
    host = Counter(event["name"] for event in spans(events_of(trace)) if event["pid"] == 1)
    host.pop("wait", None)
    assert host == CONSTRUCTS
    done = running.run(program, LIBOMPTARGET_PROFILE=str(trace))
    assert f"{trace} is there already\n" in done.stderr


def test_what_is_shorter_than_the_granularity_is_left_out(tmp_path: Path) -> None:
    program = compiled(OBSERVING / "overlaps.c", tmp_path)
    trace = tmp_path / "profile.json"
    variables = {"LIBOMPTARGET_PROFILE_GRANULARITY": "10000", "LIBOMPTARGET_PROFILE": str(trace)}
    assert running.run(program, **variables).stderr == ""
    events = events_of(trace)
    assert {event["ph"] for event in events} == {"X", "M"}
    assert all(event["dur"] >= 10_000 for event in spans(events))
    assert sum(event["name"].startswith("__omp_offloading_") for event in spans(events)) == 2


def test_a_region_that_fell_back_is_never_left_out(program: Path, tmp_path: Path) -> None:
    trace = tmp_path / "profile.json"
    running.run(
        program,
        OMPTOOL_PLUGINS="nosuch",
        LIBOMPTARGET_PROFILE=str(trace),
        LIBOMPTARGET_PROFILE_GRANULARITY="1000000",
    )
    assert {event["name"] for event in events_of(trace) if event["ph"] == "i"} == {"fallback"}


def test_omptools_own_variable_comes_first(program: Path, tmp_path: Path) -> None:
    trace, profile = tmp_path / "trace.json", tmp_path / "profile.json"
    variables = {"LIBOMPTARGET_PROFILE": str(profile), "LIBOMPTARGET_PROFILE_GRANULARITY": "10000"}
    done = run(program, trace, **variables)
    assert done.stderr == (
        f"omptarget: the runtime ignores LIBOMPTARGET_PROFILE={profile}: "
        f"OMPTOOL_TRACE={trace} names the trace\n"
    )
    assert not profile.exists()
    assert len(spans(events_of(trace))) > sum(CONSTRUCTS.values())


# ---- ranks of an MPI job ----


def test_the_rank_is_in_the_trace_and_in_its_name(program: Path, tmp_path: Path) -> None:
    done = run(program, tmp_path / "trace.%r.json", PMI_RANK="3")
    assert (done.returncode, done.stderr) == (0, "")
    assert "host, rank 3, process " in (tmp_path / "trace.3.json").read_text()
    run(program, tmp_path / "trace.%r.json")
    assert "host, process " in (tmp_path / "trace.0.json").read_text()


def test_run_replaces_the_file_of_its_own_rank(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another rank's trace may be new: if the name does not distinguish ranks, none is removed."""
    for _ in range(2):
        for rank in ("0", "1"):
            monkeypatch.setenv("OMPI_COMM_WORLD_RANK", rank)
            done = omptool_run("--trace", tmp_path / "trace.%r.json", program)
            assert (done.returncode, done.stderr) == (0, "")
    assert {path.name for path in tmp_path.glob("*.json*")} == {"trace.0.json", "trace.1.json"}
    for rank in ("0", "1"):
        monkeypatch.setenv("OMPI_COMM_WORLD_RANK", rank)
        assert omptool_run("--trace", tmp_path / "shared.json", program).returncode == 0
    assert len(list(tmp_path.glob("shared.json*"))) == 2


# ---- omptool run ----


def test_run_replaces_a_file_of_the_users(program: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    for _ in range(2):
        done = omptool_run("--trace", trace, program)
        assert (done.returncode, done.stderr) == (0, "")
    assert len(spans(events_of(trace))) > 10
    assert not list(tmp_path.glob("trace.json.*"))


def test_run_takes_a_format(program: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    assert omptool_run("--trace", trace, "--trace-format", "pftrace", program).returncode == 0
    assert list(fields(trace.read_bytes()))


def test_a_format_without_a_file_is_refused(program: Path) -> None:
    done = omptool_run("--trace-format", "json", program)
    assert (done.returncode, done.stderr) == (
        125,
        "Error: --trace-format: give --trace FILE as well\n",
    )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("trace.txt", "end FILE in .json or .pftrace, or give --trace-format"),
        ("folder.json", "is not a regular file"),
        ("no/trace.json", "there is no folder"),
    ],
)
def test_run_refuses_before_the_program_starts(
    program: Path, tmp_path: Path, name: str, message: str
) -> None:
    (tmp_path / "folder.json").mkdir()
    done = omptool_run("--trace", tmp_path / name, program)
    assert done.returncode == 125
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
