# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The report of the runtime's checker: `--check`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from omptool.commands.run.report import (
    CANNOT_WRITE,
    FOUND_ERROR,
    Report,
    is_written,
    say,
    write_text,
)
from omptool.errors import fail
from omptool.options import baselines
from omptool.options.baselines import Baseline
from omptool.options.checking import LEVELS, Asked
from omptool.probes.launching import Start
from omptool.probes.reports import finding_report
from omptool.probes.reports.finding_report import FindingReport
from omptool.render.runs import check_run
from packager.errors import PackagerError
from packager.machine.run_check.check_places import with_lines
from packager.machine.run_check.check_run import CheckRun, merged


@contextmanager
def made(start: Start, asked: Asked) -> Iterator[Report]:
    """Make the table of findings, which ends with the block."""
    known = _baseline(asked.baseline) if asked.baseline else None
    level = asked.level or LEVELS[0]
    with finding_report.made(level) as table:
        yield _Checked(start, asked, level, table, known)


class _Checked(Report):
    def __init__(
        self, start: Start, asked: Asked, level: str, table: FindingReport, known: Baseline | None
    ) -> None:
        self.environment = {finding_report.VARIABLE: table.path}
        self._start = start
        self._asked = asked
        self._level = level
        self._table = table
        self._known = known

    def conclude(self, ended: int) -> int | None:
        """Print the checker's findings, and write them to the files."""
        asked, known, whole = self._asked, self._known, self._found(ended)
        found = whole.without(known.knows) if known else whole
        for line in check_run.lines(found):
            say(line)
        if known:
            known.conclude()
        if not _are_written(asked, found, whole):
            return CANNOT_WRITE
        is_fatal = asked.is_error_fatal and not asked.write_baseline
        return FOUND_ERROR if is_fatal and found.count("error") else None

    def _found(self, ended: int) -> CheckRun:
        recorded = self._table.recorded()
        program = self._start.words[0]
        findings = merged(with_lines(recorded.findings, self._start.file, program))
        return CheckRun(
            program=program,
            level=self._level,
            exit_code=ended if ended >= 0 else None,
            signal=-ended if ended < 0 else None,
            recorded=recorded._replace(findings=findings),
        )


def _are_written(asked: Asked, found: CheckRun, whole: CheckRun) -> bool:
    """Write the requested files: findings, and a baseline of all findings."""
    from omptool.render.exchange import check_sarif

    baseline = asked.write_baseline
    written = [
        not asked.sarif or write_text(asked.sarif, check_sarif.log(found)),
        not asked.json or write_text(asked.json, check_run.as_json(found)),
        not baseline or is_written(baseline, lambda: baselines.write(baseline, whole.rows())),
    ]
    return all(written)


def _baseline(path: Path) -> Baseline:
    """Return the findings that are known, or end before the program starts."""
    try:
        return Baseline(path)
    except (PackagerError, OSError) as error:
        fail(f"{path}: {getattr(error, 'strerror', None) or error}", CANNOT_WRITE)
