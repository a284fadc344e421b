# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`--check[=LEVEL]`, `--check-error`, `--check-sarif` and `--check-json`: the runtime's checker."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

import click

from omptool.errors import fail
from omptool.options import baselines
from omptool.options.paths import FILE, as_given, check_distinct
from packager.errors import UsageError
from packager.records import NamedTuple

LEVELS = ("events", "full")
CHECK = "--check"
PROCESS = "%p"


class Asked(NamedTuple):
    """The requests of a user to the checker."""

    level: str | None  # None: none
    is_error_fatal: bool
    sarif: Path | None
    json: Path | None
    baseline: Path | None = None
    write_baseline: Path | None = None

    def given(self) -> list[str]:
        """Return the options that need a level."""
        _, *values = self
        names = ("--check-error", "--check-sarif", "--check-json", "--baseline", "--write-baseline")
        return [name for name, value in zip(names, values, strict=True) if value]


class _CheckOption(click.Option):
    """A flag that may have a level behind "="."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the option as it is written, and its help."""
        record = super().get_help_record(ctx)
        return (f"{CHECK}[=full]", record[1]) if record else None


_OPTIONS = (
    click.option(
        CHECK, "check", cls=_CheckOption, is_flag=True, help="Look for mistakes of mapping."
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


def without_level(
    words: Sequence[str], options: Iterable[click.Parameter]
) -> tuple[list[str], str | None]:
    """Return the words with --check for each --check=LEVEL, and the last level.

    A flag of click's has nothing behind it, and an option with a value takes the next word: PROG.
    """
    valued = {name for one in options if _has_value(one) for name in one.opts}
    rest = list(words)
    level = None
    at = 0
    while at < len(rest) and rest[at].startswith("-") and rest[at] not in ("-", "--"):
        name, is_given, value = rest[at].partition("=")
        if name == CHECK:
            level = value if is_given else LEVELS[0]
            rest[at] = CHECK
        at += 2 if name in valued and not is_given else 1
    return rest, level


def _has_value(option: click.Parameter) -> bool:
    return isinstance(option, click.Option) and not option.is_flag and not option.count


def checking(asked: Asked, code: int) -> Asked | None:
    """Return what is asked of the checker, with the files that it means; None: nothing.

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
    found = asked._replace(sarif=_named(asked.sarif), json=_named(asked.json))
    outputs = {
        "--check-sarif": found.sarif,
        "--check-json": found.json,
        "--write-baseline": found.write_baseline,
    }
    written = {option: path for option, path in outputs.items() if path}
    for option, path in written.items():
        _check_place(option, path, code)
    try:
        check_distinct(list(written.values()), [])
    except UsageError as error:
        fail(str(error), code)
    return found


def _named(path: Path | None) -> Path | None:
    """Return the file's path with the number of this process for %p."""
    return Path(as_given(path).replace(PROCESS, str(os.getpid()))) if path else None


def _check_place(option: str, path: Path, code: int) -> None:
    """Fail unless a file can be written there: the program may run for hours."""
    from packager.files.replacing import check_place

    folder = path.absolute().parent
    if not folder.is_dir():
        fail(f"{option} {path}: there is no folder {folder}", code)
    try:
        check_place(path)
    except UsageError as error:
        fail(f"{option}: {error}", code)
