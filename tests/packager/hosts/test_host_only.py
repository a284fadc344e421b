# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Target regions compiled for the host alone, in files of each compiler."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from clangs import EVERY, INSTALLED, once, tool
from fixture_programs import OMPTOOL
from places import TESTS
from toolchain import compile_c, omptool

SOURCE = TESTS / "packager" / "hosts" / "host_only.c"
SHOWN = "clang compiled target regions for the host alone"
LIBOMP = "/usr/lib/x86_64-linux-gnu/libomp.so.5"


def built(version: str, out: Path, *flags: str) -> Path:
    """Return the program as a clang compiles it, linked with the libomp that is installed."""
    words = [*tool(version, "clang"), "-fopenmp", *flags, "-c", str(SOURCE)]

    def make(path: Path) -> None:
        object_file = path.with_suffix(".o")
        subprocess.run([*words, "-o", str(object_file)], check=True)
        subprocess.run(["cc", str(object_file), LIBOMP, "-o", str(path)], check=True)

    return once(out, words, make)


def said(path: Path) -> str:
    """Return the cause that both verify and doctor print; they exit 1 if names show regions."""
    verify, doctor = omptool("verify", "--strict", path), omptool("doctor", path)
    first, *rest = verify.stdout.splitlines()
    assert first == f"{path}: no offload code"
    assert doctor.stdout.startswith(f"{path}: no offload code")
    if not rest:
        assert (verify.exit_code, doctor.exit_code) == (0, 0)
        assert "OMP211" not in doctor.stdout
        return ""
    code, severity, cause = rest[0].removeprefix(f"{path}: ").split(" ", 2)
    is_shown = (code, severity) == ("OMP133", "warning:")
    assert is_shown or (code, severity) == ("OMP132", "info:")
    assert (verify.exit_code, doctor.exit_code) == ((1, 1) if is_shown else (0, 0))
    assert f"OMP211 {severity} {cause}" in doctor.stdout
    return cause


@pytest.mark.parametrize("version", EVERY)
def test_names_are_left(tmp_path: Path, version: str) -> None:
    cause = said(built(version, tmp_path / "plain", "-O0"))
    assert cause == f"{SHOWN} (main:6, main:8), without -fopenmp-targets"


def test_names_of_optimized_programs(tmp_path: Path) -> None:
    """Debug information has those that the optimizer took away."""
    assert SHOWN in said(built(INSTALLED, tmp_path / "debug", "-O2", "-g"))
    assert SHOWN in said(built(INSTALLED, tmp_path / "packed", "-O2", "-g", "-gz=zlib"))
    assert f"{SHOWN} (main:8)" in said(built(INSTALLED, tmp_path / "optimized", "-O2"))


def test_nothing_is_claimed_where_nothing_shows(tmp_path: Path) -> None:
    path = built(INSTALLED, tmp_path / "stripped", "-O0")
    subprocess.run(["strip", path], check=True)
    expected = "the file uses OpenMP (libomp.so.5), and may have target regions: "
    assert said(path) == f"{expected}without -fopenmp-targets they are plain host code"
    assert said(compile_c("int main(void) { return 0; }", tmp_path / "none")) == ""


def test_an_object_and_a_library(tmp_path: Path) -> None:
    words = [*tool(INSTALLED, "clang"), "-fopenmp", "-fPIC", str(SOURCE), "-o"]
    subprocess.run([*words, str(tmp_path / "a.o"), "-c"], check=True)
    assert SHOWN in omptool("verify", tmp_path / "a.o").stdout
    library = tmp_path / "libregions.so"
    subprocess.run([*words, str(library), "-shared", "-Dmain=unused"], check=True)
    user = "int unused(void); int main(void) { return unused(); }"
    program = compile_c(user, tmp_path / "user", str(library), f"-Wl,-rpath,{tmp_path}")
    doctor = omptool("doctor", program)
    verdict = "no offload code; at least 2 regions were compiled for the host alone"
    assert doctor.exit_code == 1
    assert doctor.stdout.startswith(f"{program}: {verdict} (")
    assert f"OMP211 warning: {library}: {SHOWN}" in doctor.stdout


def test_run_says_so_where_a_device_is_mandatory(tmp_path: Path) -> None:
    path = built(INSTALLED, tmp_path / "program", "-O0")
    command = [OMPTOOL, "run", "--mandatory", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (125, "")
    assert done.stderr.startswith(f"Error: {path}: {SHOWN}")
    done = subprocess.run(
        [*command[:2], "--check", str(path)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "1 6\n")
    assert done.stderr.startswith(f"Note: {path}: no offload code: {SHOWN}")


def test_a_gcc_without_an_offload_compiler(tmp_path: Path) -> None:
    """Objects have no tables of entries, but the same calls of libgomp."""
    out = tmp_path / "gcc"
    subprocess.run(["gcc", "-fopenmp", "-c", str(SOURCE), "-o", f"{out}.o"], check=True)
    subprocess.run(["objcopy", "-R", ".gnu.offload*", f"{out}.o"], check=True)
    subprocess.run(["gcc", f"{out}.o", "-lgomp", "-o", out], check=True)
    assert said(out) == "GCC compiled target constructs (GOMP_target_ext), without code for devices"
