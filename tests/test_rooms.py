# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The rooms of the trees: docs/architecture.md and docs/rooms.svg list them, tests have them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import include_directions
import pytest
import python_rooms

ROOT = Path(__file__).parents[1]


def test_the_quick_tests_are_those_of_every_room() -> None:
    for tree, others in (("packager", {"fuzz"}), ("omptool", set())):
        rooms, tested = (
            {path.name for path in folder.iterdir() if path.is_dir() and path.name[0] not in "_."}
            for folder in (ROOT / tree, ROOT / "tests" / tree)
        )
        assert tested <= rooms | others


@pytest.mark.parametrize("tree", ["packager", "runtime/libomptarget"])
def test_the_page_of_rooms_has_each_once(tree: str) -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    _, _, section = page.partition(f"\n## {tree}\n")
    cells = re.findall(r"^\| (`.*?) \|", section.partition("\n## ")[0], re.MULTILINE)
    found = [room for cell in cells for room in re.findall(r"`([\w/]+)/`", cell)]
    levels = python_rooms.levels(tree) if tree == "packager" else include_directions.LEVELS
    prefix = tree.partition("/")[2] + "/" if "/" in tree else ""
    rooms = [room for level in levels for room in level if room.startswith(prefix)]
    assert sorted(found) == sorted(room.removeprefix(prefix) for room in rooms)


def test_the_drawing_is_of_this_code() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "draw_rooms.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.returncode == 0


def test_each_python_file_names_its_licence() -> None:
    line = "# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception\n"
    trees = ("omptool", "packager", "tests", "bench", "scripts")
    files = [path for tree in trees for path in (ROOT / tree).rglob("*.py")]
    assert [path for path in files if line not in path.read_text()[:200]] == []
