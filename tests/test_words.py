# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sentences have a verb: none opens with a clause alone ("What …", "Whether …").

This holds for docstrings, comments, messages, help texts, pages and manual pages, and for the
comments of the runtime. A sentence of a page has at most `MOST_WORDS` words, and those of
`PLAIN_PAGES` are shorter still.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from statistics import median

import pytest
from places import ROOT

WORDS = "What|Whether|Who|How|That|Which|Where|Why"
OPENING = re.compile(rf"({WORDS})\b")
SUSPECT = re.compile(rf"#[: ]*{OPENING.pattern}")
# The parts of a message go on in small letters: "which" and "that" may begin the second one.
MESSAGE = re.compile(rf"({WORDS}|what|whether|who|how|where|why)\s")
# Few files have such a word where a sentence may begin: parsing all of them takes a second.
BEGUN = re.compile(rf"[\"'.!?)]\s*(?i:{WORDS})\b")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
TREES = ("packager", "omptool")
WRITTEN = (*TREES, "tests", "bench", "scripts")
PAGES = [
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted(ROOT.glob("*.md")),
    ROOT / "bench" / "README.md",
]
MOST_WORDS = 40
PLAIN_PAGES = {"runtime.md", "plugins.md", "kernels.md"}
MOST_WORDS_IF_PLAIN, MEDIAN_IF_PLAIN = 35, 15
NATIVE = {".cpp", ".h", ".c", ".cmake", ".map", ".txt"}
# A comment of C++, or a literal, which may hold the signs of one.
LITERAL = r'"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])\'(?:\\.|[^\'\\\n])*\''
NATIVE_COMMENT = re.compile(rf"(?P<line>//[^\n]*)|(?P<block>/\*.*?\*/)|{LITERAL}", re.DOTALL)
SCRIPT_COMMENT = re.compile(rf"(?P<line>#[^\n]*)|{LITERAL}")
HINT = "a sentence has a verb; say who does what"


@pytest.mark.parametrize("tree", WRITTEN)
def test_docstrings_and_comments_have_a_verb(tree: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for path in sources(tree)
        for line, text in verbless(path.read_text())
    ]
    assert wrong == [], 'a docstring starts with its verb ("Return …"), a comment has one'


def test_comments_of_the_runtime_have_a_verb() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for path in sorted((ROOT / "runtime").rglob("*"))
        if path.suffix in NATIVE
        for line, text in verbless_comments(path)
    ]
    assert wrong == [], HINT


@pytest.mark.parametrize("tree", TREES)
def test_messages_and_help_texts_have_a_verb(tree: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for path in sources(tree)
        for line, text in verbless_texts(path.read_text())
    ]
    assert wrong == [], HINT


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_have_short_sentences_with_a_verb(page: Path) -> None:
    blocks = list(paragraphs(page.read_text()))
    wrong = [text for block in blocks for text in sentences(block) if is_clause(text)]
    assert wrong == [], HINT
    counts = {text: len(text.split()) for block in blocks for text in sentences(block)}
    is_plain = page.parent.name == "docs" and page.name in PLAIN_PAGES
    most = MOST_WORDS_IF_PLAIN if is_plain else MOST_WORDS
    assert {t: n for t, n in counts.items() if n > most} == {}, "make two sentences of it"
    assert not is_plain or median(counts.values()) <= MEDIAN_IF_PLAIN


def test_manual_pages_have_a_verb() -> None:
    wrong = [
        f"{page.name}: {text}"
        for page in sorted((ROOT / "man").glob("*.1"))
        for block in manual_paragraphs(page.read_text())
        for text in sentences(block)
        if is_clause(text)
    ]
    assert wrong == [], HINT


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
    assert bool(list(verbless_texts(f'fail("It is so. {text}")\n'))) == is_refused
    assert any(map(is_clause, sentences(text))) == is_refused


def test_a_comment_may_begin_with_a_place() -> None:
    """It goes on with a sentence behind the comma; a docstring says what the thing is first."""
    text = "Where a linker has removed the table, the entries are found by their shape."
    assert not list(verbless(f"# {text}\nX = 1\n"))
    assert not is_clause(text)
    assert list(verbless(f'"""{text}"""\n'))


def test_a_question_is_a_sentence() -> None:
    assert not is_clause("What ran where, in this run?")


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


def test_comments_of_the_runtime_are_read_by_their_sentences(tmp_path: Path) -> None:
    path = tmp_path / "file.cpp"
    path.write_text("""\
// A file. Part of it: a comment that goes on with
// What comes next.
//
// Whether a paragraph begins anew.
const char* const text = "// What a literal holds"; // What is behind code.
const long count = 10'000; // Who is counted.
/* A block that says
 * that. How it
 * goes on. */
// Where a place comes first, a sentence follows.
#define X // Which one?
""")
    assert list(verbless_comments(path)) == [
        (4, "Whether a paragraph begins anew."),
        (5, "What is behind code."),
        (6, "Who is counted."),
        (7, "How it goes on."),
    ]
    path = path.with_suffix(".map")
    path.write_text("# What is exported.\nVERS { global: a; }; # Why so\n")
    assert [line for line, _ in verbless_comments(path)] == [1, 2]


def test_a_message_is_read_with_its_values() -> None:
    source = '''"""Read what a file holds. What follows is padding."""
fail(f"{path}: what it holds")
fail(f"{path} is no image", "which nothing reads")
raise Error(
    f"what {name} holds"
    " is unknown"
)
option("--all", help="Show all. Whether it is used.")
X = "what"
'''
    assert list(verbless_texts(source)) == [
        (1, "What follows is padding."),
        (5, "what … holds is unknown"),
        (8, "Whether it is used."),
    ]


