# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compute how different two colours look to people with colour blindness.

Matrices: Machado, Oliveira, Fernandes, "A Physiologically-based Model for Simulation of Color
Vision Deficiency", 2009, full severity. Differences are CIE76.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

VISIONS: dict[str, Sequence[Sequence[float]]] = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
TO_XYZ = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
WHITE = (0.9505, 1.0, 1.089)


def difference(one: Sequence[int], other: Sequence[int], vision: str) -> float:
    """Return the distance of two colours of sRGB in L*a*b*."""
    return math.dist(_lab(one, VISIONS[vision]), _lab(other, VISIONS[vision]))


def _lab(colour: Sequence[int], matrix: Sequence[Sequence[float]]) -> tuple[float, float, float]:
    seen = _times(matrix, [_linear(value / 255) for value in colour])
    x, y, z = map(_root, _times(TO_XYZ, seen), WHITE)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def _times(matrix: Sequence[Sequence[float]], vector: Sequence[float]) -> list[float]:
    return [sum(map(float.__mul__, map(float, row), vector)) for row in matrix]


def _linear(value: float) -> float:
    return value / 12.92 if value <= 0.04045 else float(((value + 0.055) / 1.055) ** 2.4)


def _root(value: float, white: float) -> float:
    part = value / white
    return max(part, 0.0) ** (1 / 3) if part > 0.008856 else 7.787 * part + 16 / 116
