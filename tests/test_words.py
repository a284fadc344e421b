# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Docstrings and comments are sentences: none opens with a clause alone ("What …", "Whether …")."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator

import pytest
from places import ROOT

OPENING = re.compile(r"(What|Whether|Who|How|That|Which|Where|Why)\b")
SUSPECT = re.compile(rf"#[: ]*{OPENING.pattern}")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@pytest.mark.parametrize("tree", ["packager", "omptool"])
def test_docstrings_and_comments_have_a_verb(tree: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for path in sorted((ROOT / tree).rglob("*.py"))
        for line, text in verbless(path.read_text())
    ]
    assert wrong == [], 'a docstring starts with its verb ("Return …"), a comment has one'


@pytest.mark.parametrize(
    ("text", "is_refused"),
    [
        ("What the file holds.", True),
        ("Whether the section is loaded.", True),
        ("Which libraries a program needs, and from where.", True),
        ("How many symbols there are: the hash table says.", True),
        ("That of tables.", True),
        ("Where the file ends.", True),
        ("Where a section is: its offset, or none.", True),
        ("Return whether the section is loaded.", False),
        ("The entries of a table.", False),
        ("Whatever the linker does, the notes stay.", False),
    ],
)
def test_a_clause_alone_is_no_sentence(text: str, is_refused: bool) -> None:
    assert bool(list(verbless(f'def f():\n    """{text}"""\n'))) == is_refused
    assert bool(list(verbless(f"# {text}\nX = 1\n"))) == is_refused


def test_a_comment_may_begin_with_a_place() -> None:
    """It goes on with a sentence behind the comma; a docstring says what the thing is first."""
    text = "Where a linker has removed the table, the entries are found by their shape."
    assert not list(verbless(f"# {text}\nX = 1\n"))
    assert list(verbless(f'"""{text}"""\n'))


def test_each_place_is_named() -> None:
    source = '''"""What a module is for.

Who reads on may read this.
"""
#: How an attribute is documented,
# Which goes on here.
X = "# What a string holds"  # Why a value is what it is

# A comment that goes on with
# What comes next.
class C:
    """Return the thing."""

    async def f(self) -> None:
        """
        That of the class.
        """
'''
    assert [line for line, _ in verbless(source)] == [1, 15, 5, 7]


def verbless(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of docstrings and comments that open with a clause alone."""
    for node in ast.walk(ast.parse(source)):
        text = ast.get_docstring(node) if isinstance(node, DOCUMENTED) else None
        if isinstance(node, DOCUMENTED) and text and OPENING.match(text):
            yield node.body[0].lineno, text.partition("\n")[0]
    if not SUSPECT.search(source):
        return  # splitting into tokens takes twice as long as parsing
    open_line = -1  # of a comment whose sentence the next line goes on with
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            line, text = token.start[0], token.string.lstrip("#: ")
            is_alone = token.line.lstrip().startswith("#")
            if _is_clause(text) and not (is_alone and line == open_line + 1):
                yield line, text
            if is_alone and not text.rstrip().endswith((".", ":")):
                open_line = line


def _is_clause(text: str) -> bool:
    """Return whether a comment opens with a clause; "Where …, …" goes on with a sentence."""
    opening = OPENING.match(text)
    sentence = re.split(r"(?<=[.:;])\s", text, maxsplit=1)[0]
    return opening is not None and not (opening[1] == "Where" and "," in sentence)
