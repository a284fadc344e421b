# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool stats`: the sums of a trace, and what grew since another."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from chrome_traces import span, written
from documents import document
from toolchain import omptool

HEAT = "__omp_offloading_fe00_1f__ZN4grid4heatIdEEvPT__l12"


def launch(number: int, at: float, size: int) -> list[dict[str, Any]]:
    """Return the events of a region that copies an object of this size to the device and back."""
    return [
        span("target", at, 90, construct=number, entry=HEAT, source="grid.cpp:12:1"),
        span("copy to device", at + 1, 10, 2, construct=number, bytes=size),
        span(HEAT, at + 20, 40, 2, construct=number),
        span("wait", at + 20, 50, construct=number),
        span("copy to host", at + 70, 20, 2, construct=number, bytes=size),
    ]


def trace_of(path: Path, launches: int, size: int = 800, *others: object) -> Path:
    events = [event for one in range(launches) for event in launch(one + 1, one * 100.0, size)]
    return written(path, *events, *others)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    update = span("target update", 500, 5, construct=9, source="grid.cpp:20:1")
    return trace_of(tmp_path / "new.json", 2, 800, update)


def test_tables_name_regions_and_sum_what_they_moved(trace: Path) -> None:
    result = omptool("stats", trace)
    assert (result.exit_code, result.stderr) == (0, "")
    tables = dict(part.split(":\n", 1) for part in result.stdout.strip().split("\n\n"))
    assert list(tables) == ["regions", "data constructs", "kernels", "copies", "waits"]
    heat = tables["regions"].splitlines()[2].split()
    assert heat[:2] == ["grid::heat<double>:12", "grid.cpp:12:1"]
    assert "180.0 us" in tables["regions"]
    assert tables["regions"].count("1.6 kB") == 2
    assert "100.0 %" in tables["kernels"]
    assert "target update" in tables["data constructs"]


def test_json_has_numbers_and_fits_its_schema(trace: Path) -> None:
    found = document("stats", omptool("stats", "--json", trace).stdout)
    (region,) = found["regions"]
    assert (region["name"], region["times"], region["total_ns"]) == (
        "grid::heat<double>:12",
        2,
        180000,
    )
    assert (region["copies"], region["to_device_bytes"], region["to_host_bytes"]) == (4, 1600, 1600)
    (kernel,) = found["kernels"]
    assert (kernel["median_ns"], kernel["share"], kernel["device"]) == (
        40000,
        100.0,
        "device 0 (host)",
    )
    assert [copy["share"] for copy in found["copies"]] == [66.67, 33.33]
    (wait,) = found["waits"]
    assert (wait["name"], wait["times"]) == ("grid::heat<double>:12", 2)


def test_csv_is_one_table(trace: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(omptool("stats", "--csv", trace).stdout)))
    assert [row["table"] for row in rows] == [
        "regions",
        "data constructs",
        "kernels",
        "copies",
        "copies",
        "waits",
    ]
    assert rows[0]["to_device_bytes"] == "1600"


def test_a_fallback_belongs_to_its_region(tmp_path: Path) -> None:
    fallback = span("fallback", 95, 0, construct=1, entry=HEAT, reason="no image")
    trace = trace_of(tmp_path / "t.json", 1, 800, fallback)
    (region,) = document("stats", omptool("stats", "--json", trace).stdout)["regions"]
    assert (region["times"], region["fallbacks"]) == (1, 1)


def test_a_region_that_only_fell_back_has_a_row(tmp_path: Path) -> None:
    trace = written(tmp_path / "t.json", span("fallback", 95, 0, entry=HEAT, reason="no image"))
    (region,) = document("stats", omptool("stats", "--json", trace).stdout)["regions"]
    assert (region["times"], region["fallbacks"]) == (0, 1)
    assert "no kernels" not in omptool("stats", trace).stdout


def test_a_trace_of_another_program_has_no_regions(tmp_path: Path) -> None:
    trace = tmp_path / "t.json"
    trace.write_text('[{"ph":"X","pid":1,"tid":1,"ts":0,"dur":1,"name":"other"}]')
    result = omptool("stats", trace)
    assert (result.exit_code, result.stdout) == (0, "no regions\n\nno kernels\n")


@pytest.mark.parametrize("width", [80, 100, 200])
def test_rows_fit_the_terminal(trace: Path, width: int) -> None:
    from omptool.render.statistics import as_text
    from packager.questions.statistics import statistics
    from packager.traces.load import load

    text = as_text(statistics(load(trace)), width)
    lines = [line for line in text.splitlines() if not line.startswith("not shown")]
    assert max(map(len, lines)) <= width
    assert "grid::heat<double>:12" in text


# ---- what grew ----


def test_equal_runs_exit_0(trace: Path, tmp_path: Path) -> None:
    copy = tmp_path / "old.json"
    copy.write_bytes(trace.read_bytes())
    result = omptool("stats", trace, "--against", copy)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == "in all: launches 2, copies 4, bytes 3200, fallbacks 0\n"


def test_growth_exits_1_and_names_the_construct(trace: Path, tmp_path: Path) -> None:
    old = trace_of(tmp_path / "old.json", 1)
    result = omptool("stats", trace, "--against", old)
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        "~ target grid::heat<double>:12: launches 1 -> 2, copies 2 -> 4, bytes 1600 -> 3200 (grew)",
        "+ target update grid.cpp:20: times 0 -> 1 (grew)",
        "in all: launches 1 -> 2, copies 2 -> 4, bytes 1600 -> 3200, fallbacks 0",
    ]
    assert result.stderr == f"Error: {trace}: 2 constructs grew by more than 0 %\n"


def test_tolerance_allows_growth(tmp_path: Path) -> None:
    old, new = trace_of(tmp_path / "old.json", 10), trace_of(tmp_path / "new.json", 11)
    assert omptool("stats", new, "--against", old, "--tolerance", "10").exit_code == 0
    assert omptool("stats", new, "--against", old, "--tolerance", "9").exit_code == 1


def test_less_is_shown_and_is_no_fault(tmp_path: Path) -> None:
    old, new = trace_of(tmp_path / "old.json", 3), trace_of(tmp_path / "new.json", 2)
    result = omptool("stats", "--json", new, "--against", old)
    found = document("stats-against", result.stdout)
    assert (result.exit_code, found["grew"]) == (0, False)
    (change,) = found["changes"]
    assert change["facts"][0] == {"what": "launches", "old": 3, "new": 2}


# ---- wrong usage ----


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tolerance", "5"], "--tolerance needs --against."),
        (["--csv", "--json"], "--csv excludes --json and --against."),
        (["--csv", "--against", "old.json"], "--csv excludes --json and --against."),
    ],
)
def test_options_that_make_no_sense_together(
    trace: Path, arguments: list[str], message: str
) -> None:
    result = omptool("stats", trace, *arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_trace_is_not_compared_with_itself(trace: Path) -> None:
    result = omptool("stats", trace, "--against", trace)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"Error: {trace}: is compared with itself\n"


def test_a_malformed_trace_is_named(trace: Path, tmp_path: Path) -> None:
    old = tmp_path / "old.json"
    old.write_text("nothing")
    result = omptool("stats", trace, "--against", old)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"Error: {old}: is neither")


def test_a_trace_without_its_end_has_a_note(tmp_path: Path) -> None:
    trace = trace_of(tmp_path / "t.json", 1)
    trace.write_text(trace.read_text()[:-60])
    result = omptool("stats", trace)
    assert result.exit_code == 0
    assert result.stderr.startswith(f"Note: {trace}: the trace has no end")
