"""Turns packager's errors into one line on stderr and the documented exit code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from packager.errors import PackagerError


class Failure(click.ClickException):
    """One line, "Error: ...", and an exit code."""

    exit_code: int  # click's is a class variable

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


@contextmanager
def reported(subject: object) -> Iterator[None]:
    """Report errors of the block as "Error: SUBJECT: what"; OSError too, as exit code 2."""
    try:
        yield
    except PackagerError as error:
        raise Failure(f"{subject}: {error}", error.exit_code) from error
    except OSError as error:
        raise Failure(f"{subject}: {error.strerror or error}", 2) from error
