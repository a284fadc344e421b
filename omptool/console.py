# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Print text and names from files on terminals of any encoding."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path

import click

from packager.files.names import text
from packager.files.reader import called

# Number of characters printed at a time.
PIECE = 1 << 16
SEVERITIES = {"error": "red", "warning": "yellow", "info": "cyan", "note": "cyan", "hint": "cyan"}


def echo_pieces(pieces: Iterable[str]) -> None:
    """Print text that comes in many pieces, and a newline; all its characters are ASCII."""
    held: list[str] = []
    length = 0
    for piece in pieces:
        held.append(piece)
        length += len(piece)
        if length >= PIECE:
            click.echo("".join(held), nl=False)
            held, length = [], 0
    click.echo("".join(held))


def echo(line: str, *, err: bool = False) -> None:
    """Print `line`; characters that the stream cannot encode are escaped, not an error."""
    stream = sys.stderr if err else sys.stdout
    encoding = stream.encoding or "utf-8"
    if err:
        head, colon, rest = line.partition(": ")
        line = f"{coloured(head, SEVERITIES.get(head.lower()), err=True)}{colon}{rest}"
    click.echo(line.encode(encoding, "backslashreplace").decode(encoding), err=err)


def coloured(text: str, colour: str | None, *, err: bool = False) -> str:
    """Return `text` in a colour, if one is given and colours are on (terminal, or --color)."""
    return click.style(text, fg=colour) if colour and _has_colours(err) else text


def _has_colours(err: bool) -> bool:
    context = click.get_current_context(silent=True)
    if context is not None and context.color is not None:
        return context.color
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return not is_plain and (sys.stderr if err else sys.stdout).isatty()


def portable(path: Path | str) -> str:
    """Return a file name that JSON can hold: bytes that are not UTF-8 are escaped."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def shown(path: Path | str) -> str:
    """Return a file name that is safe to print."""
    return text(os.fsencode(called(path)))
