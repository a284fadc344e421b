# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The options that select images and kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, get_args

import click

from omptool.options.completing import triples
from packager.model import ImageKind

Command = TypeVar("Command", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--triple",
        "triples",
        multiple=True,
        metavar="T",
        help="Images for triple T.",
        shell_complete=triples,
    ),
    click.option("--arch", "archs", multiple=True, metavar="A", help="Images for processor A."),
    click.option(
        "--kind",
        "kinds",
        multiple=True,
        type=click.Choice(get_args(ImageKind)),
        help="Images of a kind, by their bytes.",
    ),
    click.option(
        "--kernel",
        "patterns",
        multiple=True,
        metavar="PATTERN",
        help="Kernels with PATTERN in a name that a command shows; * stands for anything.",
    ),
)


def wanted_options(command: Command) -> Command:
    """Add --triple, --arch, --kind and --kernel, each repeatable."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
