# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The common base of reports on a program that has ended."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from omptool.console import echo
from packager.errors import PackagerError

# Exit codes for errors of the checker, and for an unwritable file (DECISIONS 18).
FOUND_ERROR, CANNOT_WRITE = 124, 125


class Report(Protocol):
    """A report on a program: it needs an environment, and is made when the program has ended."""

    environment: Mapping[str, str]

    def conclude(self, ended: int) -> int | None:
        """Print or write the report, and return its exit code, if any.

        `ended` is the program's exit code, or minus the signal that ended it.
        """


def is_written(path: Path, write: Callable[[], object]) -> bool:
    """Write a file. Return False, after a line, where that fails."""
    try:
        write()
    except (PackagerError, OSError) as error:
        why = f"cannot write: {error.strerror}" if isinstance(error, OSError) else str(error)
        say(f"Error: {path}: {why}")
        return False
    return True


def write_text(path: Path, document: str) -> bool:
    """Write a document, as `is_written` does."""
    from packager.files.replacing import replacing

    def write() -> None:
        with replacing(path) as temporary:
            temporary.write_text(f"{document}\n", encoding="utf-8")

    return is_written(path, write)


def say(line: str) -> None:
    """Print a line; ignore a closed stream, because the program's end counts."""
    with suppress(OSError):
        echo(line, err=True)


def private_folder() -> Path:
    """Make a folder for this user only. Raises OSError if that fails."""
    import tempfile

    return Path(tempfile.mkdtemp(prefix=f"omptool-{os.getpid()}-"))
