# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool doctor` names the archive with a library's kernels for this machine's GPU, if it lacks.

The GPU is of a made-up topology of AMD's driver.
"""

from __future__ import annotations

from pathlib import Path

import kpacks
import pytest
from documents import document
from toolchain import compile_c, omptool

from omptool.probes import amd_kfd

PATH = "../.kpack/blas_@GFXARCH@.kpack"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Provide a folder with a library in lib/, on a machine with a gfx1151."""
    nodes = tmp_path / "nodes"
    (nodes / "1").mkdir(parents=True)
    (nodes / "1" / "properties").write_text("simd_count 80\ngfx_target_version 110501\n")
    monkeypatch.setattr(amd_kfd, "NODES", nodes)
    (tmp_path / ".kpack").mkdir()
    (tmp_path / "lib").mkdir()
    kpacks.library(tmp_path / "lib", PATH)
    return tmp_path


def diagnosed(path: Path) -> list[str]:
    """Return the messages of doctor about archives."""
    said = document("doctor", omptool("doctor", "--json", path).stdout)
    return [found["message"] for found in said["findings"] if found["code"] == "OMP134"]


LACK = f"{kpacks.LIBRARY} has no kernels for this machine's gfx1151"


def test_a_library_without_its_archive(installed: Path) -> None:
    path = installed / "lib" / "libone.so"
    absent = f"{LACK}: ../.kpack/blas_gfx1151.kpack is not there"
    assert diagnosed(path) == [absent]
    (installed / ".kpack" / "blas_gfx90a.kpack").write_bytes(
        kpacks.for_gpu("gfx90a", kpacks.LIBRARY)
    )
    assert diagnosed(path) == [absent]
    shown = omptool("doctor", path)
    assert shown.exit_code == 1
    assert "1 archived image for HIP's runtime does not run here" in shown.stdout.splitlines()[0]
    assert f"OMP134 warning: {absent}" in shown.stdout


def test_an_archive_without_the_library(installed: Path) -> None:
    (installed / ".kpack" / "blas_gfx1151.kpack").write_bytes(kpacks.for_gpu("gfx1151", "other"))
    (found,) = diagnosed(installed / "lib" / "libone.so")
    assert found == f"{LACK}: ../.kpack/blas_gfx1151.kpack has none"


@pytest.mark.parametrize("arch", ["gfx1151", "gfx11-generic"])
def test_an_archive_that_is_there(installed: Path, arch: str) -> None:
    (installed / ".kpack" / f"blas_{arch}.kpack").write_bytes(kpacks.for_gpu(arch, kpacks.LIBRARY))
    assert diagnosed(installed / "lib" / "libone.so") == []


def test_a_library_that_a_program_needs(installed: Path) -> None:
    """The library's code is for HIP's runtime only, and is not read."""
    flags = (f"-L{installed / 'lib'}", "-lone", f"-Wl,-rpath,{installed / 'lib'}")
    text = "int used_by_programs(void);\nint main(void) { return used_by_programs(); }"
    words = (*flags, "-Wl,--unresolved-symbols=ignore-in-shared-libs")
    program = compile_c(text, installed / "program", *words)
    shown = omptool("doctor", program).stdout
    assert "no offload code of its own" in shown
    assert f"OMP134 warning: {LACK}" in shown
    assert len(diagnosed(program)) == 1


def test_a_machine_without_such_a_gpu(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(amd_kfd, "NODES", installed / "none")
    path = installed / "lib" / "libone.so"
    assert diagnosed(path) == []
    shown = omptool("doctor", path).stdout
    assert "1 archived image for HIP's runtime does not run here" in shown


@pytest.mark.parametrize("variable", ["ROCM_KPACK_PATH", "ROCM_KPACK_PATH_PREFIX"])
def test_archives_elsewhere(
    installed: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    """HIP's runtime looks there, and doctor does not."""
    monkeypatch.setenv(variable, str(installed / "other.kpack"))
    path = installed / "lib" / "libone.so"
    (found,) = diagnosed(path)
    assert found.endswith(f"is not there; {variable} names archives that doctor does not read")
    assert "OMP134 info: " in omptool("doctor", path).stdout
