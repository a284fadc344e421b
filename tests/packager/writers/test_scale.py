# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Large images: they pass through without being held, link with every linker, and run."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from linking import LINKERS, link
from measure import figures
from places import TESTS
from products import Products
from running import MANDATORY, run

from omptool.installation import includedir, libdir

pytestmark = pytest.mark.slow

OMPTOOL = str(Path(sys.executable).parent / "omptool")
TRIPLE = "x86_64-pc-linux-gnu"
KERNEL = "define void @set(ptr %p) {\n  store i32 42, ptr %p\n  ret void\n}\n"
HOST = (TESTS / "packager" / "writers" / "scale_host.c").read_text()
MIB = 1 << 20
SIZES = [
    pytest.param(64 * MIB, id="64MiB"),
    pytest.param(1024 * MIB, id="1GiB", marks=pytest.mark.exhaustive),
]


def measured(*command: object) -> float:
    """Run a command; its peak memory in MiB."""
    return figures([str(word) for word in command]).peak


@pytest.fixture(scope="module", params=SIZES)
def bundled(request: pytest.FixtureRequest, products: Products) -> Path:
    """Provide a bundled host object, made within 64 MiB of memory."""
    size = int(request.param)
    return products.made(f"scale-{size}", lambda folder: bundle(folder, size))


def bundle(folder: Path, size: int) -> Path:
    (folder / "set.ll").write_text(KERNEL)
    (folder / "host.c").write_text(HOST)
    image, out = folder / "set.so", folder / "bundled.o"
    measured(OMPTOOL, "lower", folder / "set.ll", "--triple", TRIPLE, "-o", image)
    os.truncate(image, size)  # ELF doesn't mind what follows it
    measured("gcc", f"-I{includedir()}", "-c", folder / "host.c", "-o", folder / "host.o")
    peak = measured(OMPTOOL, "bundle", folder / "host.o", "--image", f"{TRIPLE}={image}", "-o", out)
    assert peak < 64
    return out


@pytest.mark.offloads
@pytest.mark.parametrize("linker", LINKERS)
def test_large_image_links_and_runs(bundled: Path, tmp_path: Path, linker: str) -> None:
    flags = (f"-L{libdir()}", "-lomptarget", "-pie")
    app = link(tmp_path / "app", bundled, linker=linker, flags=flags)
    try:
        done = run(app, **MANDATORY)
        assert (done.returncode, done.stdout) == (0, "42 1\n"), done.stderr
        assert measured(OMPTOOL, "doctor", app) < 80
    finally:
        app.unlink()


def test_large_image_is_read_in_little_memory(bundled: Path, tmp_path: Path) -> None:
    try:
        assert measured(OMPTOOL, "dump", bundled) < 80
        assert measured(OMPTOOL, "verify", bundled) < 80
        assert measured(OMPTOOL, "extract", bundled, "-o", tmp_path / "images") < 80
    finally:
        shutil.rmtree(tmp_path / "images", ignore_errors=True)
