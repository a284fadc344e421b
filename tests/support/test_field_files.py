# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packages that two tests read at once."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import field_files
import pytest
from field_files import Package, Shipped, unpacked


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Package:
    """Return a package of two files, which is made in place of a download."""
    wheel = tmp_path / "two.whl"
    with zipfile.ZipFile(wheel, "w") as made:
        made.writestr("first", "1")
        made.writestr("second", "2")
    sha256 = hashlib.sha256(wheel.read_bytes()).hexdigest()

    def downloaded(package: Package) -> Path:
        out = field_files.FETCHED / package.name / wheel.name
        out.parent.mkdir()
        out.write_bytes(wheel.read_bytes())
        return out

    monkeypatch.setattr(field_files, "FETCHED", tmp_path / "field")
    monkeypatch.setattr(field_files, "_download", downloaded)
    files = (Shipped("us", "pip", "two==1", name, sha256, "") for name in ("first", "second"))
    return Package("pip", "two==1", sha256, tuple(files))


def test_a_package_outlives_its_deletion_by_another_test(package: Package) -> None:
    ours = unpacked(package)
    assert next(ours)[1].read_text() == "1"
    assert [path.read_text() for _, path in unpacked(package)] == ["1", "2"]
    assert not (field_files.FETCHED / package.name).exists()
    assert next(ours)[1].read_text() == "2"
    assert next(ours, None) is None


def test_two_readers_share_a_package(package: Package) -> None:
    for (_, first), (_, second) in zip(unpacked(package), unpacked(package), strict=True):
        assert first != second
        assert first.read_text() == second.read_text()
