"""Kernels of one name in several objects of a program: the linker keeps one of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from packager.errors import FormatError
from packager.files.reader import open_input
from packager.model import FatBinary, Finding

HINT = "rename one: clang's names hold the source file, not the flags that it was compiled with"
MAX_CODE = 1 << 24


class Place(NamedTuple):
    """Where the code of a kernel is."""

    file: str
    offset: int
    size: int


def collisions(earlier: Sequence[FatBinary], binary: FatBinary) -> Iterator[Finding]:
    """OMP108 between objects: kernels that one of `earlier` has, with other code.

    Copies with equal code are what templates and inline functions make, and no finding. Nor are
    kernels of images that the linker does not join: each of CUDA's or HIP's objects has its own.
    """
    if binary.type != "object":
        return
    own = _kernels(binary)
    for other in earlier:
        if other.type != "object" or other.path == binary.path:
            continue
        for target, kernels in _kernels(other).items():
            for name, place in kernels.items():
                mine = own.get(target, {}).get(name)
                if mine and _differ(_code(mine), _code(place)):
                    message = f"{name} is in {other.path}, too, and has other code for {target}"
                    message += ": one of them is dropped at the link"
                    yield Finding("OMP108", "error", message, HINT)


def _kernels(binary: FatBinary) -> dict[str, dict[str, Place]]:
    """By target and name."""
    found: dict[str, dict[str, Place]] = {}
    joined = {index for table in binary.tables for index in table.images}
    for image in (image for image in binary.images if image.index in joined):
        path = binary.file or binary.path
        for symbol in image.symbols:
            if symbol.code and image.compression is None:
                kernels = found.setdefault(image.target, {})
                kernels[symbol.name] = Place(path, *symbol.code)
    return found


def _differ(one: bytes | None, other: bytes | None) -> bool:
    return one is not None and other is not None and one != other


def _code(place: Place) -> bytes | None:
    """The instructions; None of what can no longer be read, which collides with nothing."""
    if place.size > MAX_CODE:
        return None
    try:
        with open_input(Path(place.file)) as data:
            return data.bytes(place.offset, place.size, "code of a kernel")
    except FormatError:
        return None
