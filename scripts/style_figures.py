#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Print figures of style: docstrings, comments, and the sizes of rooms and commands.

Usage: scripts/style_figures.py [--list]

With --list, prints each docstring and comment that counts against a figure. The figures are no
test: `make check` prints them, and a reviewer judges the trend.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PYTHON = ("packager", "omptool", "tests", "bench", "scripts")
LARGEST = 5  # rows shown of a ranking

# A comment that begins so has its subject in another comment or in the code below.
LEANING = re.compile(
    r"(the same|same|those|it|its|they|their|them|such|and|but|also|likewise|what|whose|that|of)\b",
    re.IGNORECASE,
)
DIRECTIVE = re.compile(r"(clang-format|NOLINT|IWYU|SPDX|fmt:|noqa|type:|mypy:|ruff:|!|[-=]{3})")
NATIVE_COMMENT = re.compile(r"^(\s*)//[/!<]*\s?(.*)$")
# The last identifier before one of ( ; = { [ : is taken for the declared name.
DECLARED = re.compile(r"(~?\w+)\s*(?:\[[^]]*\]\s*)?(?=[(;={:]|$)")
VERBS = """
    abandon abort accept add adopt advance aggregate align allocate allow answer append apply
    arm arrange ask assert assign attach avoid await become begin belong bind block book borrow
    break bring build cache call cancel cap change check choose claim clear close collect
    combine compare compile complete compute construct consume contain continue convert copy
    count cover create damage decide decode decrement defer define delete deliver depend derive
    describe destroy detach detect determine disable discard dispatch do draw drop dump emit
    empty enable encode end enqueue ensure enter enumerate erase escape evict examine exchange
    execute exit expand expect explain export extend extract fail fall fetch fill find finish
    fit flush fold follow forbid forget fork format forward free freeze gather generate get
    grant group grow guard handle happen hash have hold identify ignore implement import
    include increment index indicate inflate inform initialise insert inspect install
    invalidate invoke join keep know launch lay lead leave let limit link list load locate lock
    log look lose lower make map mark match may measure merge mirror modify move must name need
    notify number observe occupy offer omit open order outlive own pace pack pair park parse
    pass patch pause pin place point poll pop post prefer prepare preserve prevent print
    process produce protect provide publish pull push put queue raise reach read rebuild
    receive recognise record recover recycle reduce refer refresh refuse register reject
    release relocate remain remember remove rename render repeat replace reply report represent
    request require reserve reset resize resolve restart restore resume retire retry return
    reuse reverse revert rewrite ring roll round route run save scan schedule search see select
    send serialise serve set share shift shorten show shrink shut signal size skip sleep slide
    sort spawn spin split start stay step stop store stream submit subtract summarise support
    suspend swap switch synchronise take tell test throw track transfer translate traverse
    treat trim truncate try tune turn undo unlock unmap unpack unregister unwind update upload
    use validate verify visit wait wake walk want warn watch wrap write yield zero
"""
KNOWN_VERBS = frozenset(VERBS.split())
# Participles that open a comment as well: "Called when", "Owned by", "Used for".
PASSIVE = re.compile(r"(called|set|used|owned|held|given|guarded|counted|known|kept|shared|sent)$")


class Comment(NamedTuple):
    """Comment lines below each other, joined, with the code line that follows them."""

    path: Path
    line: int
    text: str
    code: str

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}: {self.text.splitlines()[0]}"


def main(arguments: Sequence[str]) -> int:
    is_listing = "--list" in arguments
    for tree in PYTHON:
        faults, count = moods(tree)
        show(f"docstrings of {tree}: not imperative", faults, count, is_listing)
    native = list(native_comments(ROOT / "runtime"))
    above = [one for one in native if is_declaration(one.code)]
    openers = [one for one in above if not opens_well(one)]
    show("comments of runtime: neither a verb nor the name first", openers, len(above), is_listing)
    scripts = [comment for tree in PYTHON for comment in python_comments(ROOT / tree)]
    for name, comments in (("runtime", native), ("Python", scripts)):
        leaning = [one for one in comments if LEANING.match(one.text)]
        show(f"comments of {name}: lean on another", leaning, len(comments), is_listing)
    for what, ranking in (("files in a folder", folders()), ("lines of a command", commands())):
        rows = ", ".join(f"{name} {count}" for name, count in ranking.most_common(LARGEST))
        print(f"most {what}: {rows}")
    return 0


def show(what: str, faults: Sequence[object], count: int, is_listing: bool) -> None:
    """Print one figure, and with `is_listing` the places that count against it."""
    print(f"{what}: {len(faults)} of {count} ({100 * len(faults) / max(count, 1):.1f} %)")
    for fault in faults if is_listing else ():
        print(f"  {fault}")


