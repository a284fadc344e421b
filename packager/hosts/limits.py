# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Record the limits that stopped reading; parts read before stay."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from packager.errors import LimitError

Found = TypeVar("Found")
Other = TypeVar("Other")


class Limits:
    """Those of one file."""

    def __init__(self) -> None:
        self._met: dict[str, None] = {}

    @property
    def met(self) -> tuple[str, ...]:
        """Return the messages of the limits, in order."""
        return tuple(self._met)

    @contextmanager
    def noted(self) -> Iterator[None]:
        """End the block at a limit, and record the limit. Reading goes on after the block."""
        try:
            yield
        except LimitError as error:
            self._met[str(error)] = None

    def of(self, read: Callable[[], Found], otherwise: Other) -> Found | Other:
        """Return the result of a pass, or `otherwise` if it exceeds a limit."""
        with self.noted():
            return read()
        return otherwise
