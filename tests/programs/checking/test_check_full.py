# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`--check=full` finds mistakes in the use of memory at the right line, and changes nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from builds import by_two_clangs
from checked import (
    ARGUMENTS,
    LEGAL,
    checked,
    errors,
    legal,
    legal_by,
    lines,
    marked,
    with_debug_information,
)
from clangs import INSTALLED, compiled, libraries, stem
from outcomes import ENVIRONMENT, Programs
from places import TESTS
from running import MANDATORY, run

from packager.machine.run_check.check_run import merged

pytestmark = pytest.mark.offloads

REFUSED = Path(__file__).with_name("full_refused.c")
HOISTED = Path(__file__).with_name("hoisted.c")
MISTAKES = sorted({*Path(__file__).parent.glob("full_*.c")} - {REFUSED})
# First LLVM whose runtime handles `nowait` with `depend`: earlier ones hang, or wait.
OLDEST = {"full_early": 19, "full_sound": 19}
# Programs in which all findings are marked; in the others, all but hints about copies.
HINTED = ("full_copies", "full_lost", "full_sound")
OF_MEMORY = ("OMP321", "OMP322", "OMP323", "OMP324", "OMP325")
# Findings that need watchpoints of the processor, which the kernel may refuse.
OF_HOST = {"OMP323", "OMP324"}


@pytest.mark.parametrize(("source", "version"), by_two_clangs(MISTAKES, OLDEST))
def test_each_mistake_is_found_on_its_line(tmp_path: Path, source: Path, version: str) -> None:
    program = with_debug_information(version, source, tmp_path)
    found, done = checked(program, level="full", LD_LIBRARY_PATH=libraries(version))
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")
    expected = {mark[:2] for mark in marked(source)}
    if any(one.code == "OMP340" for one in found):
        expected = {mark for mark in expected if mark[0] not in OF_HOST}
    wanted = ("OMP32", "OMP33") if source.stem in HINTED else OF_MEMORY
    assert {mark[:2] for mark in lines(found) if mark[0].startswith(wanted)} == expected


@pytest.mark.parametrize(("source", "version"), by_two_clangs([HOISTED]))
def test_a_load_before_its_loop_has_a_line(tmp_path: Path, source: Path, version: str) -> None:
    """The load itself has line 0, because the compiler moved it."""
    expect_lines(with_debug_information(version, source, tmp_path), version)


@pytest.mark.parametrize("level", ["-O0", "-O2", "-O3"])
def test_a_load_has_a_line_at_each_level(tmp_path: Path, level: str) -> None:
    expect_lines(compiled(HOISTED, tmp_path, "-g", level), INSTALLED)


def expect_lines(program: Path, version: str) -> None:
    """Expect one finding for each region of HOISTED, on one of its lines."""
    found, done = checked(program, level="full", LD_LIBRARY_PATH=libraries(version))
    assert done.returncode == 0
    faults = merged(one for one in found if one.code in OF_MEMORY)
    assert {one.code for one in faults} == {"OMP321", "OMP322"}
    assert len({one.entry for one in faults}) == len(faults) == 4
    for one in faults:
        region = int(one.entry.rpartition("_l")[2])
        assert one.place
        assert one.place.line in range(region, region + 7)


def test_a_finding_names_kernel_and_variable(tmp_path: Path) -> None:
    found, done = checked(
        compiled(TESTS / "programs" / "checking" / "full_edge.c", tmp_path, "-g", "-O1"),
        level="full",
    )
    assert done.returncode == 0
    [finding] = errors(found)
    assert (finding.variable, finding.size, finding.times) == ("few", 40, 1)
    assert finding.entry.startswith("__omp_offloading_")
    assert finding.entry.endswith("_main_l7")


def test_hints_have_the_bytes_that_could_be_saved(tmp_path: Path) -> None:
    source = Path(__file__).with_name("full_copies.c")
    found, _ = checked(compiled(source, tmp_path, "-g", "-O1"), level="full")
    expected = dict(re.findall(r"/\* (OMP33\d) (\d+)", source.read_text()))
    assert {one.code: str(one.total) for one in found if one.code in expected} == expected


def test_what_cannot_be_checked_is_told(tmp_path: Path) -> None:
    found, done = checked(compiled(REFUSED, tmp_path, "-g", "-O1"), level="full")
    assert (done.returncode, done.stdout) == (0, "ok\n")
    assert {one.code for one in found} == {"OMP331", "OMP340"}
    [told] = [one for one in found if one.code == "OMP340"]
    assert told.message.startswith("the processor's watchpoints cannot be used (")


def test_one_construct_drops_its_list_in_one_finding(tmp_path: Path) -> None:
    source = Path(__file__).with_name("full_lost.c")
    found, _ = checked(compiled(source, tmp_path, "-g", "-O1"), level="full")
    [one] = [one for one in found if one.code == "OMP331" and "," in one.variable]
    assert set(re.split(", | and ", one.variable)) == {"one", "other", "third"}
    assert one.message == f"what a kernel wrote to {one.variable} is thrown away"
    assert one.size == 12000
    assert not [one for one in found if one.code == "OMP331" and one.variable == "scratch"]


def test_an_overrun_loop_is_one_finding(tmp_path: Path) -> None:
    source = Path(__file__).with_name("full_overrun.c")
    for level in ("-O1", "-O2"):  # unrolled, and not
        found, _ = checked(compiled(source, tmp_path, "-g", level), level="full")
        [one] = [one for one in merged(found) if one.code == "OMP321"]
        assert (one.variable, one.place and one.place.line) == ("first", 12)


@pytest.mark.parametrize(
    ("limit", "objects", "size", "reason"),
    [
        (4 << 30, 3, 128, ""),
        (1 << 30, 1, 100 << 20, "larger than the addresses"),
        (None, 17_000, 128, "more objects of one size"),
    ],
)
def test_limited_memory_makes_no_fault(
    tmp_path: Path, limit: int | None, objects: int, size: int, reason: str
) -> None:
    app = compiled(Path(__file__).with_name("limited_memory.c"), tmp_path, "-g")
    shell = f"ulimit -v {limit >> 10}; " if limit else ""
    script = tmp_path / "script"
    script.write_text(f'#!/bin/sh\n{shell}exec "{app}" {objects} {size}\n')
    script.chmod(0o755)
    found, done = checked(script, level="full")
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")
    assert {one.code for one in found} <= {"OMP340"}
    refusals = [one for one in found if "guarded memory" in one.message]
    assert [one.times for one in refusals] == ([1] if reason else [])
    assert all(reason in one.message for one in refusals)


@pytest.mark.parametrize("version", legal_by([INSTALLED]))
@pytest.mark.parametrize("source", LEGAL, ids=stem)
def test_a_legal_program_has_no_error(
    programs: Programs, version: str, source: Path, tmp_path: Path
) -> None:
    """The program also prints the same as without the checker."""
    program = legal(programs, version, source, tmp_path)
    arguments = ARGUMENTS.get(source.stem, ())
    found, done = checked(program, *arguments, level="full", **ENVIRONMENT)
    plain = run(program, *arguments, **ENVIRONMENT, **MANDATORY)
    rates = re.compile(r"\S+/s +\S+\n")
    assert (done.returncode, rates.sub("", done.stdout), done.stderr) == (
        plain.returncode,
        rates.sub("", plain.stdout),
        plain.stderr,
    )
    assert errors(found) == []
