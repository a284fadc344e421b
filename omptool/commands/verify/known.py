# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`--baseline` and `--write-baseline`: the findings that a project knows of."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from omptool.console import echo, portable, shown
from packager.files.replacing import replacing
from packager.gates import baseline
from packager.model import FatBinary, Finding
from packager.wording import counted


class Baseline:
    """A file of known findings, and those of them that this run found again."""

    def __init__(self, path: Path, text: str) -> None:
        """Take the file's text. Raises FormatError for what is no baseline."""
        self._path = path
        self._known = baseline.read(text)
        self._found: set[baseline.Known] = set()

    def knows(self, file: str, code: str, message: str) -> bool:
        """Return whether a finding is one of them."""
        one = baseline.known(portable(file), code, message)
        if one in self._known:
            self._found.add(one)
        return one in self._known

    def conclude(self, files: Iterable[str]) -> None:
        """Print how many were found again on stderr, and each of these files' that was not."""
        where = shown(self._path)
        if self._found:
            echo(f"{where}: {counted(len(self._found), 'known finding')} left out", err=True)
        names = set(map(portable, files))
        for one in sorted(one for one in self._known - self._found if one.file in names):
            echo(f"{where}: no longer found: {one}", err=True)


def write(path: Path, results: Iterable[tuple[FatBinary, Iterable[Finding]]]) -> None:
    """Write all findings but plain information as a baseline, and print how many they are."""
    known = {
        baseline.known(portable(binary.path), one.code, one.message)
        for binary, findings in results
        for one in findings
        if one.severity != "info"
    }
    with replacing(path) as temporary:
        temporary.write_text(baseline.written(known), encoding="utf-8")
    echo(f"{shown(path)}: wrote {counted(len(known), 'finding')}", err=True)
