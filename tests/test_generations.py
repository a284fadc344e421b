# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of generations: alike in Python and C++, and the one place where their names stand."""

from __future__ import annotations

import itertools
import json
import re
from typing import get_args

import pytest
from places import ROOT
from toolchain import omptool

from packager.generations import (
    GENERATIONS,
    NAMES,
    NEWEST,
    Generation,
    GenerationName,
    is_newer,
    listed,
    named,
    of_release,
)
from packager.layouts import WRITTEN

HEADER = ROOT / "runtime" / "common" / "generations.h"
SHARED = Generation._fields[: Generation._fields.index("launch_environment") + 1]
LITERAL = re.compile(r"llvm-[12][0-9]\b")
# Values of one meaning in the two languages.
SPELLED = {
    "Registration::kInitArray": "init_array",
    "Registration::kAtExit": "at_exit",
    "Pairing::kByPosition": "position",
    "Pairing::kByName": "name",
}


def of_header() -> list[dict[str, object]]:
    """Return the rows of the runtime's table."""
    text = HEADER.read_text()
    table = text[text.index("kGenerations[]") :]
    rows = []
    for row in re.findall(r"^ +\{(\.name.*?)\},?$", table, re.MULTILINE | re.DOTALL):
        found = re.findall(r"\.(\w+) = (\"[^\"]*\"|[\w:]+)", row)
        rows.append({field: SPELLED[v] if v in SPELLED else json.loads(v) for field, v in found})
    return rows


def test_the_runtime_has_the_same_table() -> None:
    ours = [{field: getattr(row, field) for field in SHARED} for row in GENERATIONS]
    assert of_header() == ours


def test_the_rows_follow_each_other() -> None:
    assert get_args(GenerationName) == NAMES
    assert GENERATIONS[0].first_release == 0
    for earlier, later in itertools.pairwise(GENERATIONS):
        assert later.first_release == earlier.last_release + 1
    for row in GENERATIONS:
        assert row.first_release <= row.last_release
        assert named(row.name) is row is of_release(row.last_release)
        assert WRITTEN[row.name].generation is row
    assert named("interface") is None
    assert named(None) is None


def test_a_release_that_came_later_is_of_the_newest() -> None:
    assert not is_newer(NEWEST.last_release)
    assert is_newer(NEWEST.last_release + 1)
    assert of_release(NEWEST.last_release + 1) is NEWEST


@pytest.mark.parametrize("tree", ["omptool", "packager"])
def test_no_other_file_has_a_name_of_it(tree: str) -> None:
    files = (path.relative_to(ROOT) for path in (ROOT / tree).rglob("*.py"))
    having = {str(path) for path in files if LITERAL.search((ROOT / path).read_text())}
    assert having - {"packager/generations.py"} == set()


def test_no_file_of_the_runtime_has_a_name_of_it() -> None:
    folder = ROOT / "runtime"
    sources = [path for path in folder.rglob("*") if path.suffix in (".cpp", ".h")]
    sources = [path for path in sources if "tests" not in path.relative_to(folder).parts]
    having = {path for path in sources if re.search(r'"llvm-[12][0-9]"', path.read_text())}
    assert having == {HEADER}


def test_the_schema_knows_all_names() -> None:
    schema = json.loads((ROOT / "omptool" / "schemas" / "dump.json").read_text())
    text = json.dumps(schema)
    abis = re.findall(r'"enum": (\["interface"[^\]]*\])', text)
    assert [name for name in json.loads(abis[0]) if name and LITERAL.match(name)] == list(NAMES)


@pytest.mark.parametrize("command", ["emit", "bundle", "link"])
def test_pages_and_help_name_all(command: str) -> None:
    page = (ROOT / "man" / f"omptool-{command}.1").read_text().replace("\\", "")
    assert " | ".join(NAMES) in page
    said = omptool(command, "--help").output
    assert all(name in said for name in NAMES)


def test_the_page_of_formats_has_a_row_for_each() -> None:
    page = (ROOT / "docs" / "formats.md").read_text()
    rows = re.findall(r"^\| `(llvm-\d\d)` \|", page, re.MULTILINE)
    assert rows == list(NAMES)


def test_names_in_words() -> None:
    assert listed(("a", "b", "c")) == "a, b or c"
    assert [of_release(release).releases for release in (14, 16, 18, 22)] == [
        "14 or older",
        "15 to 17",
        "18",
        "21 and 22",
    ]
