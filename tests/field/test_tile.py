# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bytecode that CUDA Tile's own compiler writes: its package ships none."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from documents import dumped_images
from field_files import Package, fetched
from toolchain import omptool
from verifying import findings

pytestmark = [pytest.mark.field, pytest.mark.slow]

TILE = Package(
    "pip",
    "cuda-tile==1.7.0",
    "8a7b5392486c66c7a5668975740d514aee03fb5c38bd6657445091d5076d0291",
    (),
)
# Only Python that can import the wheel's compiled module.
PYTHON = (3, 11)


def test_bytecode_of_cuda_tile(tmp_path: Path) -> None:
    if sys.version_info[:2] != PYTHON:
        pytest.skip(f"the listed wheel is for Python {PYTHON[0]}.{PYTHON[1]}")
    with fetched(TILE) as package, zipfile.ZipFile(package) as wheel:
        wheel.extractall(tmp_path / "package")
    out = tmp_path / "k.tilebc"
    program = Path(__file__).with_name("tile_kernel.py")
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "package")}
    subprocess.run([sys.executable, program, out], env=environment, check=True)
    (image,) = dumped_images(out)
    assert (image["kind"], image["triple"], image["container"]) == ("tileir", None, "bare")
    assert findings(out) == []
    assert omptool("extract", out, "-o", tmp_path / "out").exit_code == 0
    (file,) = (tmp_path / "out").iterdir()
    assert file.read_bytes() == out.read_bytes()
