# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool dump` of many files prints the same as of one after the other."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from toolchain import clang_offload

SOURCE = "void f(int *x) {\n#pragma omp target\n  x[0] += 1;\n}\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make some hundred objects, and a few files that cannot be read."""
    folder = tmp_path_factory.mktemp("many")
    clang_offload(SOURCE, folder / "0.o", "-c")
    for number in range(1, 420):
        os.link(folder / "0.o", folder / f"{number}.o")
    for name in ("bad0.o", "bad1.o", "bad2.o"):
        (folder / name).write_bytes((folder / "0.o").read_bytes()[:100])
    return folder


def dump(folder: Path, *words: str, one_by_one: bool) -> tuple[int, str, str]:
    """Return the exit code and output of a dump, with child processes or without."""
    stand_in = "import packager.processes.forked as f; f._can_fork = lambda: False; "
    code = "import omptool.__main__ as m; m.main()"
    command = [sys.executable, "-c", f"{stand_in if one_by_one else ''}{code}", "dump", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("bad", "options"),
    [
        ({}, ("--images",)),
        ({0: "bad0.o", 210: "bad1.o", 211: "none.o", 415: "bad2.o"}, ("--color", "always")),
    ],
)
def test_output_is_in_order(folder: Path, bad: dict[int, str], options: tuple[str, ...]) -> None:
    names = [bad.get(number, f"{number}.o") for number in range(420)]
    found = dump(folder, *options, *names, one_by_one=False)
    assert found == dump(folder, *options, *names, one_by_one=True)
    assert found[0] == (2 if bad else 0)
    assert found[2].count("Error: ") == len(bad) or "\x1b[31m" in found[2]
    heads = [line for line in found[1].splitlines() if "object, ABI" in line]
    assert [line.partition(":")[0] for line in heads] == [n for n in names if n[0].isdigit()]


def test_only_files_that_cannot_be_read(folder: Path) -> None:
    """The first part prints nothing on stdout, so no empty line comes first."""
    names = [*["bad0.o"] * 250, *(f"{number}.o" for number in range(200))]
    found = dump(folder, *names, one_by_one=False)
    assert found == dump(folder, *names, one_by_one=True)
    assert found[1].startswith("0.o: ")
