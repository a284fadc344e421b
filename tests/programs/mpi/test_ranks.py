# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""All that shows a device of another rank shows that rank, its machine, and the device there."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from builds import Build, built
from clangs import CLANG, libraries, made
from fixture_programs import OMPTOOL
from mpis import DEBIAN, EACH, NODE, Mpi, job, with_workers

pytestmark = [pytest.mark.offloads, pytest.mark.slow]

HERE = Path(__file__).parent
LATE = 10_000_000_000  # nanoseconds, of late_clock.c
TITLE = f"rank 1 on {NODE}, host 0"
OPENMPI = DEBIAN[0]


@pytest.fixture(autouse=True)
def _found_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let workers find libomp, which images need."""
    monkeypatch.setenv("LD_LIBRARY_PATH", libraries("19"), prepend=os.pathsep)


def program(name: str, folder: Path) -> Path:
    return built(Build("19"), folder / "main", HERE / name, "-g")


# ---- commands ----


@EACH
def test_devices_shows_whose_they_are(mpi: Mpi) -> None:
    done = job(mpi, "-n", 3, OMPTOOL, "devices", "--workers", "--json")
    assert done.returncode == 0, done.stderr
    plugins = {row["name"]: row["devices"] for row in json.loads(done.stdout)["plugins"]}
    assert [(one["rank"], one["node"]) for one in plugins["host"]] == [(None, None)]
    assert [(one["number"], one["rank"], one["node"]) for one in plugins["mpi"]][:2] == [
        (len(plugins["host"]), 1, NODE),
        (len(plugins["host"]) + 1, 2, NODE),
    ]
    assert plugins["mpi"][0]["title"] == f"{TITLE}: {plugins['host'][0]['name']}"
    done = job(mpi, "-n", 2, OMPTOOL, "devices", "--workers", OMPTOOL_PLUGINS="host")
    assert done.returncode == 0, done.stderr
    assert TITLE in done.stdout


@EACH
def test_doctor_counts_workers(mpi: Mpi, tmp_path: Path) -> None:
    app = program("unused.c", tmp_path)
    done = job(mpi, "-n", 3, OMPTOOL, "doctor", "--workers", app, OMPTOOL_PLUGINS="host")
    assert done.returncode == 0, done.stderr
    assert "everything runs on a device (3 devices)" in done.stdout
    assert TITLE in done.stdout
    done = job(mpi, "-n", 2, OMPTOOL, "doctor", "--workers", "/no/such/program")
    assert done.returncode == 2


def test_doctor_reports_where_regions_ran(tmp_path: Path) -> None:
    app = program("unused.c", tmp_path)
    words = ("doctor", "--workers", "--run", "--json", app)
    done = job(OPENMPI, "-n", 2, OMPTOOL, *words, OMPTOOL_PLUGINS="host")
    assert done.returncode == 0, done.stderr
    [region] = json.loads(done.stdout)["regions"]
    assert (region["plugin"], region["device"]) == ("mpi", 1)
    assert region["runs_on"].startswith(f"device 1 ({TITLE}")


# ---- traces ----


def spans(trace: Path) -> list[dict[str, Any]]:
    return [event for event in json.loads(trace.read_text()) if event["ph"] == "X"]


@EACH
def test_spans_are_in_the_programs_time(mpi: Mpi, tmp_path: Path) -> None:
    """The worker's clock is late. The kernel's times by it equal those in the trace."""
    app, trace = program("spans.c", tmp_path), tmp_path / "trace.json"
    late = made(
        tmp_path / "late.so", CLANG[".c"], "-shared", "-fPIC", HERE / "late_clock.c", "-ldl"
    )
    rank = "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}"
    script = f'[ "{rank}" = 0 ] || export LD_PRELOAD={late}; exec "$@"'
    run = (OMPTOOL, "run", "--workers", "--plugin", "host", "--trace", trace, app)
    done = job(mpi, "-n", 2, "sh", "-c", script, "sh", *run)
    assert done.returncode == 0, done.stderr
    told = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    all_of = spans(trace)
    mine = [event for event in all_of if event["args"].get("rank") == 1]
    constructs = {one["args"]["construct"]: one for one in all_of if one["name"] == "target"}
    kernels = [one for one in mine if one["name"].startswith("__omp_offloading")]
    assert len(told) == len(kernels) == 10
    wrong = []
    for (before, began, ended), kernel in zip(told, kernels, strict=True):
        construct = constructs[kernel["args"]["construct"]]
        wrong.append(abs((kernel["ts"] - construct["ts"]) * 1000 - (began + LATE - before)))
        assert kernel["dur"] * 1000 >= ended - began
    assert sorted(wrong)[5] < 1_000_000  # the machine may be loaded
    for one in mine:
        assert one["args"]["node"] == NODE
        construct = constructs.get(one["args"].get("construct"), one)
        assert construct["ts"] <= one["ts"]
        assert one["ts"] + one["dur"] <= construct["ts"] + construct["dur"]
    assert {one["name"] for one in mine} >= {"copy to device", "copy to host", "load image"}
    lanes = [event for event in json.loads(trace.read_text()) if event["name"] == "process_name"]
    assert any(one["args"]["name"].startswith(f"device 1 ({TITLE}") for one in lanes)
    others = [event for event in all_of if event["pid"] == 2]
    assert others
    assert not any("rank" in event["args"] for event in others)


def test_the_page_shows_ranks_of_both_formats(tmp_path: Path) -> None:
    app = program("unused.c", tmp_path)
    for name in ("trace.json", "trace.pftrace"):
        trace, page = tmp_path / name, tmp_path / f"{name}.html"
        done = with_workers(OPENMPI, 1, "--plugin", "host", "--trace", trace, app)
        assert done.returncode == 0, done.stderr
        assert job(OPENMPI, "-n", 1, OMPTOOL, "timeline", trace, "-o", page).returncode == 0
        assert TITLE in page.read_text()


@EACH
def test_one_page_for_a_job(mpi: Mpi, tmp_path: Path) -> None:
    """Rank 0 writes the page, with the devices of both workers; other ranks write no file."""
    app, private = program("unused.c", tmp_path), tmp_path / "private"
    private.mkdir()
    page, trace = tmp_path / "%r.html", tmp_path / "trace.json"
    for more in ((), ("--trace", trace)):
        words = ("--plugin", "host", "--timeline", page, *more, app)
        done = with_workers(mpi, 2, *words, TMPDIR=str(private))
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        text = (tmp_path / "0.html").read_text()
        assert TITLE in text
        assert "main:4" in text
        (tmp_path / "0.html").unlink()
    assert {one.name for one in tmp_path.iterdir()} == {app.name, "private", "trace.json"}
    assert [one for one in private.iterdir() if one.name.startswith("omptool")] == []


def test_the_summary_has_a_table_of_devices(tmp_path: Path) -> None:
    app = program("spans.c", tmp_path)
    done = with_workers(OPENMPI, 1, "--plugin", "host", "--summary", app, COLUMNS="200")
    assert done.returncode == 0, done.stderr
    table = done.stderr.partition("Devices:\n")[2].splitlines()
    assert len(table) == 3
    assert table[1].split()[:4] == ["device", "0", "(host)", "1"]
    assert table[2].startswith(f"  device 1 ({TITLE}")
    assert table[2].split()[-9] == "10"
    done = with_workers(OPENMPI, 1, "--plugin", "host", app, OMPTOOL_SUMMARY="1")
    assert done.stderr.count("Regions:") == 1  # the worker has none of its own


# ---- messages ----


def test_information_names_the_device(tmp_path: Path) -> None:
    app = program("unused.c", tmp_path)
    done = with_workers(OPENMPI, 1, "--plugin", "host", app, LIBOMPTARGET_INFO="32")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(f"device 1 info: The device is {TITLE}") == 1


# ---- the checker ----


@EACH
def test_findings_name_the_device(mpi: Mpi, tmp_path: Path) -> None:
    app = program("piecemeal.c", tmp_path)
    found = tmp_path / "found.json", tmp_path / "found.sarif"
    documents = ("--check-json", found[0], "--check-sarif", found[1])
    done = with_workers(mpi, 1, "--plugin", "host", "--check", "--check-error", *documents, app)
    assert done.returncode == 124, done.stderr
    assert "OMP305 error" in done.stderr
    assert f"; device 1 ({TITLE}" in done.stderr
    findings = json.loads(found[0].read_text())["findings"]
    [error] = [one for one in findings if one["code"] == "OMP305"]
    assert error["device_title"].startswith(TITLE)
    results = json.loads(found[1].read_text())["runs"][0]["results"]
    [result] = [one for one in results if one["ruleId"] == "OMP305"]
    assert result["properties"]["device_title"].startswith(TITLE)


@EACH
def test_findings_come_before_the_job_ends(mpi: Mpi, tmp_path: Path) -> None:
    """The program aborts, and the launcher then ends the job."""
    app = program("lengthy.c", tmp_path)
    done = with_workers(mpi, 1, "--plugin", "host", "--check", app)
    assert done.returncode != 0
    assert "OMP301 error" in done.stderr
    assert "the checker found 1 error" in done.stderr


def test_a_checked_program_ends_with_its_workers(tmp_path: Path) -> None:
    app = program("unused.c", tmp_path)
    done = with_workers(OPENMPI, 1, "--plugin", "host", "--check", "--check-error", app)
    assert done.returncode == 0, done.stderr
    assert "the checker found 1 hint" in done.stderr
    done = with_workers(OPENMPI, 1, "--check", "sh", "-c", "exit 3")
    assert done.returncode == 3
    assert "the checker saw nothing" in done.stderr


def test_what_full_checks_miss_is_told(tmp_path: Path) -> None:
    app = program("unused.c", tmp_path)
    done = with_workers(OPENMPI, 1, "--plugin", "host", "--check=full", app)
    assert done.returncode == 0, done.stderr
    [told] = [line for line in done.stderr.splitlines() if "OMP340" in line]
    assert "nobody checks what kernels on this device do with memory" in told
    assert f"device 1 ({TITLE}" in done.stderr
