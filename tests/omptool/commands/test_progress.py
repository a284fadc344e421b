# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Progress of reading a large file: a terminal shows a bar that disappears, and a log has none."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from places import DATA
from toolchain import omptool

from omptool import progress
from omptool.reading import Files
from packager.look import Look


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def many(tmp_path: Path) -> Path:
    path = tmp_path / "many.fatbin"
    path.write_bytes((DATA / "none.fatbin").read_bytes() * 50)
    return path


@pytest.mark.parametrize("sourced", [False, True])
def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch, many: Path, sourced: bool) -> None:
    from packager.dwarf.sources import EVERY

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress, "MOMENT", 0)
    (binary,) = Files([many], Look(), sourced=EVERY if sourced else None)
    assert len(binary.images) == 150
    said = terminal.getvalue()
    assert "many.fatbin" in said
    assert " 50%" in said
    assert said.count(progress.ERASE) == (2 if sourced else 1)
    assert said.endswith(progress.ERASE)
    assert "\n" not in said


def test_nothing_for_what_is_read_at_once(monkeypatch: pytest.MonkeyPatch, many: Path) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert list(Files([many]))
    assert terminal.getvalue() == ""


def test_nothing_in_a_log(monkeypatch: pytest.MonkeyPatch, many: Path) -> None:
    monkeypatch.setattr(progress, "MOMENT", 0)
    assert omptool("dump", "--images", many).stderr == ""
