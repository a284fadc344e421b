"""How several modules say one thing."""

from __future__ import annotations

from collections.abc import Iterable


def runs(numbers: Iterable[int]) -> str:
    """Numbers, with neighbours as one: "0-2, 7"."""
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ", ".join(f"{first}-{last}" if first < last else f"{first}" for first, last in found)
