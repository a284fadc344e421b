# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packages of conda's, in both forms."""

from __future__ import annotations

import bz2
import io
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
import zstandard
from documents import document
from places import DATA
from toolchain import omptool


def conda(path: Path, files: Mapping[str, bytes]) -> Path:
    """Write a package of conda's in the form that its file name requires."""
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as file:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            file.addfile(info, io.BytesIO(content))
    if path.suffix == ".bz2":
        path.write_bytes(bz2.compress(tar.getvalue()))
        return path
    with zipfile.ZipFile(path, "w") as package:
        package.writestr("metadata.json", '{"conda_pkg_format_version": 2}')
        package.writestr("pkg-k-1.tar.zst", zstandard.compress(tar.getvalue()))
        package.writestr("info-k-1.tar.zst", zstandard.compress(b""))
    return path


@pytest.mark.parametrize("name", ["k-1.conda", "k-1.tar.bz2"])
def test_packages_of_conda(tmp_path: Path, name: str) -> None:
    fatbin = (DATA / "none.fatbin").read_bytes()
    path = conda(tmp_path / name, {"lib/k.fatbin": fatbin, "info/index.json": b"{}"})
    (file,) = document("dump", omptool("dump", "--json", path).stdout)["files"]
    assert file["path"] == f"{path}(lib/k.fatbin)"
    assert len(file["images"]) == 3
    content = path.read_bytes()
    path.write_bytes(content[:40] if name.endswith("bz2") else content[: len(content) // 2])
    assert omptool("dump", path).exit_code == 2
