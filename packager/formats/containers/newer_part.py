# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A sound part of a container, of a format that came after this omptool."""

from __future__ import annotations

from packager.errors import FormatError
from packager.files.reader import Reader


class NewerError(FormatError):
    """`part` of a file is of a format that came after this omptool, and its sizes are sound.

    `version` is that of the container, if it is one of OpenMP's.
    """

    def __init__(
        self, message: str, part: Reader, resume: int | None = None, version: int = 0
    ) -> None:
        super().__init__(message, resume)
        self.part = part
        self.version = version
