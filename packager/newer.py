"""Compilers that came after this omptool: how a file shows that one of them made it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from packager.generations import NEWEST, is_newer, named
from packager.model import FatBinary

ENTRY_VERSION = 1  # of the records that have one
CURE = f"update omptool, or compile with clang {NEWEST.last_release} or older"


class Newer(NamedTuple):
    """A finding about a newer compiler."""

    sentence: str
    is_certain: bool  # False: it may have compiled parts without device code alone


def newer_compiler(binary: FatBinary) -> Newer | None:
    """Return what a compiler that is not known wrote of the file; None if nothing shows one."""
    if not any(named(table.abi) for table in binary.tables):
        return None
    of_images = {n for image in binary.images for n in image.contents.clangs}
    of_host = set(binary.clangs)
    newest = max(of_images | of_host, default=0)
    is_named = is_newer(newest)
    marks = ", ".join(_marks(binary))
    if marks:
        clang = f"clang {newest}" if is_named else f"a compiler after clang {NEWEST.last_release}"
        return Newer(f"{clang} wrote {marks}, which omptool does not know", True)
    if not is_named:
        return None
    numbers = [str(i.index) for i in binary.images if any(map(is_newer, i.contents.clangs))]
    what = f"image {', '.join(numbers)}" if numbers else "parts of the host"
    calls = f"omptool does not know what it writes since clang {NEWEST.last_release}"
    is_certain = bool(numbers) or not of_images & of_host
    return Newer(f"clang {newest} compiled {what}: {calls}", is_certain)


def _marks(binary: FatBinary) -> Iterator[str]:
    for table in binary.tables:
        if named(table.abi) and table.version > ENTRY_VERSION:
            yield f"entries of version {table.version}"
    version = max((image.container_version for image in binary.images), default=0)
    if version > NEWEST.container_version:
        yield f"an OffloadBinary of version {version}"
    if binary.map_bits:
        yield f"map-type bits {binary.map_bits:#x}"
