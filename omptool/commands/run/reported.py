# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Running a program to its end, and reporting on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

from omptool.commands.run.report import CANNOT_WRITE, Report
from omptool.errors import fail
from omptool.options.checking import Asked
from omptool.options.reporting import Reports
from omptool.probes.launching import NOT_EXECUTABLE, Start, why_not
from omptool.probes.watching import watched
from packager.errors import PackagerError


def run(
    start: Start,
    starting: Callable[[Start], Start],
    check: Asked | None,
    reports: Reports,
    trace: Path | None,
) -> int:
    """Run a program, make its reports, and return the exit code, or minus its signal.

    `starting` returns the command of a start, such as a debugger's. A fault of a report has
    priority over the program's own code, and an unwritable file over errors of the checker.
    """
    program = start.words[0]
    with ExitStack() as stack:
        opened: list[Report] = []
        try:
            opened += (stack.enter_context(one) for one in _reports(start, check, reports, trace))
        except (PackagerError, OSError) as error:
            why = getattr(error, "strerror", None) or error
            fail(f"{program}: {why}", CANNOT_WRITE)
        wanted = {name: value for one in opened for name, value in one.environment.items()}
        try:
            environment = {**start.environment, **wanted}
            ended = watched(starting(start._replace(environment=environment)))
        except OSError as error:
            fail(f"{program}: {why_not(start.file, error)}", NOT_EXECUTABLE)
        codes = [code for one in opened if (code := one.conclude(ended)) is not None]
        return max(codes, default=ended)


def _reports(
    start: Start, check: Asked | None, reports: Reports, trace: Path | None
) -> Iterator[AbstractContextManager[Report]]:
    """Yield the requested reports."""
    if reports.timeline:
        from omptool.commands.run import paged

        yield paged.made(reports.timeline, trace, start.words[0])
    if reports.summary_json:
        from omptool.commands.run import summarised

        yield summarised.made(reports.summary_json, start.words[0])
    if check:
        from omptool.commands.run import checked

        yield checked.made(start, check)
