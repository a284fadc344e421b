# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`--summary[=all]`, `--summary-json` and `--timeline`: reports on a program that has ended."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from omptool.errors import fail
from omptool.options.levels import Leveled
from omptool.options.paths import FILE, check_distinct, check_output, of_process
from packager.errors import UsageError
from packager.records import NamedTuple

SUMMARY = "--summary"
# Values of OMPTOOL_SUMMARY by level.
SUMMARIES = {"some": "1", "all": "all"}


class Reports(NamedTuple):
    """The reports that the user requested."""

    summary: str | None  # a key of SUMMARIES; None: none
    summary_json: Path | None
    timeline: Path | None

    def files(self) -> dict[str, Path]:
        """Return the files that are written when the program has ended, by option."""
        given = {"--summary-json": self.summary_json, "--timeline": self.timeline}
        return {option: path for option, path in given.items() if path}

    def environment(self) -> dict[str, str]:
        """Return the environment with which the runtime writes tables."""
        return {"OMPTOOL_SUMMARY": SUMMARIES[self.summary]} if self.summary else {}


_OPTIONS = (
    click.option(
        SUMMARY,
        cls=Leveled,
        usual="some",
        more="all",
        help="At the end, print tables of regions and copies (default: 20 rows each).",
    ),
    click.option(
        "--summary-json", type=FILE, metavar="FILE", help="Write the sums to FILE, as JSON."
    ),
    click.option(
        "--timeline", type=FILE, metavar="FILE", help="Write a page of what ran to FILE, as HTML."
    ),
)


def report_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command; their values come as one, which `reporting` checks."""

    @wraps(command)
    def gathered(
        summary: str | None, summary_json: Path | None, timeline: Path | None, **others: Any
    ) -> Any:
        return command(reports=Reports(summary, summary_json, timeline), **others)

    for option in reversed(_OPTIONS):
        gathered = option(gathered)
    return gathered


def reporting(asked: Reports, others: list[Path], code: int) -> Reports:
    """Return the requested reports with their files; end with `code` for wrong usage.

    `others` are further outputs of the command.
    """
    if asked.summary is not None and asked.summary not in SUMMARIES:
        fail(f"{SUMMARY}={asked.summary}: is no choice of rows; known choices: all", code)
    found = asked._replace(
        summary_json=of_process(asked.summary_json), timeline=of_process(asked.timeline)
    )
    for option, path in found.files().items():
        check_output(option, path, code)
    try:
        check_distinct([*found.files().values(), *others], [])
    except UsageError as error:
        fail(str(error), code)
    return found
