"""The same inputs give the same bytes: elsewhere, later, at once, with any SOURCE_DATE_EPOCH.

tests/lowering has what else `lower` writes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from build_trees import environment
from fixture_programs import NVPTX, OMPTOOL, X86_64, compile_host
from places import FIXTURES
from products import Products

pytestmark = pytest.mark.slow

IMAGES = ("--image", f"{X86_64}=cpu.image", "--image", f"{NVPTX}:sm_75=gpu.image")
COMMANDS = {
    "cpu.image": ("lower", "scale.ll", "--triple", X86_64),
    "gpu.image": ("lower", "scale.ll", "--triple", NVPTX, "--cpu", "sm_75"),
    "images.o": ("emit", *IMAGES),
    "llvm.o": ("emit", "--abi", "llvm-19", "--entries", "auto", *IMAGES),
    "bundled.o": ("bundle", "host.o", "-MD", "bundled.d", *IMAGES),
}


def start(folder: Path, out: str, **variables: str) -> subprocess.Popen[str]:
    """The command that makes this file."""
    words = [OMPTOOL, *COMMANDS[out], "-o", out]
    return subprocess.Popen(
        words, cwd=folder, env=environment() | variables, stderr=subprocess.PIPE, text=True
    )


def finished(process: subprocess.Popen[str]) -> None:
    _, said = process.communicate()
    assert process.returncode == 0, said


def first(products: Products) -> Path:
    """A folder with all of them."""

    def make(folder: Path) -> None:
        shutil.copy(FIXTURES / "builds" / "scale.ll", folder)
        compile_host(FIXTURES / "builds" / "scale.c", folder / "host.o")
        for out in COMMANDS:
            finished(start(folder, out))

    return products.folder("same-bytes", make)


def test_elsewhere_and_at_another_time(products: Products, tmp_path: Path) -> None:
    there = first(products)
    here = tmp_path / "a folder with another and a longer name"
    here.mkdir()
    for name in ("scale.ll", "host.o"):
        shutil.copy(there / name, here)
        os.utime(here / name, (978307200, 978307200))  # of 2001
    for out in COMMANDS:
        finished(start(here, out, SOURCE_DATE_EPOCH="1234567890", TZ="Asia/Tokyo", LC_ALL="C"))
        assert (here / out).read_bytes() == (there / out).read_bytes(), out
        assert str(here).encode() not in (here / out).read_bytes()


def test_many_at_once_into_one_file(products: Products, tmp_path: Path) -> None:
    """Two builds in one folder: the file is always a whole one."""
    there = first(products)
    for name in ("host.o", "cpu.image", "gpu.image"):
        shutil.copy(there / name, tmp_path)
    for process in [start(tmp_path, "bundled.o") for _ in range(4)]:
        finished(process)
    assert (tmp_path / "bundled.o").read_bytes() == (there / "bundled.o").read_bytes()
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"host.o", "cpu.image", "gpu.image", "bundled.o", "bundled.d"}
