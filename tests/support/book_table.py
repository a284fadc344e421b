"""The tables of what runs, in docs/runtime.md and in tests/book, made of what really happens.

Usage: python tests/support/book_table.py [--write]   (prints them, or puts them where they belong)
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from clangs import VERSIONS
from outcomes import Outcome, Programs
from places import ROOT
from products import Products
from queues import AT_ONCE
from tabulate import tabulate
from whole_programs import BOOK, SOUND, is_error
from whole_programs import FIGURES as PROGRAMS

RUNTIME = ROOT / "docs" / "runtime.md"
FIGURES = range(1, 67)
DRAWINGS = (3, 4, 5, 7, 21, 23)
SYNTAX = (15, 16, 18, 19, 24, 25, 34, 43, 46, 47, 49, 50, 52, 53)
OUTPUT = (66,)
COMMENT = re.compile(r"/\* Figures? (?P<numbers>[0-9., and]+): (?P<what>.+?)\*/", re.DOTALL)
BEGIN, END = "<!-- begin: python tests/support/book_table.py --write -->\n", "<!-- end -->\n"

Outcomes = Mapping[Path, Sequence[Outcome]]


def numbers(figure: Path) -> list[int]:
    """The figures that a program shows, by its first comment."""
    return [int(number) for number in re.findall(r"6\.(\d+)", _comment(figure)["numbers"])]


def found(programs: Programs, paths: Iterable[Path]) -> Outcomes:
    """The outcomes of programs by every clang."""
    wanted = list(paths)
    programs.start((version, path) for version in VERSIONS for path in wanted)
    return {path: [programs.outcome(version, path) for version in VERSIONS] for path in wanted}


def summary(figures: Outcomes, others: Outcomes) -> str:
    """The runtime's table: figures of like outcome in a row."""
    rows: dict[tuple[str, ...], list[Path]] = {}
    for path, outcomes in figures.items():
        if not is_error(path):
            rows.setdefault(tuple(_short(outcome) for outcome in outcomes), []).append(path)
    table = [(_named(cells, paths), *cells) for cells, paths in rows.items()]
    errors = [path for path in figures if is_error(path)]
    table.append((f"errors of figures {_ranges(errors)}", *["as documented"] * len(VERSIONS)))
    failing = [
        [path.stem for path, of in others.items() if not of[at].ran] for at in range(len(VERSIONS))
    ]
    said = [f"not: {', '.join(names)}" if names else "runs" for names in failing]
    table.append(("`tests/openmp`", *said))
    return _table(("programs", *(f"clang {version}" for version in VERSIONS)), table)


def details(figures: Outcomes) -> str:
    """The table of tests/book: a program in a row; below, what those say that do not just run."""
    rows = [
        (_link(path), _title(path), *(_short(outcome) for outcome in outcomes))
        for path, outcomes in figures.items()
    ]
    table = _table(("program", "shows", *(f"clang {version}" for version in VERSIONS)), rows)
    return f"{table}\n{''.join(_told(path, of) for path, of in figures.items())}"


def written(file: Path, table: str) -> str:
    """The text of `file` with `table` in its place."""
    before, rest = file.read_text().split(BEGIN)
    return f"{before}{BEGIN}\n{table}\n{END}{rest.split(END)[1]}"


def _comment(figure: Path) -> re.Match[str]:
    match = COMMENT.match(figure.read_text())
    if not match:
        raise ValueError(f"{figure.name} does not begin with its figure's number")
    return match


def _title(figure: Path) -> str:
    words = " ".join(_comment(figure)["what"].replace("\n *", " ").split())
    return words.split(". ")[0].rstrip(".")


def _link(path: Path) -> str:
    return f"[{path.stem}]({path.name})"


def _named(cells: Sequence[str], paths: Sequence[Path]) -> str:
    if set(cells) == {"runs"}:
        return f"figures {_ranges(paths)}"
    return ", ".join(f"`{path.stem}`" for path in paths)


def _short(outcome: Outcome) -> str:
    if outcome.refusal is not None:
        return "refused"
    return "runs" if outcome.ran else "as below"


def _told(path: Path, outcomes: Sequence[Outcome]) -> str:
    """A line for each thing that a program's outcomes say."""
    said: dict[str, list[str]] = {}
    for version, outcome in zip(VERSIONS, outcomes, strict=True):
        if not outcome.ran:
            said.setdefault(str(outcome), []).append(version)
    return "".join(
        f"- `{path.stem}`, clang {', '.join(versions)}: {words}\n"
        for words, versions in said.items()
    )


def _ranges(paths: Iterable[Path]) -> str:
    """The numbers of figures; neighbours among those that have a program are joined."""
    known = [number for number in FIGURES if number not in (*DRAWINGS, *SYNTAX, *OUTPUT)]
    places = sorted({known.index(number) for path in paths for number in numbers(path)})
    runs: list[list[int]] = []
    for place in places:
        if runs and runs[-1][-1] == place - 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    ends = [(f"6.{known[run[0]]}", f"6.{known[run[-1]]}") for run in runs]
    return ", ".join(first if first == last else f"{first} to {last}" for first, last in ends)


def _table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return tabulate(rows, headers=headers, tablefmt="github", disable_numparse=True) + "\n"


def main() -> None:
    """Find out, then print or write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        Programs(Products(Path(folder)), AT_ONCE) as programs,
    ):
        figures = found(programs, PROGRAMS)
        others = found(programs, SOUND)
    for file, table in (
        (RUNTIME, summary(figures, others)),
        (BOOK / "README.md", details(figures)),
    ):
        print(table)
        if options.write:
            file.write_text(written(file, table))


if __name__ == "__main__":
    main()
