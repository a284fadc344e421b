# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool bundle` and `omptool emit`: the make rules of -MD and -MF."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from bundle_inputs import TRIPLE, made
from toolchain import omptool


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("bundle"))


def test_dependency_file_names_every_input(work: Path, tmp_path: Path) -> None:
    rule, out = tmp_path / "out.d", tmp_path / "out.o"
    arguments = ("bundle", work / "host.o", "--image", f"{TRIPLE}={work}/image.so")
    assert omptool(*arguments, "-MD", rule, "-o", out).exit_code == 0
    assert rule.read_text() == f"{out}: {work}/host.o {work}/image.so\n"


@pytest.mark.parametrize("command", ["bundle", "emit"])
@pytest.mark.parametrize(
    ("options", "name"),
    [
        (["-MD"], "out.d"),
        (["-MD", "-MF", "rule"], "rule"),
        (["-MF", "rule"], "rule"),
        (["-MD", "rule"], "rule"),
        (["-MF", "rule", "-MD", "rule"], "rule"),
    ],
)
def test_dependency_files_as_compilers_name_them(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, options: list[str],
    name: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    inputs = [f"{work}/host.o"] if command == "bundle" else []
    words = (command, *inputs, "--image", f"{TRIPLE}={work}/image.so", *options, "-o", "out.o")
    done = omptool(*words)
    assert (done.exit_code, done.output) == (0, "")
    named = " ".join([*inputs, f"{work}/image.so"])
    assert Path(name).read_text() == f"out.o: {named}\n"
    assert {path.name for path in tmp_path.iterdir()} == {"out.o", name}


def test_two_dependency_files_are_refused(work: Path, tmp_path: Path) -> None:
    words = ("emit", "--image", f"{TRIPLE}={work}/image.so", "-MD", "a.d", "-MF", "b.d")
    done = omptool(*words, "-o", tmp_path / "out.o")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "-MD a.d and -MF b.d name two files for one rule" in done.stderr


def test_dependency_file_is_bytes_that_make_reads(work: Path, tmp_path: Path) -> None:
    odd = tmp_path / os.fsdecode(b"a \xff:#$%\\ .o")
    shutil.copy(work / "host.o", odd)
    rule = tmp_path / "out.d"
    image = ("--image", f"{TRIPLE}={work}/image.so")
    out = f"{tmp_path}//o:#.o"  # make uses this spelling
    assert omptool("bundle", odd, *image, "-MD", rule, "-o", out).exit_code == 0
    done = subprocess.run(["make", "-ndf", rule], capture_output=True, check=False)
    seen = os.fsencode(odd)
    made = os.fsencode(out)
    assert b"Prerequisite '%s' is older than target '%s'." % (seen, made) in done.stdout


@pytest.mark.parametrize(
    ("host", "out", "fault"),
    [
        ("a\nb.o", "out.o", "its name has a line break"),
        ("a;b.o", "out.o", "its name has a semicolon"),
        ("a.o", "o|.o", "its name has a vertical bar"),
        ("a.o", "o%.o", "its name has a %"),
    ],
)
def test_what_no_rule_can_name(work: Path, tmp_path: Path, host: str, out: str, fault: str) -> None:
    shutil.copy(work / "host.o", tmp_path / host)
    image = ("--image", f"{TRIPLE}={work}/image.so")
    words = (*image, "-MD", tmp_path / "d", "-o", tmp_path / out)
    done = omptool("bundle", tmp_path / host, *words)
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert fault in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == [host]


def test_failing_rule_leaves_no_output(work: Path, tmp_path: Path) -> None:
    image = f"{TRIPLE}={work}/image.so"
    arguments = ("bundle", work / "host.o", "--image", image, "-o", tmp_path / "out.o")
    done = omptool(*arguments, "-MD", tmp_path / "gone" / "out.d")
    assert done.exit_code == 2
    assert list(tmp_path.iterdir()) == []
