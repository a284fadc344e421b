# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The options `--baseline` and `--write-baseline`: known findings do not fail a build."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from omptool.console import echo, portable, shown
from omptool.options.paths import FILE
from packager.errors import FormatError
from packager.wording import counted

if TYPE_CHECKING:
    from packager.gates.baseline import Known

OPTIONS = (
    click.option(
        "--baseline", type=FILE, metavar="JSON", help="Leave out the findings that it knows."
    ),
    click.option(
        "--write-baseline", type=FILE, metavar="JSON", help="Write the findings; they fail nothing."
    ),
)


class Baseline:
    """A file of known findings, and those that this run found again."""

    def __init__(self, path: Path) -> None:
        """Read the file. Raises FormatError if it is no baseline, and OSError."""
        from packager.gates import baseline

        self._path = path
        try:
            self._known = baseline.read(path.read_text(encoding="utf-8"))
        except UnicodeDecodeError as error:
            raise FormatError("is not UTF-8") from error
        self._found: set[Known] = set()

    def knows(self, file: str, code: str, message: str) -> bool:
        """Return whether a finding is in the baseline."""
        from packager.gates import baseline

        one = baseline.known(portable(file), code, message)
        if one in self._known:
            self._found.add(one)
        return one in self._known

    def conclude(self, files: Iterable[str] | None = None) -> None:
        """Print on stderr the number of findings seen again, and each one that was not.

        `files` are the files that were checked, if not all; entries of others are ignored.
        """
        where = shown(self._path)
        if self._found:
            echo(f"{where}: {counted(len(self._found), 'known finding')} left out", err=True)
        names = None if files is None else set(map(portable, files))
        for one in sorted(self._known - self._found):
            if names is not None and one.file not in names:
                continue
            echo(f"{where}: no longer found: {one}", err=True)


def write(path: Path, findings: Iterable[tuple[str, str, str]]) -> None:
    """Write findings, as file, code and message, as a baseline, and print how many they are."""
    from packager.files.replacing import replacing
    from packager.gates import baseline

    known = {baseline.known(portable(file), code, message) for file, code, message in findings}
    with replacing(path) as temporary:
        temporary.write_text(baseline.written(known), encoding="utf-8")
    echo(f"{shown(path)}: wrote {counted(len(known), 'finding')}", err=True)
