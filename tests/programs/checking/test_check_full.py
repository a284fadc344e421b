# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the runtime finds under --check=full, and where: each program marks the lines that are at fault."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from check_table import Finding, findings, make_table
from clangs import compiled
from places import TESTS
from running import MANDATORY, run
from whole_programs import SOUND, is_error, sources

pytestmark = pytest.mark.offloads

CHECKING = TESTS / "programs" / "checking"
SYMBOLIZER = "llvm-symbolizer-19"
ERRORS = {"OMP321", "OMP322", "OMP323", "OMP324", "OMP325"}
OF_HOST = {"OMP323", "OMP324"}  # the line is that of the host's instruction
OF_KERNEL = {"OMP321", "OMP322"}
# The hints of these are marked, too.
HINTED = ("full_copies", "full_lost", "full_sound")
# These do on purpose what the checker calls an error, and look at the values that are left.
ON_PURPOSE = {
    "encounter": {"OMP325"},
    "lifetimes": {"OMP323"},
    "unified": {"OMP325"},
    "fig_6_36": {"OMP323"},
    "fig_6_37": {"OMP323"},
    "fig_6_48": {"OMP325"},
}
BOOK = [figure for figure in sources(TESTS / "programs" / "book") if not is_error(figure)]
APPLICATIONS = sources(TESTS / "programs" / "applications")
REFUSED_BY_CLANG = ("fig_6_12_stride", "fig_6_51_sections", "fig_6_61_array")
LEGAL = [p for p in (*SOUND, *BOOK, *APPLICATIONS) if p.stem not in REFUSED_BY_CLANG]


def line_of(file: Path, address: int) -> int:
    """Return the line of an instruction."""
    command = [SYMBOLIZER, "--no-inlines", "-e", file, hex(address)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return int(said.splitlines()[1].split(":")[-2])


def place(program: Path, image: Path, finding: Finding) -> tuple[str, int]:
    """Return a finding's code and line."""
    if finding.code in OF_KERNEL:
        return finding.code, line_of(image, finding.kernel)
    if finding.code in OF_HOST:
        return finding.code, line_of(program, finding.call - 1)
    return finding.code, int(finding.source.split(":")[-2])


def marked(program: Path) -> set[tuple[str, int]]:
    """Return the codes and lines that a program marks."""
    lines = enumerate(program.read_text().splitlines(), 1)
    return {(code, number) for number, line in lines for code in re.findall(r"/\* (OMP\d+)", line)}


def checked(program: Path, **environment: str) -> tuple[subprocess.CompletedProcess[str], Path]:
    """Run a program under the checker; return how it ended, and the table."""
    table = make_table(program.with_suffix(".table"))
    return run(program, OMPTOOL_CHECK=str(table), **MANDATORY, **environment), table


@pytest.mark.parametrize("source", sorted(CHECKING.glob("full_*.c")), ids=lambda path: path.stem)
def test_each_fault_is_found_on_its_line(tmp_path: Path, source: Path) -> None:
    program = compiled(source, tmp_path, "-g", "-O1")
    images = tmp_path / "images"
    images.mkdir()
    done, table = checked(program, OMPTOOL_KEEP_IMAGES=str(images))
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")
    (image,) = images.iterdir()
    codes = ERRORS if source.stem not in HINTED else {f"OMP{number}" for number in range(321, 341)}
    found = {place(program, image, one) for one in findings(table) if one.code in codes}
    assert found == marked(source)


def test_a_finding_names_kernel_and_variable(tmp_path: Path) -> None:
    done, table = checked(compiled(CHECKING / "full_edge.c", tmp_path, "-g", "-O1"))
    assert done.returncode == 0
    (finding,) = findings(table)
    assert (finding.variable, finding.size, finding.count) == ("few", 40, 1)
    assert finding.entry.startswith("__omp_offloading_")
    assert finding.entry.endswith("_main_l6")


def test_hints_have_the_bytes_that_could_be_saved(tmp_path: Path) -> None:
    source = CHECKING / "full_copies.c"
    _, table = checked(compiled(source, tmp_path, "-g", "-O1"))
    expected = dict(re.findall(r"/\* (OMP33\d) (\d+)", source.read_text()))
    assert {one.code: str(one.bytes) for one in findings(table)} == expected


@pytest.mark.parametrize("source", LEGAL, ids=lambda path: path.stem)
def test_a_legal_program_has_no_error(tmp_path: Path, source: Path) -> None:
    program = compiled(source, tmp_path, "-g", "-lm")
    done, table = checked(program)
    plain = run(program, **MANDATORY)
    rates = re.compile(r"\S+/s \d+\n")
    assert (done.returncode, rates.sub("", done.stdout), done.stderr) == (
        plain.returncode,
        rates.sub("", plain.stdout),
        plain.stderr,
    )
    codes = {one.code for one in findings(table)} & ERRORS
    assert codes <= ON_PURPOSE.get(source.stem, set())


def test_without_a_table_nothing_is_checked(tmp_path: Path) -> None:
    program = compiled(CHECKING / "full_beyond.c", tmp_path, "-g", "-O1")
    done = run(program, OMPTOOL_CHECK="", **MANDATORY)
    assert (done.returncode, done.stderr) == (0, "")
