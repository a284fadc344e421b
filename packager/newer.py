# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recognise files of compilers that are newer than this omptool."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from packager.generations import NEWEST, is_newer, named
from packager.model import DeviceImage, FatBinary, Severity
from packager.records import NamedTuple

ENTRY_VERSION = 1  # version of records that have one
UNKNOWN_CALLS = (
    "its calls may have a version that omptool does not know, and such regions run on the host"
)
CURE = f"update omptool, or compile with clang {NEWEST.last_release} or older"


class Newer(NamedTuple):
    """A finding about a newer compiler."""

    sentence: str
    severity: Severity  # "warning": it may have compiled parts without device code alone
    is_ignored: bool  # the runtime reads nothing of the library, whatever its calls are


def newer_compiler(binary: FatBinary) -> Newer | None:
    """Return the traces of an unknown compiler in the file; None if there are none."""
    if not any(named(table.abi) for table in binary.tables):
        return None
    of_images = {n for image in binary.images for n in image.contents.clangs}
    of_host = set(binary.clangs)
    newest = max(of_images | of_host, default=0)
    is_named = is_newer(newest)
    version = max((table.version for table in binary.tables if named(table.abi)), default=0)
    containers = [image for image in binary.images if _is_unknown(image)]
    marks = list(_marks(version, containers, binary.map_bits))
    if marks:
        clang = f"clang {newest}" if is_named else f"a compiler after clang {NEWEST.last_release}"
        sentence = f"{clang} wrote {', '.join(marks)}, which omptool does not know"
        is_ignored = version > ENTRY_VERSION or any(image.is_wrapped for image in containers)
        return Newer(sentence, "error", is_ignored)
    if not is_named:
        return None
    numbers = [str(i.index) for i in binary.images if any(map(is_newer, i.contents.clangs))]
    what = f"image {', '.join(numbers)}" if numbers else "parts of the host"
    sentence = f"clang {newest} compiled {what}: {UNKNOWN_CALLS}"
    is_certain = bool(numbers) or not of_images & of_host
    return Newer(sentence, "error" if is_certain else "warning", False)


def _is_unknown(image: DeviceImage) -> bool:
    return image.container_version > NEWEST.container_version


def _marks(version: int, containers: Sequence[DeviceImage], map_bits: int) -> Iterator[str]:
    if version > ENTRY_VERSION:
        yield f"entries of version {version}"
    if containers:
        yield f"an OffloadBinary of version {max(image.container_version for image in containers)}"
    if map_bits:
        yield f"map-type bits {map_bits:#x}"
