# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The same inputs yield the same bytes: elsewhere, later, at once, with any SOURCE_DATE_EPOCH.

tests/packager/lowering covers other outputs of `lower`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from fixture_programs import NVPTX, OMPTOOL, X86_64, compile_host
from places import FIXTURES
from products import Products
from toolchain import omptool

pytestmark = pytest.mark.slow

IMAGES = ("--image", f"{X86_64}=cpu.image", "--image", f"{NVPTX}:sm_75=gpu.image")
COMMANDS = {
    "cpu.image": ("lower", "scale.ll", "--triple", X86_64),
    "gpu.image": ("lower", "scale.ll", "--triple", NVPTX, "--cpu", "sm_75"),
    "images.o": ("emit", *IMAGES),
    "llvm.o": ("emit", "--abi", "llvm-19", "--entries", "auto", *IMAGES),
    "bundled.o": ("bundle", "host.o", "-MD", "bundled.d", *IMAGES),
}


def make_all(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    for out, words in COMMANDS.items():
        assert omptool(*words, "-o", out).exit_code == 0


@pytest.fixture
def first(products: Products, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Provide a folder with all inputs and outputs."""

    def make(folder: Path) -> None:
        shutil.copy(FIXTURES / "builds" / "scale.ll", folder)
        compile_host(FIXTURES / "builds" / "scale.c", folder / "host.o")
        make_all(folder, monkeypatch)

    return products.folder("same-bytes", make)


def test_elsewhere_and_at_another_time(
    first: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "a folder with another and a longer name"
    here.mkdir()
    for name in ("scale.ll", "host.o"):
        shutil.copy(first / name, here)
        os.utime(here / name, (978307200, 978307200))  # 2001-01-01
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1234567890")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    make_all(here, monkeypatch)
    for out in COMMANDS:
        assert (here / out).read_bytes() == (first / out).read_bytes(), out
        assert str(tmp_path).encode() not in (here / out).read_bytes()


def test_many_at_once_into_one_file(first: Path, tmp_path: Path) -> None:
    """Several builds in one folder: the file is always a whole one."""
    for name in ("host.o", "cpu.image", "gpu.image"):
        shutil.copy(first / name, tmp_path)
    words = [OMPTOOL, *COMMANDS["bundled.o"], "-o", "bundled.o"]
    processes = [subprocess.Popen(words, cwd=tmp_path) for _ in range(4)]
    assert [process.wait() for process in processes] == [0] * 4
    assert (tmp_path / "bundled.o").read_bytes() == (first / "bundled.o").read_bytes()
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"host.o", "cpu.image", "gpu.image", "bundled.o", "bundled.d"}