def moods(tree: str) -> tuple[list[str], int]:
    """Return the docstrings of functions that ruff's D401 refuses, and the number of all."""
    command = ["ruff", "check", "--select", "D401", "--output-format", "concise", "--quiet", tree]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    count = sum(
        isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None
        for path in (ROOT / tree).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
    )
    return [line for line in done.stdout.splitlines() if " D401 " in line], count


def native_comments(folder: Path) -> Iterator[Comment]:
    """Yield the comments of C++ that have lines of their own."""
    for path in sorted(p for p in folder.rglob("*") if p.suffix in {".h", ".cpp"}):
        lines = path.read_text().splitlines()
        found = [NATIVE_COMMENT.match(line) for line in lines]
        numbered = ((n, match[2]) for n, match in enumerate(found, 1) if match)
        yield from joined(path, numbered, lines)


def python_comments(folder: Path) -> Iterator[Comment]:
    """Yield the comments of Python that have lines of their own."""
    for path in sorted(folder.rglob("*.py")):
        source = path.read_text()
        tokens = tokenize.generate_tokens(io.StringIO(source).readline)
        numbered = (
            (token.start[0], token.string.lstrip("#: "))
            for token in tokens
            if token.type == tokenize.COMMENT and token.line.lstrip().startswith("#")
        )
        yield from joined(path, numbered, source.splitlines())


def joined(
    path: Path, numbered: Iterable[tuple[int, str]], lines: Sequence[str]
) -> Iterator[Comment]:
    """Join comment lines that follow each other, without licences and directives of tools."""
    first, texts = 0, list[str]()
    kept = ((number, text) for number, text in numbered if not DIRECTIVE.match(text))
    for number, text in (*kept, (len(lines) + 2, "")):
        if texts and number != first + len(texts):
            code = next((line for line in lines[first + len(texts) - 1 :] if line.strip()), "")
            if any(map(str.strip, texts)):
                yield Comment(path, first, "\n".join(texts).strip(), code.strip())
            texts = []
        if not texts:
            first = number
        texts.append(text)


def is_declaration(code: str) -> bool:
    """Return whether a line of C++ begins a declaration, as far as its shape shows it."""
    if re.match(r"(return|if|else|for|while|switch|case|do|try|goto|break|throw|#|\}|//)", code):
        return False
    is_name_first = re.match(r"[\w:~\[<]", code)
    return bool(is_name_first and not re.match(r"[\w.>-]+(\(|\s*[-+|&]?=[^=])", code))


def opens_well(comment: Comment) -> bool:
    """Return whether a comment begins with a verb, or with the name that it is about."""
    words = re.findall(r"[A-Za-z_]\w*", comment.text)[:4]
    if not words or LEANING.match(comment.text):
        return False
    if is_verb(words[0].lower()) or PASSIVE.match(words[0].lower()):
        return True
    declared = DECLARED.search(comment.code)
    stems = {stem(part) for part in parts(declared[1])} if declared else set()
    stems |= {stem(part) for word in comment.code.split("(")[0].split() for part in parts(word)}
    return any(stem(part) in stems for word in words for part in parts(word))


def is_verb(word: str) -> bool:
    """Return whether a word is a known verb, or its third person."""
    forms = {word, word.removesuffix("s"), word.removesuffix("es")}
    return bool((forms | {word[:-3] + "y"} if word.endswith("ies") else forms) & KNOWN_VERBS)


def parts(name: str) -> list[str]:
    """Return the words of a name: kDeviceMemory, by_begin_, HostRange."""
    return [part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


def stem(word: str) -> str:
    """Return the first letters of a word, which its forms share."""
    return word[:4]


def folders() -> Counter[str]:
    """Return the number of modules in each room; a header and its source are one."""
    units: dict[str, set[str]] = defaultdict(set)
    for tree in ("omptool", "packager", "runtime"):
        for path in (ROOT / tree).rglob("*"):
            if path.suffix in {".py", ".h", ".cpp"} and path.stem != "__init__":
                units[path.parent.relative_to(ROOT).as_posix()].add(path.stem)
    return Counter({room: len(names) for room, names in units.items()})


def commands() -> Counter[str]:
    """Return the lines of each function in omptool/commands, without its docstring."""
    lines: Counter[str] = Counter()
    for path in (ROOT / "omptool" / "commands").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                text = len((ast.get_docstring(node) or "").splitlines())
                own = (node.end_lineno or 0) - node.lineno + 1 - text
                lines[f"{path.relative_to(ROOT / 'omptool' / 'commands')}:{node.name}"] = own
    return lines


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
