# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs are found as shutil.which finds them, in absolute folders of PATH alone."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from packager.processes.programs import anywhere, which


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folders on PATH: the first ones have a folder and a text of the program's name."""
    for name in ("folder", "text", "program"):
        (tmp_path / name).mkdir()
    (tmp_path / "folder" / "tool").mkdir()
    (tmp_path / "text" / "tool").touch()
    for path in (tmp_path / "program" / "tool", tmp_path / "near"):
        path.touch(mode=0o755)
    places = (*(tmp_path / name for name in ("folder", "text", "absent", "program")), "", ".")
    monkeypatch.setenv("PATH", ":".join(map(str, places)))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_programs(folders: Path) -> None:
    assert which("tool") == anywhere("tool") == str(folders / "program" / "tool")
    assert which("near") is None
    for word in ("tool", "near", "./near", "program/tool", "text/tool", "folder", "./folder", "no"):
        found, expected = anywhere(word), shutil.which(word)
        assert (found and Path(found)) == (expected and Path(expected)), word
    assert which(str(folders / "program" / "tool")) is None
