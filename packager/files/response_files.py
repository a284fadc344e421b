# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Read response files: arguments of a command in @FILE, in the syntax of GNU's tools."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from packager.errors import UsageError
from packager.files.portable import is_file

MAX_NESTING = 16


def opened(words: Sequence[str], depth: int = 0) -> Iterator[str]:
    """Yield the words, with the contents of FILE in place of @FILE if that file exists.

    Raises UsageError if the file cannot be read.
    """
    for word in words:
        path = Path(word[1:])
        if not word.startswith("@") or not is_file(path):
            yield word
            continue
        if depth == MAX_NESTING:
            raise UsageError(f"more than {MAX_NESTING} response files name each other", path)
        try:
            text = os.fsdecode(path.read_bytes())
            if "\0" in text:
                raise ValueError("it has a null byte")
            yield from opened(shlex.split(text), depth + 1)
        except (OSError, ValueError) as error:
            raise UsageError(f"cannot be read as a response file: {error}", path) from error
