# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Notes below tables: what a cell would say at length, each once."""

from __future__ import annotations

import textwrap

WIDTH = 100
# Shorter reasons stay in their sentences.
LONG = 24


class Notes:
    """Sentences with numbers, in the order in which tables refer to them."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._shown = 0

    def mark(self, text: str | None) -> str | None:
        """Return what stands in a cell for `text`: "[1]"; None for nothing."""
        if not text:
            return None
        number = self._numbers.setdefault(self.shortened(text), len(self._numbers) + 1)
        return f"[{number}]"

    def shortened(self, text: str) -> str:
        """Return `text` with numbers in place of the notes that are part of it."""
        for note, number in self._numbers.items():
            if len(note) >= LONG and note != text:
                text = text.replace(note, f"[{number}]")
        return text

    def lines(self) -> list[str]:
        """Return the notes that came since the last call, wrapped."""
        new = list(self._numbers.items())[self._shown :]
        self._shown = len(self._numbers)
        return [_wrapped(f"[{number}] ", note) for note, number in new]


def _wrapped(mark: str, note: str) -> str:
    return textwrap.fill(
        note,
        WIDTH,
        initial_indent=mark,
        subsequent_indent=" " * len(mark),
        break_long_words=False,
        break_on_hyphens=False,
    )
