# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`--check[=LEVEL]`, `--check-error`, `--check-sarif` and `--check-json`: the runtime's checker."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from omptool.errors import fail
from omptool.options import baselines
from omptool.options.levels import Leveled
from omptool.options.paths import FILE, check_distinct, check_output, of_process
from packager.errors import UsageError
from packager.records import NamedTuple

LEVELS = ("events", "full")
CHECK = "--check"


class Asked(NamedTuple):
    """The requests of a user to the checker."""

    level: str | None  # None: no checking
    is_error_fatal: bool
    sarif: Path | None
    json: Path | None
    baseline: Path | None = None
    write_baseline: Path | None = None

    def files(self) -> list[Path]:
        """Return the files that are written when the program has ended."""
        return [path for path in (self.sarif, self.json, self.write_baseline) if path]

    def given(self) -> list[str]:
        """Return the options that need a level."""
        _, *values = self
        names = ("--check-error", "--check-sarif", "--check-json", "--baseline", "--write-baseline")
        return [name for name, value in zip(names, values, strict=True) if value]


_OPTIONS = (
    click.option(
        CHECK,
        "check",
        cls=Leveled,
        usual=LEVELS[0],
        more=LEVELS[1],
        help="Look for mistakes of mapping.",
    ),
    click.option("--check-error", is_flag=True, help="Exit with 124 if there is an error."),
    click.option(
        "--check-sarif", type=FILE, metavar="FILE", help="Write the findings to FILE, as SARIF."
    ),
    click.option(
        "--check-json", type=FILE, metavar="FILE", help="Write the findings to FILE, as JSON."
    ),
    *baselines.OPTIONS,
)


def check_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command; their values come as one, which `checking` checks."""

    @wraps(command)
    def gathered(
        check: str | None,
        check_error: bool,
        check_sarif: Path | None,
        check_json: Path | None,
        baseline: Path | None,
        write_baseline: Path | None,
        **others: Any,
    ) -> Any:
        files = check_sarif, check_json, baseline, write_baseline
        return command(asked=Asked(check, check_error, *files), **others)

    for option in reversed(_OPTIONS):
        gathered = option(gathered)
    return gathered


def checking(asked: Asked, code: int) -> Asked | None:
    """Return the checker's settings with absolute files, or None if it is off.

    `code` is the exit code for wrong usage, and for files that cannot be written.
    """
    if asked.level is None:
        for option in asked.given():
            fail(f"{option}: give --check as well", code)
        return None
    if asked.level not in LEVELS:
        fail(f"{CHECK}={asked.level}: is no level; known levels: {', '.join(LEVELS)}", code)
    if asked.baseline and asked.write_baseline:
        fail("--baseline and --write-baseline exclude each other", code)
    found = asked._replace(sarif=of_process(asked.sarif), json=of_process(asked.json))
    outputs = {
        "--check-sarif": found.sarif,
        "--check-json": found.json,
        "--write-baseline": found.write_baseline,
    }
    written = {option: path for option, path in outputs.items() if path}
    for option, path in written.items():
        check_output(option, path, code)
    try:
        check_distinct(list(written.values()), [])
    except UsageError as error:
        fail(str(error), code)
    return found
