# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The option --color, of commands that print tables and findings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

WHEN = {"auto": None, "always": True, "never": False}


def colour_option(command: Command) -> Command:
    """Add --color, which click's context keeps."""
    return click.option(
        "--color",
        type=click.Choice(list(WHEN)),
        expose_value=False,
        callback=_kept,
        help="Colour states and severities (default: auto, on a terminal without NO_COLOR).",
    )(command)


def _kept(ctx: click.Context, _param: click.Parameter, value: str | None) -> None:
    if value is not None:
        ctx.color = WHEN[value]
