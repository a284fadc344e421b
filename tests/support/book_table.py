# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tables of what runs, in docs/runtime.md and in tests/programs/book.

Usage: python tests/support/book_table.py [--write]   (builds and runs all programs in all ways, for
half an hour; prints the tables, or puts them where they belong)
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from builds import SWEEP, Build, builds_by
from clangs import DOCUMENTED
from outcomes import Outcome, Programs
from places import ROOT
from products import Products, of_this_run
from queues import AT_ONCE
from tabulate import tabulate
from whole_programs import BOOK, FIGURES, PROGRAMS, SOUND, is_error

RUNTIME = ROOT / "docs" / "runtime.md"
NUMBERS = range(1, 67)
DRAWINGS = (3, 4, 5, 7, 21, 23)
SYNTAX = (15, 16, 18, 19, 24, 25, 34, 43, 46, 47, 49, 50, 52, 53)
OUTPUT = (66,)
COMMENT = re.compile(r"/\* Figures? (?P<numbers>[0-9., and]+): (?P<what>.+?)\*/", re.DOTALL)
BEGIN, END = "<!-- begin: python tests/support/book_table.py --write -->\n", "<!-- end -->\n"

# Names of builds in the table; they differ only in the clang.
SORTS = {
    ("wrapper", "-O2"): "by the clang's own linker wrapper, `-O2`",
    ("link", "-O2"): "by `clang -c` and `omptool link`, `-O2`",
    ("cc", "-O2"): "by `omptool cc`, `-O2`",
    ("wrapper", "-O0"): "by the clang's own linker wrapper, `-O0`",
}
HEADERS = [f"clang {version}" for version in DOCUMENTED]

Ends = Callable[[Build, Path], Outcome]


def numbers(figure: Path) -> list[int]:
    """Return the figures that a program shows, from its first comment."""
    return [int(number) for number in re.findall(r"6\.(\d+)", _comment(figure)["numbers"])]


def tables(ends: Ends) -> dict[Path, str]:
    """Return each file's table of how the programs of each build end."""
    return {
        RUNTIME: f"{summary(ends)}\n{counts(ends)}",
        BOOK / "README.md": details(ends),
    }


def summary(ends: Ends) -> str:
    """Return the runtime's table: a row for all figures with the same outcome."""
    rows: dict[tuple[str, ...], list[Path]] = {}
    for path in FIGURES:
        if not is_error(path):
            rows.setdefault(_cells(ends, path), []).append(path)
    table = [(_named(cells, paths), *cells) for cells, paths in rows.items()]
    errors = [path for path in FIGURES if is_error(path)]
    table.append((f"errors of figures {_ranges(errors)}", *["as documented"] * len(DOCUMENTED)))
    failing = [
        [path.stem for path in SOUND if _cell(ends, path, version) != "runs"]
        for version in DOCUMENTED
    ]
    said = [f"not: {', '.join(names)}" if names else "runs" for names in failing]
    table.append(("`tests/programs/openmp`", *said))
    return _table(("programs", *HEADERS), table)


def counts(ends: Ends) -> str:
    """Count the programs that are not refused: those that run, and those that show their error."""
    table = []
    for (way, level), name in SORTS.items():
        cells = []
        for version in DOCUMENTED:
            build = Build(version, way, level)
            right = [path for path in PROGRAMS if ends(build, path).refusal is None]
            runs = [path for path in right if ends(build, path).ran]
            cells.append(f"{len(runs)} and {len(right) - len(runs)}")
        table.append((name, *cells))
    return _table(("programs that run, and that show an error", *HEADERS), table)


def details(ends: Ends) -> str:
    """Return the table of the book's programs, and the output of those that do more than run."""
    rows = [(_link(path), _title(path), *_cells(ends, path)) for path in FIGURES]
    table = _table(("program", "shows", *HEADERS), rows)
    return f"{table}\n{''.join(_told(path, ends) for path in FIGURES)}"


def written(file: Path, table: str) -> str:
    """Return the text of `file` with `table` in its place."""
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


def _cells(ends: Ends, path: Path) -> tuple[str, ...]:
    return tuple(_cell(ends, path, version) for version in DOCUMENTED)


def _cell(ends: Ends, path: Path, version: str) -> str:
    """Return how the program ends that this clang compiles, if it ends alike in all ways."""
    said = {_short(ends(build, path)) for build in builds_by(version)}
    return said.pop() if len(said) == 1 else "as below"


def _short(outcome: Outcome) -> str:
    if outcome.refusal is not None:
        return "refused"
    return "runs" if outcome.ran else "as below"


def _told(path: Path, ends: Ends) -> str:
    """Return a line for each outcome of a program, with the builds that have it."""
    said: dict[str, list[Build]] = {}
    for build in SWEEP:
        said.setdefault(str(ends(build, path)), []).append(build)
    return "".join(
        f"- `{path.stem}`, {_builds(builds)}: {words}\n"
        for words, builds in said.items()
        if words != "runs"
    )


def _builds(builds: Sequence[Build]) -> str:
    return "every clang" if len(builds) == len(SWEEP) else ", ".join(map(str, builds))


def _ranges(paths: Iterable[Path]) -> str:
    """Return the numbers of figures as ranges; ranges skip figures without a program."""
    known = [number for number in NUMBERS if number not in (*DRAWINGS, *SYNTAX, *OUTPUT)]
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
    with tempfile.TemporaryDirectory() as folder:
        of_this_run[:] = [Products(Path(folder))]
        with Programs(of_this_run[0], AT_ONCE) as programs:
            programs.start((build, path) for build in SWEEP for path in PROGRAMS)
            found = tables(programs.outcome)
    for file, table in found.items():
        print(table)
        if options.write:
            file.write_text(written(file, table))


if __name__ == "__main__":
    main()
