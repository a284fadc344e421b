# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs of fixtures/ as files: `verify` and `dump` like them, and their IR is portable."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from fixture_programs import CLANG, NVPTX, OMPTOOL, PROGRAMS, build_once, call, lower
from places import FIXTURES
from products import Products

from packager.lowering.libdevice import libdevice

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", PROGRAMS)
def test_verify_finds_nothing_but_what_is_meant(products: Products, name: str) -> None:
    command = [OMPTOOL, "verify", str(build_once(name, products))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if name == "missing_kernel":
        assert done.returncode == 1
        assert "second" in done.stdout
    else:
        assert done.returncode == 0, done.stdout + done.stderr


# Modules with NVIDIA's library of mathematical functions, and without.
IR = sorted(
    path.relative_to(FIXTURES)
    for path in FIXTURES.glob("*/*.ll")
    if libdevice() or path.stem != "library" or path.parent.name != "portable"
)


@pytest.mark.parametrize("ir", IR, ids=str)
def test_the_kernels_are_portable(tmp_path: Path, ir: str) -> None:
    ptx = lower(FIXTURES / ir, tmp_path / "kernels.ptx", "--cpu", "sm_75", triple=NVPTX)
    if shutil.which("ptxas"):
        call("ptxas", "-arch=sm_75", ptx, "-o", tmp_path / "kernels.cubin")


@pytest.mark.parametrize("command", ["dump", "verify"])
def test_clangs_program_is_read(tmp_path: Path, command: str) -> None:
    source = FIXTURES / "clang_saxpy" / "saxpy.c"
    call(*CLANG, "-O2", "-Wall", "-Wextra", "-Werror", source, "-o", tmp_path / "saxpy")
    words = [OMPTOOL, command, str(tmp_path / "saxpy")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    if command == "dump":
        assert "scale" in done.stdout
        assert "\nsaxpy:" in done.stdout
