# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The figures of style that `make check` prints."""

from __future__ import annotations

from pathlib import Path

import pytest
import style_figures
from style_figures import LEANING, Comment, native_comments, opens_well, python_comments

NATIVE = """\
// SPDX-License-Identifier: none
// Returns the size.
// It may be 0.
int size();

int count;  // of rows
// NOLINTNEXTLINE(some-check)
struct Row {
  // The same of a row.
  int size() const;
};
"""
PYTHON = '''\
# SPDX-License-Identifier: none
"""A module."""

# Largest size
# of a row.
MOST = 1  # byte
TEXT = "# no comment"
'''


def test_comments_are_joined_and_followed_by_their_code(tmp_path: Path) -> None:
    (tmp_path / "a.h").write_text(NATIVE)
    (tmp_path / "a.py").write_text(PYTHON)
    native = [(one.line, one.text, one.code) for one in native_comments(tmp_path)]
    assert native == [
        (2, "Returns the size.\nIt may be 0.", "int size();"),
        (9, "The same of a row.", "int size() const;"),
    ]
    python = [(one.line, one.text, one.code) for one in python_comments(tmp_path)]
    assert python == [(4, "Largest size\nof a row.", "MOST = 1  # byte")]


@pytest.mark.parametrize(
    ("text", "code", "is_good"),
    [
        ("Returns the size.", "int size();", True),
        ("Append a row.", "void grow(Row row);", True),
        ("Called when the last row is gone.", "void end();", True),
        ("Rows of the table.", "std::vector<Row> rows_;", True),
        ("Owner of the lock.", "Thread* owner_;", True),
        ("In a line of its own.", "int place_;", False),
        ("The same of a row.", "int size();", False),
        ("Null when there is none.", "Row* find();", False),
    ],
)
def test_a_comment_opens_with_a_verb_or_the_name(text: str, code: str, is_good: bool) -> None:
    assert opens_well(Comment(Path("a.h"), 1, text, code)) == is_good


@pytest.mark.parametrize("text", ["It is so.", "Those of a row.", "The same.", "Of a row.", "What"])
def test_a_leaning_comment(text: str) -> None:
    assert LEANING.match(text)


@pytest.mark.slow
def test_figures_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert style_figures.main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == [
        *(f"docstrings of {tree}" for tree in style_figures.PYTHON),
        "comments of runtime",
        "comments of runtime",
        "comments of Python",
        "most files in a folder",
        "most lines of a command",
    ]
