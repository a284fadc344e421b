# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Doctor prints the errors that verify finds in the program's files, and exits 1."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from clangs import INSTALLED, OFFLOADING, compiled, tool
from documents import document
from toolchain import omptool

from omptool.installation import libdir

SOURCE = """\
int main(void) {
  int x = 0;
#pragma omp target map(tofrom : x)
  x = 1;
  return x - 1;
}
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "program.c"
    path.write_text(SOURCE)
    return path


def errors(path: Path) -> list[str]:
    done = omptool("doctor", "--json", path)
    assert done.exit_code == 1
    found = document("doctor", done.stdout)["findings"]
    return [one["code"] for one in found if one["severity"] == "error"]


@pytest.mark.offloads
def test_objects_that_gcc_linked(source: Path, tmp_path: Path) -> None:
    """The linker wrapper of clang never saw the archive."""
    call(*tool(INSTALLED, "clang"), *OFFLOADING[:2], "-c", source, "-o", tmp_path / "a.o")
    call("ar", "rcs", tmp_path / "liba.a", tmp_path / "a.o")
    libraries = ("-l:libomp.so.5", f"-L{libdir()}", "-lomptarget", f"-Wl,-rpath,{libdir()}")
    whole = ("-Wl,--whole-archive", tmp_path / "liba.a", "-Wl,--no-whole-archive")
    call("gcc", "-o", tmp_path / "program", *whole, *libraries)
    assert errors(tmp_path / "program") == ["OMP101"]
    text = omptool("doctor", tmp_path / "program").stdout
    assert "OMP101 error: 1 entry in omp_offloading_entries but no descriptor" in text
    assert "give clang its offload flags" in text


@pytest.mark.offloads
def test_a_file_without_its_entries(source: Path, tmp_path: Path) -> None:
    path = compiled(source, tmp_path)
    assert omptool("doctor", path).exit_code == 0
    removed = tmp_path / "removed"
    call("objcopy", "-R", "omp_offloading_entries", path, removed)
    assert errors(removed) == ["OMP103"]
    first, *_ = omptool("doctor", removed).stdout.splitlines()
    assert first.startswith(f"{removed}: its entries are not found: the descriptor at 0x")


def call(*words: object) -> None:
    subprocess.run([str(word) for word in words], check=True)


@pytest.mark.offloads
def test_an_image_for_another_cpu(source: Path, tmp_path: Path) -> None:
    """No machine has both what AMD's and what Intel's processors alone have had."""
    other = "knm" if "fma4" in Path("/proc/cpuinfo").read_text() else "bdver4"
    path = compiled(source, tmp_path, "-Xopenmp-target", f"-march={other}")
    assert "OMP205" in errors(path)
    first, *_ = omptool("doctor", path).stdout.splitlines()
    assert f"or ends by SIGILL: image 0 is for {other}, and this machine's processor lacks" in first
