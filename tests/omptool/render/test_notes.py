# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Notes below tables have each sentence once."""

from __future__ import annotations

import pytest

from omptool.render.notes import WIDTH, Notes
from packager.wording import counted, there_are

LONG = "host: the image is for another machine than this one"


def test_a_sentence_has_one_number() -> None:
    notes = Notes()
    assert [notes.mark(text) for text in ("a", "b", "a", "", None)] == [
        "[1]",
        "[2]",
        "[1]",
        None,
        None,
    ]
    assert notes.lines() == ["[1] a", "[2] b"]
    assert notes.lines() == []


def test_a_note_that_is_part_of_another_is_not_repeated() -> None:
    notes = Notes()
    notes.mark(LONG)
    assert notes.mark(f"there is no device: {LONG}") == "[2]"
    assert notes.lines()[1] == "[2] there is no device: [1]"
    assert notes.shortened(f"image 0: {LONG}") == "image 0: [1]"


def test_long_notes_are_wrapped() -> None:
    notes = Notes()
    notes.mark("word " * 100)
    (text,) = notes.lines()
    lines = text.splitlines()
    assert all(len(line) <= WIDTH for line in lines)
    assert all(line.startswith("    word") for line in lines[1:])


@pytest.mark.parametrize(
    ("number", "one", "expected"),
    [
        (0, "device", "0 devices"),
        (1, "device", "1 device"),
        (2, "entry", "2 entries"),
        (1, "entry", "1 entry"),
        (3, "set", "3 sets"),
    ],
)
def test_counts_have_the_right_word(number: int, one: str, expected: str) -> None:
    assert counted(number, one) == expected
    assert there_are(number, one) == f"there {'is' if number == 1 else 'are'} {expected}"
