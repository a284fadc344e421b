# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Flags that may have a level: `--check` and `--check=full`, `--summary` and `--summary=all`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import click


class Leveled(click.Option):
    """A flag with an optional level after "=".

    click's flags have no value, and its options with a value would take the next word: PROG.
    """

    def __init__(self, *args: Any, usual: str, more: str, **how: Any) -> None:
        super().__init__(*args, **{**how, "is_flag": True})
        self.usual = usual
        self._more = more

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the option as it is written, and its help."""
        record = super().get_help_record(ctx)
        return (f"{self.opts[0]}[={self._more}]", record[1]) if record else None


def without_levels(
    words: Sequence[str], options: Iterable[click.Parameter]
) -> tuple[list[str], dict[str, str | None]]:
    """Return the words with --check for each --check=LEVEL, and the last level of each flag."""
    known = list(options)
    valued = {name for one in known if _has_value(one) for name in one.opts}
    flags = {one.opts[0]: one for one in known if isinstance(one, Leveled)}
    levels: dict[str, str | None] = dict.fromkeys((one.name or "" for one in flags.values()), None)
    rest = list(words)
    at = 0
    while at < len(rest) and rest[at].startswith("-") and rest[at] not in ("-", "--"):
        name, is_given, value = rest[at].partition("=")
        if flag := flags.get(name):
            levels[flag.name or ""] = value if is_given else flag.usual
            rest[at] = name
        at += 2 if name in valued and not is_given else 1
    return rest, levels


def _has_value(option: click.Parameter) -> bool:
    return isinstance(option, click.Option) and not option.is_flag and not option.count
