# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options by which `verify` is a gate of a build: an earlier build, a budget, a baseline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

import click

from omptool.options import baselines
from omptool.options.paths import FILE, INPUT
from packager.records import NamedTuple

WORDS = ("removed", "added", "changed")


class Gating(NamedTuple):
    """The requests of a user for gates: options of `verify`."""

    against: Path | None = None
    fail_on: tuple[str, ...] = ()
    budget: Path | None = None
    write_budget: Path | None = None
    baseline: Path | None = None
    write_baseline: Path | None = None

    def expect_sense(self, files: Sequence[Path]) -> None:
        """Raise UsageError for options that make no sense together, or with these files."""
        if self.fail_on and not self.against:
            raise click.UsageError("--fail-on needs --against.")
        if self.baseline and self.write_baseline:
            raise click.UsageError("--baseline and --write-baseline exclude each other.")
        of_one = {
            "--against": self.against,
            "--budget": self.budget,
            "--write-budget": self.write_budget,
        }
        for option, value in of_one.items():
            if value and len(files) != 1:
                raise click.UsageError(f"{option} takes exactly one FILE.")

    @property
    def asks_for_kernels(self) -> bool:
        """Return whether the resources of kernels are needed."""
        return bool(self.against or self.budget or self.write_budget)


_OPTIONS = (
    click.option(
        "--against", type=INPUT, metavar="OLD", help="Also exit 1 if FILE lost what OLD has."
    ),
    click.option(
        "--fail-on",
        multiple=True,
        type=click.Choice(WORDS),
        help="With --against: kernels and images that make it exit 1 (repeatable).",
    ),
    click.option(
        "--budget", type=FILE, metavar="TOML", help="Also exit 1 if FILE exceeds its limits."
    ),
    click.option(
        "--write-budget", type=FILE, metavar="TOML", help="Write what FILE needs as a budget."
    ),
    *baselines.OPTIONS,
)


def gating_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command; their values come as one Gating."""

    @wraps(command)
    def gathered(**options: Any) -> Any:
        mine = {name: options.pop(name) for name in Gating._fields}
        return command(gating=Gating(**mine), **options)

    for option in reversed(_OPTIONS):
        gathered = option(gathered)
    return gathered
