# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every line that names a region has its function without parameters, and its line."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from clangs import CLANG, FLAGS, compiled, made
from fixture_programs import OMPTOOL
from places import TESTS
from toolchain import omptool

pytestmark = pytest.mark.offloads

SOURCE = TESTS / "programs" / "faults" / "names.cpp"
NAMES = ("grid::heat:4", "main:25", "grid::doubled<int>:12", "grid::doubled<long>:12")
MAIN = """
int part(int, char **);
int main() {
  int x = 0;
#pragma omp target map(tofrom : x)
  x = 1;
  return part(1, nullptr) + x - 1;
}
"""
RAW = "__omp_offloading_"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(SOURCE, tmp_path_factory.mktemp("names"))


def started(*words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(OMPTOOL), *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env=os.environ | environment,
    )


def test_a_fallback(program: Path) -> None:
    done = started("run", program, OMPTOOL_PLUGINS="cuda")
    lines = [line for line in done.stderr.splitlines() if "repeated" not in line]
    pattern = re.compile(r"omptarget: region (.+?) runs on the host: there is no device: .*")
    assert [found[1] for line in lines if (found := pattern.fullmatch(line))] == list(NAMES)
    assert done.returncode == 0
    assert RAW not in done.stderr


def test_a_region_that_must_not_fall_back(program: Path) -> None:
    done = started("run", "--mandatory", program, OMPTOOL_PLUGINS="cuda")
    assert "omptarget fatal error: region grid::heat:4 cannot run on a device, " in done.stderr
    assert (done.returncode, RAW in done.stderr) == (-signal.SIGABRT, False)


def test_a_device_that_is_not_there(tmp_path: Path) -> None:
    done = started("run", compiled(SOURCE, tmp_path, "-DFAR=3"))
    first = done.stderr.splitlines()[0]
    assert first == "omptarget: region main:25 asks for device 3: 1 device is available"


def test_a_kernel_that_faults(program: Path) -> None:
    """The name is made in a signal handler, without the heap."""
    done = started("run", program, "faults")
    said = r"omptarget: kernel grid::heat:4 ends by SIGSEGV at .*, in thread 0 of team 0\n"
    assert re.fullmatch(said, done.stderr)
    assert done.returncode == -signal.SIGSEGV


def test_the_summary_and_the_reports(program: Path) -> None:
    said = omptool("doctor", program).stdout
    for report in (
        started("run", "--summary", program).stderr,
        started("doctor", "--run", program).stdout,
        said,
    ):
        assert RAW not in report
        assert all(re.search(rf"(^|\s){re.escape(name)}\s", report) for name in NAMES)


def test_regions_for_the_host_alone(tmp_path: Path) -> None:
    """The host-only regions are in a whole program, and in one object of a program for a device."""
    alone = made(tmp_path / "alone", CLANG[".cpp"], "-O0", "-fopenmp", SOURCE)
    part = made(tmp_path / "part.o", CLANG[".cpp"], "-O0", "-fopenmp", "-c", "-Dmain=part", SOURCE)
    (tmp_path / "main.cpp").write_text(MAIN)
    mixed = made(tmp_path / "mixed", CLANG[".cpp"], *FLAGS, tmp_path / "main.cpp", part)
    for path in (alone, mixed):
        done = omptool("doctor", path)
        first = done.stdout.splitlines()[0]
        assert "for the host alone (grid::heat:4, " in (first if path == mixed else done.stdout)
        assert (done.exit_code, RAW in done.stdout) == (1, False)
