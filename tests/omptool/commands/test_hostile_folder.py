# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""No command imports, loads or runs a file of its working directory."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import NamedTuple

import pytest
from fixture_programs import NVPTX, OMPTOOL, X86_64, build, build_once, compile_host, lower
from linking import link
from places import FIXTURES, ROOT, TESTS
from products import Products

from omptool.cli import COMMANDS

pytestmark = [pytest.mark.offloads, pytest.mark.slow]

SOURCES = TESTS / "omptool" / "commands" / "sources"
MARK = "PWNED"
MODULE = f'open({MARK!r}, "a").write(__name__)\nraise ImportError("hostile " + __name__)\n'
SCRIPT = f"#!/bin/sh\necho $0 >>{MARK}\nexit 1\n"
STARTING = {"sitecustomize", "usercustomize"}  # Python imports them where they are found
OWN = {"omptool", "packager", "llvmlite"}
# Tools that commands look up on PATH, which has an empty element here: the current folder.
TOOLS: tuple[str, ...] = (
    "cc",
    "clang",
    "clang-19",
    "gdb",
    "ld",
    "ld.lld",
    "ldconfig",
    "llvm-objdump",
)
TOOLS += ("llvm-objdump-99", "nvdisasm", "nvlink", "objdump", "ptxas")
LIBRARIES = ("libomptarget.so", "libomptarget.rtl.host.so", "libcuda.so.1", "libstdc++.so.6")


class Inputs(NamedTuple):
    """Files in a folder that is not hostile."""

    program: Path
    host: Path
    image: Path
    ir: Path
    trace: Path


class Ended(NamedTuple):
    """A command's exit code, output and new files."""

    code: int
    stdout: str
    stderr: str
    files: dict[str, bytes]


@pytest.fixture(scope="module")
def inputs(products: Products, tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    folder = tmp_path_factory.mktemp("inputs")
    ir = FIXTURES / "saxpy" / "kernels.ll"
    program = build_once("saxpy", products)
    trace = folder / "trace.json"
    subprocess.run([OMPTOOL, "run", "--trace", trace, program], check=True, capture_output=True)
    host = compile_host(FIXTURES / "saxpy" / "host.c", folder / "host.o")
    return Inputs(program, host, lower(ir, folder / "image.so"), ir, trace)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide a folder with tools, and a module for each name that Python could import."""
    folder = tmp_path_factory.mktemp("hostile")
    for name in {*sys.stdlib_module_names, *packages_distributions(), *STARTING, *OWN}:
        if name.isidentifier():
            (folder / name).mkdir()
            (folder / name / "__init__.py").write_text(MODULE)
    for name in (*TOOLS, *LIBRARIES):
        (folder / name).write_text(SCRIPT)
        (folder / name).chmod(0o755)
    return folder


def words(command: str, of: Inputs) -> list[object]:
    """Return arguments with which a command does its work."""
    image = ("--image", f"{X86_64}={of.image}")
    arguments: dict[str, list[object]] = {
        "lower": [of.ir, "--triple", NVPTX, "-o", "out"],
        "emit": [*image, "--entries", "auto", "-o", "out"],
        "bundle": [of.host, *image, "-o", "out"],
        "link": ["--", "gcc", of.host, "-lm", "-o", "out"],
        "cc": ["-c", FIXTURES / "saxpy" / "host.c", of.ir, "-o", "out"],
        "dump": [of.program, "--disassemble", "saxpy"],
        "verify": [of.program],
        "extract": [of.program, "-o", "out"],
        "edit": [of.program, "--remove", X86_64, "-o", "out"],
        "slim": [of.program, "--keep", "sm_90", "-o", "out"],
        "doctor": ["--run", "--", of.program],
        "devices": [],
        "run": ["--check", of.program],
        "worker": [],
        "timeline": [of.trace, "-o", "out"],
        "stats": [of.trace],
        "config": ["--libdir"],
    }
    return arguments[command]


def run(folder: Path, *arguments: object) -> Ended:
    before = set(folder.iterdir())
    done = subprocess.run(
        [OMPTOOL, *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PATH": f":{os.environ['PATH']}"},
    )
    made = dict(_made(folder, before))
    return Ended(done.returncode, without_figures(done.stdout), without_figures(done.stderr), made)


def _made(folder: Path, before: set[Path]) -> Iterator[tuple[str, bytes]]:
    for top in set(folder.iterdir()) - before:
        for path in [top] if top.is_file() else top.iterdir():
            yield str(path.relative_to(folder)), path.read_bytes()
            path.unlink()
        if top.is_dir():
            top.rmdir()


def without_figures(text: str) -> str:
    return re.sub(r"\d+(\.\d+)? (ns|us|ms|s)\b|0x[0-9a-f]+| +|-+", "", text)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_does_the_same_as_in_an_empty_folder(
    tmp_path: Path, hostile: Path, inputs: Inputs, command: str
) -> None:
    there = run(hostile, command, *words(command, inputs))
    assert MARK not in there.files
    assert there == run(tmp_path, command, *words(command, inputs))


def test_doctor_loads_no_runtime_beside_the_program(tmp_path: Path) -> None:
    """The program's RUNPATH leads to the runtime, which `omptool run` replaces."""
    program = build("saxpy", tmp_path, "-Wl,-rpath,$ORIGIN")
    script = f"-Wl,--version-script={SOURCES / 'hostile_runtime.map'}"
    shared = ("-shared", "-fPIC", script)
    link(tmp_path / "libomptarget.so", SOURCES / "hostile_runtime.c", flags=shared)
    there = run(tmp_path, "doctor", program)
    assert MARK not in there.files
    assert "doctordoesnotload" in there.stdout, there


def test_every_python_is_started_by_one_function() -> None:
    """Only that function removes the current folder from the search path."""
    users = [
        path.relative_to(ROOT)
        for room in ("omptool", "packager")
        for path in (ROOT / room).rglob("*.py")
        if "sys.executable" in path.read_text()
    ]
    assert users == [Path("packager", "processes", "isolated.py")]
