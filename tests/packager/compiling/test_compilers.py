# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The default clang of `omptool cc`, and the spelling of targets."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from clangs import tool
from fixture_programs import OMPTOOL
from toolchain import omptool

NVIDIA = "nvptx64:ARCH, such as nvptx64:sm_80"
AMD = "amdgcn:ARCH, such as amdgcn:gfx90a"
CLANG = re.compile(r"clang(\+\+)?(-\d+)?")
REGION = "#include <omp.h>\nint main(void) {\n#pragma omp target\n  ;\n  return 0;\n}\n"


def hide_clangs(folder: Path) -> None:
    """Link this machine's programs into a folder, but of its clangs 19 alone."""
    folder.mkdir()
    for path in Path("/usr/bin").iterdir():
        if not CLANG.fullmatch(path.name) or path.name in ("clang-19", "clang++-19"):
            (folder / path.name).symlink_to(path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Provide a folder with sources, and `bin` for programs named like compilers."""
    (tmp_path / "bin").mkdir()
    hide_clangs(tmp_path / "machine")
    (tmp_path / "a.c").write_text(REGION)
    (tmp_path / "a.cpp").write_text(REGION)
    (tmp_path / "wrong.c").write_text("int main( {\n")
    return tmp_path


def program(folder: Path, name: str, *command: str) -> None:
    """Write a program of this name into `bin` that runs another command."""
    path = folder / "bin" / name
    words = shlex.join(command).replace("env ", "/usr/bin/env ", 1)
    path.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    path.chmod(0o755)


def without_openmp(folder: Path, version: str) -> None:
    """Make a clang that lacks the packages of libomp."""
    clang = tool(version)
    (whole,) = {p.resolve() for p in Path(clang[-1]).parents[1].glob("lib/clang/*/include")}
    headers = folder / version / "include"
    headers.mkdir(parents=True)
    for path in whole.iterdir():
        if path.name != "omp.h":
            (headers / path.name).symlink_to(path)
    program(folder, f"clang-{version}", *clang, "-resource-dir", str(headers.parent))


def cc(folder: Path, *words: str, more: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run `omptool cc` with `bin` first on PATH, then this machine's programs or `more`."""
    more = str(folder / "machine") if more is None else more
    environment = {name: value for name, value in os.environ.items() if name not in ("CC", "CXX")}
    environment["PATH"] = f"{folder / 'bin'}:{more}"
    return subprocess.run(
        [OMPTOOL, "cc", *words],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.slow
def test_a_newer_clang_without_omp_h_is_passed_over(folder: Path) -> None:
    without_openmp(folder, "23")
    lack = "clang-23 cannot compile OpenMP ('omp.h' file not found)"
    ran = cc(folder, "-v", "-c", "a.c")
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr.startswith(f"omptool: the compiler is clang-19; {lack}\n")
    ran = cc(folder, "-c", "wrong.c")
    assert ran.returncode == 1
    assert ran.stderr.endswith(f"omptool: the compiler is clang-19; {lack}\n")


@pytest.mark.slow
def test_the_newest_of_those_that_can(folder: Path) -> None:
    program(folder, "clang", *tool("16"))
    assert cc(folder, "--dry-run", "-c", "a.c").stderr.startswith("clang-19 -")
    program(folder, "clang", *tool("22"))
    said = cc(folder, "-v", "-c", "a.c").stderr
    assert said.startswith("omptool: the compiler is clang (clang 22)\nclang ")


@pytest.mark.slow
def test_the_newest_where_none_can(folder: Path) -> None:
    without_openmp(folder, "23")
    without_openmp(folder, "22")
    ran = cc(folder, "-c", "a.c", more="")
    assert ran.returncode == 1
    *_, last = ran.stderr.splitlines()
    lack = "cannot compile OpenMP ('omp.h' file not found)"
    assert last == f"omptool: the compiler is clang-23; clang-23 {lack}, clang-22 {lack}"


def test_one_clang_under_two_names(folder: Path) -> None:
    found = shutil.which("clang-19")
    assert found
    for name in ("clang", "clang-19"):
        (folder / "bin" / name).symlink_to(found)
    said = cc(folder, "-v", "--dry-run", "-c", "a.c", more="").stderr
    assert said.startswith("omptool: the compiler is clang (clang 19)\nclang ")


@pytest.mark.parametrize("words", ["--cc clang++", "-- clang++", "--cc='env A=B clang++'"])
def test_a_name_without_the_release(words: str, folder: Path) -> None:
    found = shutil.which("clang++-19")
    assert found
    (folder / "bin" / "clang++-19").symlink_to(found)
    (folder / "bin" / "env").symlink_to("/usr/bin/env")
    ran = cc(folder, "--dry-run", *shlex.split(words), "-c", "a.cpp", more="")
    assert ran.returncode == 0, ran.stderr
    assert "clang++-19 -idirafter" in ran.stderr


def test_a_clang_of_a_variable_is_named(folder: Path) -> None:
    environment = os.environ | {"CC": "clang-19"}
    ran = subprocess.run(
        [OMPTOOL, "cc", "-c", "wrong.c"],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.stderr.endswith("omptool: the compiler is clang-19, of CC\n")


@pytest.mark.parametrize(
    ("triple", "message"),
    [
        ("nvptx64", f"nvptx64-nvidia-cuda names no processor; use {NVIDIA}"),
        ("amdgcn", f"amdgcn-amd-amdhsa names no processor; use {AMD}"),
        ("cuda", f"no triple is called 'cuda'; use {NVIDIA}"),
        ("x86-64", "no triple is called 'x86-64'; use x86_64"),
        (
            "nvptx64-nvidia-cuda-sm_80",
            "no triple is called 'nvptx64-nvidia-cuda-sm_80'; use nvptx64-nvidia-cuda:sm_80",
        ),
        ("nvtpx64:sm_80", "no triple is called 'nvtpx64'; use nvptx64"),
        (
            "nvptx64:gfx90a",
            (
                "no processor of nvptx64-nvidia-cuda is called 'gfx90a'; use amdgcn:gfx90a or "
                f"{NVIDIA}"
            ),
        ),
        (
            "amdgcn:sm_80",
            f"no processor of amdgcn-amd-amdhsa is called 'sm_80'; use nvptx64:sm_80 or {AMD}",
        ),
        (
            "x86_64:sm_80",
            "no processor of x86_64-pc-linux-gnu is called 'sm_80'; use nvptx64:sm_80",
        ),
    ],
)
def test_the_right_spelling(
    triple: str, message: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    for option in ([], ["-c"]):
        ran = omptool("cc", "--cc", "clang-19", "--triple", triple, *option, "a.c")
        assert (ran.exit_code, ran.output) == (2, f"Error: {message}\n")
    assert not list(folder.glob("*.o"))


@pytest.mark.parametrize(
    "triple",
    ["x86_64", "x86_64:haswell", "nvptx64:sm_90a", "amdgcn:gfx90a:xnack+", "amdgcn:gfx9-generic",
     "aarch64-unknown-linux-gnu"],
)  # fmt: skip
def test_spellings_that_are_right(triple: str, folder: Path) -> None:
    words = ("--cc", "clang-19", "--triple", triple, "--dry-run", "-c", str(folder / "a.c"))
    assert omptool("cc", *words).exit_code == 0


def test_a_triple_in_a_response_file(folder: Path) -> None:
    (folder / "words").write_text("--triple nvptx64:sm_80 --cc=clang-19\n-c\n'a.c'\n")
    ran = cc(folder, "--dry-run", "@words")
    assert ran.returncode == 0, ran.stderr
    assert "-fopenmp-targets=nvptx64-nvidia-cuda -Xopenmp-target=" in ran.stderr
    ran = cc(folder, "--dry-run", "--", "@words")
    assert "--triple" in ran.stderr  # behind it all words are the compiler's
