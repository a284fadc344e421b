# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Collect notes below tables, each text once."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

WIDTH = 100  # width of notes outside a terminal
# Length from which a reason becomes a note.
LONG = 24
ABOVE = "see the first line"


class Notes:
    """Sentences with numbers, in the order in which tables refer to them.

    `first` is the first line of a report. `causes` are clauses in parentheses of its sentences:
    each of them stands in the report once, at its first place.
    """

    def __init__(
        self, first: str = "", causes: Iterable[str] = (), width: int | None = None
    ) -> None:
        self._width = width or WIDTH
        self._first = first
        self._causes = [cause for cause in dict.fromkeys(causes) if len(cause) >= LONG]
        self._told = {cause: f"({ABOVE})" for cause in self._causes if cause in first}
        self._numbers: dict[str, int] = {}
        self._shown = 0

    def mark(self, text: str | None) -> str | None:
        """Return the cell for `text`: "[1]"; None for no text."""
        if not text:
            return None
        short = self.said(text)
        number = self._numbers.setdefault(short, len(self._numbers) + 1)
        for cause in self._causes:
            if cause in short:
                self._told.setdefault(cause, f"[{number}]")
        return f"[{number}]"

    def said(self, text: str) -> str:
        """Return `text` like `shortened`, or only a reference if the first line contains it all."""
        return ABOVE if len(text) >= LONG and text in self._first else self.shortened(text)

    def shortened(self, text: str) -> str:
        """Return `text` with references to notes in place of text that the report has already."""
        if text in self._numbers:
            return text
        for note, number in self._numbers.items():
            if len(note) >= LONG:
                text = text.replace(note, f"[{number}]")
        for cause, place in self._told.items():
            text = text.replace(cause, place)
        return text

    def lines(self) -> list[str]:
        """Return the notes that came since the last call, wrapped."""
        new = list(self._numbers.items())[self._shown :]
        self._shown = len(self._numbers)
        return [_wrapped(f"[{number}] ", note, self._width) for note, number in new]


def _wrapped(mark: str, note: str, width: int) -> str:
    return textwrap.fill(
        note,
        width,
        initial_indent=mark,
        subsequent_indent=" " * len(mark),
        break_long_words=False,
        break_on_hyphens=False,
    )
