# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Find the functions that a kernel reaches through calls, directly or not."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

Place = TypeVar("Place", bound=Hashable)  # key of a function
Code = TypeVar("Code")

MAX_FUNCTIONS = 256


def reached(
    kernels: Iterable[Place], function: Callable[[Place], tuple[Code, Iterable[Place]]]
) -> tuple[Code, ...]:
    """Return the code of `kernels` and of all functions that they reach, in the order of calls.

    `function` returns the code of a function, and the functions of the same object that it calls.
    """
    pending = list(kernels)
    seen = set(pending)
    found: list[Code] = []
    while pending and len(found) < MAX_FUNCTIONS:
        code, called = function(pending.pop(0))
        found.append(code)
        for one in called:
            if one not in seen:
                seen.add(one)
                pending.append(one)
    return tuple(found)
