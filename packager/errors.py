# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The exceptions of packager, one class for each documented exit code of the command line."""

from __future__ import annotations

import errno
from pathlib import Path

# Errors of a write that would occur under any name of the file.
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class PackagerError(Exception):
    """Base of all errors raised on purpose; the message is one line for the user."""

    exit_code = 2


class FormatError(PackagerError):
    """A file is malformed: the message names the place and the fault. Exit code 2.

    `resume` is the file offset after the malformed part, if it is known.
    """

    def __init__(self, message: str, resume: int | None = None) -> None:
        super().__init__(message)
        self.resume = resume


class LimitError(PackagerError):
    """A file exceeds a limit of omptool, and reading stops there. Exit code 2.

    The parts read before stay valid.
    """


class UsageError(PackagerError):
    """The request itself is wrong: an unknown triple, two images for one target. Exit code 2.

    `subject` is the file at fault, if it is not the input.
    """

    def __init__(self, message: str, subject: Path | None = None) -> None:
        super().__init__(message)
        self.subject = subject


class FindingError(PackagerError):
    """A check found a fault in a result, so the result is not kept. Exit code 1."""

    exit_code = 1


class MissingToolError(PackagerError):
    """Something this machine lacks is needed: a linker, a library, a device. Exit code 3."""

    exit_code = 3
