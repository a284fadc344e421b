# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Collect the findings of `verify` about a file: of its checks, and of the user's gates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from omptool.errors import reported
from omptool.options.baselines import Baseline, write
from omptool.options.gating import WORDS, Gating
from packager.errors import FormatError
from packager.look import Look
from packager.model import FatBinary, Finding
from packager.questions.members import EMPTY

if TYPE_CHECKING:
    from omptool.commands.verify.since import Since
    from packager.checks.between import Earlier
    from packager.gates.budget import Budget

Result = tuple[FatBinary, list[Finding]]


class Gates:
    """The gates of one run. Unused ones are not imported, to keep start-up fast."""

    def __init__(self, asked: Gating, look: Look) -> None:
        """Read the files of the gates, or end the command with a line about one of them."""
        self._asked = asked
        self._budget = _budget(asked.budget) if asked.budget else None
        self._baseline = _baseline(asked.baseline) if asked.baseline else None
        words = asked.fail_on or WORDS[:1]
        self._since = _since(asked.against, look, words) if asked.against else None

    @property
    def failed(self) -> bool:
        """Return whether the earlier build could not be read whole."""
        return self._since is not None and self._since.failed

    @property
    def codes(self) -> list[str]:
        """Return the codes of the user's gates."""
        if not (self._since or self._budget):
            return []
        from packager.gates.codes import AGAINST, BUDGET

        return [*(AGAINST if self._since else ()), *(BUDGET if self._budget else ())]

    def of_part(self, member: str, binary: FatBinary) -> list[Finding]:
        """Return the findings about a file or a member by the earlier build."""
        return self._since.findings(member, binary) if self._since else []

    def of_file(self, path: Path, parts: Sequence[FatBinary]) -> Iterator[Result]:
        """Yield the findings about a whole file, with their subjects."""
        if self._since:
            yield from self._since.lost(path)
        if self._budget:
            from packager.gates.codes import BUDGET

            found = [one for gate in BUDGET.values() for one in gate(self._budget, parts)]
            if found:
                yield (parts[0] if len(parts) == 1 else EMPTY._replace(path=str(path))), found

    def fresh(self, binary: FatBinary, findings: Sequence[Finding]) -> list[Finding]:
        """Return the findings that are not in the baseline."""
        known = self._baseline
        if known is None:
            return list(findings)
        return [one for one in findings if not known.knows(binary.path, one.code, one.message)]

    def conclude(self, results: Sequence[Result]) -> None:
        """Write the budget or baseline, and report changes of the baseline."""
        if self._baseline:
            self._baseline.conclude(binary.path for binary, _ in results)
        if path := self._asked.write_budget:
            _write_budget(path, [binary for binary, _ in results])
        if path := self._asked.write_baseline:
            with reported(path):
                write(path, _weighty(results))


def _since(old: Path, look: Look, fail_on: Sequence[str]) -> Since:
    from omptool.commands.verify.since import Since

    return Since(old, look, fail_on)


def _budget(path: Path) -> Budget:
    from packager.gates import budget

    with reported(path):
        try:
            return budget.parse(path.read_text(encoding="utf-8"))
        except UnicodeDecodeError as error:
            raise FormatError("is not UTF-8") from error


def _write_budget(path: Path, files: Sequence[FatBinary]) -> None:
    from packager.files.replacing import replacing
    from packager.gates import budget

    with reported(path), replacing(path) as temporary:
        temporary.write_text(budget.written(files), encoding="utf-8")


def _baseline(path: Path) -> Baseline:
    with reported(path):
        return Baseline(path)


def _weighty(results: Sequence[Result]) -> Iterator[tuple[str, str, str]]:
    """Yield the findings that are more than information, for a baseline."""
    for binary, findings in results:
        for one in findings:
            if one.severity != "info":
                yield binary.path, one.code, one.message


def found_in(binary: FatBinary, earlier: Earlier, codes: Sequence[str]) -> list[Finding]:
    """Return the findings of the checks in a file, alone and with files before it."""
    from packager import checks

    found = checks.verify(binary, codes) if codes else []
    return [*found, *checks.against(earlier, binary, codes)]
