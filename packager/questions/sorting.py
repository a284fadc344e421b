# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sort images and kernels by a column: numbers in descending order, words by alphabet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from packager.model import DeviceImage, DeviceSymbol, Resources
from packager.naming.demangle import demangled
from packager.patterns import pattern
from packager.questions.kernels import Kernel

Item = TypeVar("Item")
Key = Callable[[Item], Any]
_NUMBER = pattern(r"(\d+)")


def natural(words: str) -> list[tuple[int, str]]:
    """Return a sort key that orders sm_90 before sm_100."""
    parts = _NUMBER.split(words)
    return [(int(part), "") if part.isdecimal() else (0, part) for part in parts]


def stored(image: DeviceImage) -> int:
    """Return the bytes that an image takes in the file."""
    return image.size if image.stored_size is None else image.stored_size


def spills(needs: Resources) -> int | None:
    """Return the number of register spills; None if the image does not record it."""
    said = [n for n in (needs.vector_spills, needs.scalar_spills) if n is not None]
    return sum(said) if said else None


def code_size(kernel: DeviceSymbol) -> int | None:
    """Return the size of a kernel's code; None if unknown."""
    return kernel.code[1] if kernel.code else None


def _most(number: Callable[[DeviceSymbol], int | None]) -> Key[Kernel]:
    def key(kernel: Kernel) -> Any:
        return -max((number(symbol) or 0 for _, symbol in kernel.symbols), default=0)

    return key


def _need(number: Callable[[Resources], int | None]) -> Key[Kernel]:
    return _most(lambda symbol: number(symbol.resources) if symbol.resources else None)


IMAGES: Mapping[str, Key[DeviceImage]] = {
    "size": lambda image: -image.size,
    "stored": lambda image: -stored(image),
    "arch": lambda image: natural(image.processor),
}
KERNELS: Mapping[str, Key[Kernel]] = {
    "name": lambda kernel: demangled(kernel.name),
    "registers": _need(lambda needs: needs.registers),
    "shared": _need(lambda needs: needs.shared),
    "stack": _need(lambda needs: needs.stack),
    "spills": _need(spills),
    "code": _most(code_size),
}
COLUMNS = (*IMAGES, *KERNELS)


def in_order(
    items: Iterable[Item], keys: Mapping[str, Key[Item]], column: str | None
) -> list[Item]:
    """Sort items by a column; keep their order if they have no such column."""
    key = keys.get(column or "")
    return sorted(items, key=key) if key else list(items)
