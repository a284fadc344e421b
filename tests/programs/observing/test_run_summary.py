# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`run --summary` tells at the end what ran, what moved, and what ran on the host."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from clangs import compiled
from fixture_programs import OMPTOOL
from recorder import OBSERVING
from running import run

pytestmark = pytest.mark.offloads


def summary(program: Path, **environment: str) -> list[str]:
    """Return the lines that the program leaves on stderr."""
    done = subprocess.run(
        [OMPTOOL, "run", "--summary", program],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        env=os.environ | environment,
    )
    return done.stderr.splitlines()


def test_regions_and_copies(tmp_path: Path) -> None:
    lines = summary(compiled(OBSERVING / "traced.c", tmp_path, "-g"))
    assert lines[0] == "Regions:"
    assert lines[1].split()[0] == "region"
    regions = {
        words[0]: words[1:] for words in (re.split(r"  +", line.strip()) for line in lines[2:4])
    }
    assert (regions["main:6"][0], regions["main:6"][3:]) == ("1", ["16 B", "16 B", "0"])
    assert (regions["main:10"][0], regions["main:10"][3:]) == ("1", ["0 B", "0 B", "0"])
    at = lines.index("Copies:")
    copies = {
        words[0].rpartition("/")[2]: words[1:]
        for words in (re.split(r"  +", line.strip()) for line in lines[at + 2 :])
    }
    assert copies["traced.c:6:1"] == ["1", "16 B", "16 B"]
    assert copies["traced.c:13:1"] == ["1", "0 B", "16 B"]
    assert copies["(no source line) omp_target_memcpy"] == ["2", "16 B", "16 B"]


def test_columns_stand_below_each_other(tmp_path: Path) -> None:
    lines = summary(compiled(OBSERVING / "traced.c", tmp_path))
    at = lines.index("Copies:")
    assert len({len(line) for line in lines[1:at]}) == 1
    copies = {re.split(r"  +", line.strip())[0] for line in lines[at + 2 :]}
    assert {"main:6", "(no source line) target update"} <= copies
    assert not any("__tgt" in line for line in lines)


def test_a_fallback_is_counted_with_its_reason(tmp_path: Path) -> None:
    lines = summary(
        compiled(OBSERVING / "traced.c", tmp_path), OMPTOOL_PLUGINS="nosuch", OMPTOOL_QUIET="1"
    )
    assert lines[0] == "Regions:"
    assert re.split(r"  +", lines[2].strip())[1:] == ["0", "0 ns", "0 ns", "0 B", "0 B", "1"]
    assert re.search(r"^  main:10 ran 1 time on the host: there is no device: ", lines[4])


def test_a_program_without_regions_has_none(tmp_path: Path) -> None:
    source = tmp_path / "plain.c"
    source.write_text("#include <omp.h>\nint main(void) { return omp_get_num_devices() > 9; }\n")
    assert summary(compiled(source, tmp_path)) == ["Regions: none"]


def test_a_region_that_no_call_asked_for_is_listed(tmp_path: Path) -> None:
    """Also where the program asks the runtime for nothing at all."""
    idle = "not launched (not called, or its `if` was false)"
    found = summary(compiled(OBSERVING / "counts_devices.c", tmp_path))
    assert found == ["Regions: none", f"  main:6 {idle}"]
    source = tmp_path / "unused.cpp"
    source.write_text(
        "namespace grid { void heat(int n) {\n"
        "#pragma omp target if(n > 100)\n"
        "{ } } }\n"
        "int main(int argc, char**) { if (argc > 9) grid::heat(argc); }\n"
    )
    app = tmp_path / "unused"
    flags = ["-fopenmp", "-fopenmp-targets=x86_64-pc-linux-gnu", "-O1"]
    subprocess.run(["clang++-19", *flags, source, "-o", app], check=True)
    assert summary(app) == ["Regions: none", f"  grid::heat:2 {idle}"]


def test_a_wrong_value_is_named(tmp_path: Path) -> None:
    done = run(compiled(OBSERVING / "traced.c", tmp_path), OMPTOOL_SUMMARY="yes")
    assert done.stderr == (
        "omptarget: the runtime ignores OMPTOOL_SUMMARY=yes and uses 0; known values: 0, 1\n"
    )
