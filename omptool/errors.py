# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Turn errors into one line on stderr and the documented exit code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import click

from omptool.console import echo
from packager.errors import PackagerError, UsageError
from packager.files.names import text
from packager.files.reader import called


def fail(message: str, exit_code: int) -> NoReturn:
    """End the command with "Error: MESSAGE" on stderr: one line, whatever names are in it."""
    echo(f"Error: {text(message.encode('utf-8', 'surrogateescape'))}", err=True)
    raise click.exceptions.Exit(exit_code)


def fail_with(error: PackagerError) -> NoReturn:
    """End the command with the error, after the name of its file if known."""
    subject = getattr(error, "subject", None)
    fail(f"{subject}: {error}" if subject else str(error), error.exit_code)


@contextmanager
def reported(subject: object) -> Iterator[None]:
    """Report errors of the block as "Error: SUBJECT: what"; OSError too, as exit code 2.

    Print after the block: an error of the output is no fault of the subject.
    """
    if isinstance(subject, Path):
        subject = called(subject)
    try:
        yield
    except PackagerError as error:
        if isinstance(error, UsageError) and error.subject:
            subject = called(error.subject)
        fail(f"{subject}: {error}", error.exit_code)
    except OSError as error:
        fail(f"{subject}: {error.strerror or error}", 2)
