# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The checker finds mistakes of mapping at the right line, and none where there is none."""

from __future__ import annotations

import os
import re
import signal
import subprocess
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
from clangs import FULL, INSTALLED, compiler, libraries, made, stem
from fixture_programs import OMPTOOL, build
from outcomes import ENVIRONMENT, Programs
from whole_programs import BOOK, sources

from packager.machine.run_check.check_run import CheckFinding

pytestmark = pytest.mark.offloads

MISTAKES = sources(Path(__file__).parent / "events")
# Figures with an error: the checker's finding, and its line.
FIGURES = {
    "fig_6_08_error": {("OMP313", 12, 1)},
    "fig_6_39_error": {("OMP305", 14, 1)},
    "fig_6_39_grown_error": {("OMP301", 9, 1)},
    "fig_6_42_error": {("OMP314", 16, 1)},
}


def found_in(version: str, source: Path, into: Path) -> list[CheckFinding]:
    """Return the checker's findings in a program with debug information."""
    program = with_debug_information(version, source, into)
    return checked(program, LD_LIBRARY_PATH=libraries(version))[0]


@pytest.mark.parametrize(("source", "version"), by_two_clangs(MISTAKES))
def test_a_mistake_is_found_at_its_line(source: Path, version: str, tmp_path: Path) -> None:
    assert lines(found_in(version, source, tmp_path)) == marked(source)


@pytest.mark.parametrize(
    ("source", "version"), by_two_clangs([BOOK / f"{name}.c" for name in FIGURES])
)
def test_a_figures_error_is_found(source: Path, version: str, tmp_path: Path) -> None:
    assert lines(found_in(version, source, tmp_path)) == FIGURES[source.stem]


@pytest.mark.parametrize("version", legal_by(FULL))
@pytest.mark.parametrize("source", LEGAL, ids=stem)
def test_a_legal_program_has_no_error(
    programs: Programs, version: str, source: Path, tmp_path: Path
) -> None:
    """The program may have hints."""
    program = legal(programs, version, source, tmp_path)
    found, done = checked(program, *ARGUMENTS.get(source.stem, ()), **ENVIRONMENT)
    assert (errors(found), done.returncode, done.stderr) == ([], 0, "")


def test_hints_have_a_count(tmp_path: Path) -> None:
    """Each turn of a loop is counted, and the bytes in all."""
    [one] = found_in(INSTALLED, MISTAKES[0].with_name("allocated_again.c"), tmp_path)
    assert (one.variable, one.size, one.total) == ("x", 800, 7200)
    assert one.message == (
        "x (800 bytes) is freed on the device and allocated again at once: keep it mapped "
        "(`target data`) around the loop"
    )


def test_without_debug_information_findings_have_functions(tmp_path: Path) -> None:
    """The message of OMP315 has its count where people read it."""
    source = tmp_path / "again.cpp"
    source.write_text(
        "namespace grid { template <typename T> void relax(T *x) {\n"
        "#pragma omp target map(tofrom : x[:8100])\n"
        "  x[0] += 1; } }\n"
        "int main() { static double x[8100];\n"
        "  for (int i = 0; i < 481; ++i) grid::relax(x); return 0; }\n"
    )
    app = tmp_path / "again"
    flags = ["-fopenmp", "-fopenmp-targets=x86_64-pc-linux-gnu", "-fno-inline"]
    subprocess.run(["clang++-19", *flags, source, "-o", app], check=True)
    command: list[str | Path] = [OMPTOOL, "run", "--check", app]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    said = re.sub(r" at 0x\w+ \(64,800 bytes\)", "", done.stderr)
    assert said == (
        f"{app}: grid::relax<double>: OMP315 hint: 64,800 bytes are freed on the device and "
        "allocated again at once, 480 times: keep them mapped (`target data`) around the loop\n"
        "    memory; region grid::relax<double>:2; device 0; 31,104,000 bytes in all\n"
        f"{app} has no source lines: compile with -g for lines\n"
        "the checker found 1 hint\n"
    )


def test_the_example_of_the_readme_is_clean(tmp_path: Path) -> None:
    found, done = checked(build("saxpy", tmp_path))
    assert (done.returncode, found) == (0, [])


def test_a_map_of_a_declare_target_variable_shows_both_values(tmp_path: Path) -> None:
    found = found_in(INSTALLED, MISTAKES[0].with_name("global_not_copied.c"), tmp_path)
    assert [one.message for one in found] == [
        (
            "map(to: x) copied nothing, because x is a declare target variable (host 5, device 1): "
            "use `target update to(x)`"
        ),
        (
            "map(to: table) copied nothing, because table is a declare target variable (byte 22: "
            "host 28, device 8): use `target update to(table)`"
        ),
    ]


def test_memory_that_cannot_be_read_is_found_before_the_fault(tmp_path: Path) -> None:
    source = MISTAKES[0].with_name("unreadable.c")
    found, done = checked(with_debug_information(INSTALLED, source, tmp_path))
    assert done.returncode == -signal.SIGSEGV
    message = r"^x\S* .*\(8,192 bytes at 0x\w+\) is longer than the memory"
    assert re.search(message, found[0].message)


def test_without_debug_information_there_is_the_call(tmp_path: Path) -> None:
    source = MISTAKES[0].with_name("still_mapped.c")
    program = made(tmp_path / source.stem, *compiler(INSTALLED, source), source)
    [one] = checked(program)[0]
    assert one.code == "OMP311"
    assert one.variable == ""
    assert one.call
    assert os.fsdecode(one.call.file).endswith("/still_mapped")
