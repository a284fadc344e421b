# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Doctor prints the errors that verify finds in the program's files, and exits 1."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from clangs import INSTALLED, OFFLOADING, compiled, tool
from documents import document
from fixture_programs import OMPTOOL
from toolchain import compile_c, omptool

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


@pytest.mark.offloads
def test_a_program_that_chooses_its_device(source: Path, tmp_path: Path) -> None:
    text = SOURCE.replace("int x = 0;", "int x = 0; omp_set_default_device(omp_get_num_devices());")
    source.write_text(f"#include <omp.h>\n{text}")
    first, *_ = omptool("doctor", compiled(source, tmp_path)).stdout.splitlines()
    assert first.endswith("runs on a device (1 device; predicted for the default device)")


@pytest.mark.offloads
def test_a_program_that_opens_libraries(source: Path, tmp_path: Path) -> None:
    """No library is looked for: a hint names the command that sees them."""
    hint = (
        "OMP210 info: the program may open libraries itself (dlopen), which this prediction lacks"
    )
    assert "dlopen" not in omptool("doctor", compiled(source, tmp_path)).stdout
    (tmp_path / "opener").mkdir()
    source.write_text(f"#include <dlfcn.h>\n{SOURCE.replace('x - 1', 'dlopen(0, 1) == 0')}")
    done = omptool("doctor", compiled(source, tmp_path / "opener"))
    assert (done.exit_code, done.stdout.count(hint)) == (0, 1)
    assert "    `omptool doctor --run` sees their regions" in done.stdout
    plain = compile_c(source.read_text().replace("#pragma omp", "//"), tmp_path / "plain")
    assert omptool("doctor", plain).stdout.startswith(f"{plain}: no offload code\n{hint}")


@pytest.mark.offloads
def test_a_device_out_of_range(source: Path, tmp_path: Path) -> None:
    """The region is named in front of LLVM's words."""
    source.write_text(SOURCE.replace("map(tofrom", "device(3) map(tofrom"))
    done = under_run(compiled(source, tmp_path))
    region, llvms = done.stderr.splitlines()
    assert region == "omptarget: region main:3 asks for device 3: 1 device is available"
    assert llvms.endswith("Device number '3' out of range, only 1 devices available")


def under_run(program: Path) -> subprocess.CompletedProcess[str]:
    command = [OMPTOOL, "run", str(program)]
    return subprocess.run(command, capture_output=True, text=True, check=False)
