"""Printing what files say on terminals of any encoding."""

from __future__ import annotations

import sys

import click


def echo(text: str, *, err: bool = False) -> None:
    """Print `text`; characters that the stream cannot encode are escaped, not an error."""
    stream = sys.stderr if err else sys.stdout
    encoding = stream.encoding or "utf-8"
    click.echo(text.encode(encoding, "backslashreplace").decode(encoding), err=err)
