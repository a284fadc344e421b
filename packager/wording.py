# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Phrases that several modules share."""

from __future__ import annotations

from collections.abc import Iterable


def counted(number: int, one: str) -> str:
    """Return a number and the word for what is counted: "1 entry", "2 entries", "0 devices"."""
    if number == 1:
        return f"1 {one}"
    return f"{number} {one[:-1]}ies" if one.endswith("ry") else f"{number} {one}s"


def there_are(number: int, one: str) -> str:
    """Return that so many are there: "there is 1 device", "there are 2 devices"."""
    return f"there {'is' if number == 1 else 'are'} {counted(number, one)}"


def runs(numbers: Iterable[int]) -> str:
    """Return numbers as ranges: "0-2, 7"."""
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ", ".join(f"{first}-{last}" if first < last else f"{first}" for first, last in found)
