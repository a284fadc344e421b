# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool verify --against`: report parts that a build lost, gained or changed."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from omptool.reading import Files
from packager.gates import codes as gates
from packager.look import Look
from packager.model import FatBinary, Finding
from packager.questions.compare import differences
from packager.questions.members import EMPTY, named
from packager.questions.wanted import Wanted


class Since:
    """An earlier build of a file, member by member where it is an archive."""

    def __init__(self, old: Path, look: Look, fail_on: Collection[str]) -> None:
        """Read the earlier build; print a line on stderr for each unreadable part."""
        files = Files([old], look)
        self._pending = dict(named(files, str(old)))
        self._fatal = [gates.SINCE[word] for word in fail_on]
        self.failed = files.failed

    def findings(self, member: str, binary: FatBinary) -> list[Finding]:
        """Return the findings about removed, added or changed parts of a file or member."""
        return self._judged(self._pending.pop(member, EMPTY), binary)

    def lost(self, path: Path) -> Iterator[tuple[FatBinary, list[Finding]]]:
        """Yield the members that the file of this path lacks, with their findings."""
        for member, old in self._pending.items():
            gone = EMPTY._replace(path=f"{path}{member}")
            if findings := self._judged(old, gone):
                yield gone, findings

    def _judged(self, old: FatBinary, new: FatBinary) -> list[Finding]:
        changes = list(differences(old, new, Wanted()))
        found = (one for gate in gates.AGAINST.values() for one in gate(changes))
        return [one._replace(severity="error") if one.code in self._fatal else one for one in found]