def test_a_page_is_read_by_its_sentences() -> None:
    page = """# What a heading names

Text with `a. What code says`, and [a link. What](x.md)
goes on. Where so, (so. Where.)

    What a listing shows.

| What | a cell |
```sh
What a command prints
```
- What a row holds.
  It goes on.
1. A number: what it is. *Which one.*
"""
    assert [text for block in paragraphs(page) for text in sentences(block)] == [
        "Text with …, and a link.",
        "What goes on.",
        "Where so, (so.",
        "Where.)",
        "What a row holds.",
        "It goes on.",
        "A number: what it is.",
        "Which one.",
    ]


def test_manual_pages_print_no_macro() -> None:
    macro = re.compile(r"\S\s+\.[A-Z]{1,2}\b")
    wrong = [
        f"{page.name}: {line}"
        for page in sorted((ROOT / "man").glob("*.1"))
        for line in page.read_text().splitlines()
        if macro.search(line)
    ]
    assert wrong == [], "a macro stands at the start of its line"


def test_a_manual_page_is_read_by_its_sentences() -> None:
    page = r""".SH WHAT A HEADING NAMES
It is \fIso\fR.
.TP
.B \-\-what FILE
What it holds.
.EX
What a program prints
.EE
.B Where
it is so, it holds.
"""
    found = [text for block in manual_paragraphs(page) for text in sentences(block)]
    assert [text for text in found if text] == [
        "It is so.",
        "What it holds.",
        "Where it is so, it holds.",
    ]


@lru_cache
def sources(tree: str) -> list[Path]:
    return sorted((ROOT / tree).rglob("*.py"))


@cache
def parsed(source: str) -> ast.Module:
    """Return the tree of a file: docstrings and messages are looked for in the same one."""
    return ast.parse(source)


def verbless(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of docstrings and comments that open with a clause alone."""
    for node in ast.walk(parsed(source)) if BEGUN.search(source) else ():
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
            if is_clause(text) and not (is_alone and line == open_line + 1):
                yield line, text
            if is_alone and not text.rstrip().endswith((".", ":")):
                open_line = line


def verbless_comments(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of sentences in a native file's comments that are clauses."""
    for line, comment in comments(path):
        for paragraph in re.split(r"\n\s*\n", comment):
            for sentence in sentences(" ".join(paragraph.split())):
                if is_clause(sentence):
                    yield line + comment[: comment.index(paragraph)].count("\n"), sentence


def comments(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the first line and the text of each comment; lines below each other are one."""
    source = path.read_text()
    is_script = path.suffix in {".cmake", ".map", ".txt"}
    first, last, text = 0, -1, ""
    for found in (SCRIPT_COMMENT if is_script else NATIVE_COMMENT).finditer(source):
        if found.lastgroup is None:
            continue
        number = source.count("\n", 0, found.start()) + 1
        before = source[source.rfind("\n", 0, found.start()) + 1 : found.start()]
        if found.lastgroup == "line" and number == last + 1 and not before.strip():
            last, text = number, f"{text}\n{found[0].lstrip('/#<! ')}"
            continue
        yield first, text
        first, last = number, number if found.lastgroup == "line" else -1
        is_block = found.lastgroup == "block"
        text = re.sub(r"\n\s*\*", "\n", found[0][2:-2]) if is_block else found[0].lstrip("/#<! ")
    yield first, text


def verbless_texts(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of sentences in strings that open with a clause alone."""
    if not BEGUN.search(source):
        return
    parts: set[ast.AST] = set()  # of strings with values, which are read as a whole
    for node in ast.walk(parsed(source)):
        if isinstance(node, ast.JoinedStr):
            parts.update(node.values)
            text = "".join(
                str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in parts:
            text = node.value
        else:
            continue
        for sentence in sentences(text):
            if is_clause(sentence, MESSAGE):
                yield node.lineno, sentence


def paragraphs(page: str) -> Iterator[str]:
    """Yield the paragraphs and items of a page; headings, tables and listings are none."""
    text = re.sub(r"^```.*?^```$|<!--.*?-->", "\n", page, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^(#|\|| {4,}).*$", "", text, flags=re.MULTILINE)
    for block in re.split(r"\n\s*\n|\n(?= *(?:[-*]|\d+\.) )", text):
        plain = re.sub(r"^\s*(?:[-*]|\d+\.) ", "", block)
        plain = re.sub(r"`[^`]+`", "…", plain)
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", plain).replace("*", "")
        yield " ".join(plain.split())


def manual_paragraphs(page: str) -> Iterator[str]:
    """Yield the paragraphs of a manual page; headings, tags and listings are none."""
    text = re.sub(r"^\.(EX|nf)$.*?^\.(EE|fi)$", ".P", page, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^\.(TP|TQ)\n.*$", ".P", text, flags=re.MULTILINE)
    text = re.sub(r"^\.(?:[BI]|[BIR]{2}) (.*)$", r"\1", text, flags=re.MULTILINE)
    text = re.sub(r"\\f[A-Z]|\\&", "", text).replace(r"\-", "-")
    for block in re.split(r"^\..*$", text, flags=re.MULTILINE):
        yield " ".join(block.split())


def sentences(text: str) -> list[str]:
    """Return the sentences of a paragraph: each ends with its point, even within brackets."""
    return [part for part in re.split(r"(?<=[.!?])[\")]?\s+(?=\S)", text.strip()) if part]


def is_clause(text: str, opening: re.Pattern[str] = OPENING) -> bool:
    """Return whether a sentence is a clause alone; "Where …, …" goes on with a sentence."""
    opened = opening.match(text)
    sentence = re.split(r"(?<=[.:;])\s", text, maxsplit=1)[0]
    if opened is None or sentence.endswith("?"):
        return False
    return not (opened[1].title() == "Where" and "," in sentence)
