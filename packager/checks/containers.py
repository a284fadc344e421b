# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Check that the containers of device images could be read whole."""

from __future__ import annotations

from collections.abc import Iterator

from packager.model import FatBinary, Finding
from packager.records import NamedTuple

HINT = "build or copy the file again; `omptool dump` shows what is left"


def malformed(binary: FatBinary) -> Iterator[Finding]:
    """A container of device images that is malformed, beside others that are not.

    Its magic, version, sizes, offsets, strings or checksum do not fit its format. It was cut off,
    overwritten or damaged by a tool that moved bytes, has an unknown version, or is nested deeper
    than any tool does. Or two parts of the file, images or tables of entries, share bytes, so one
    of them has a wrong place or size. The runtime loses the images in it, and LLVM's tools may
    crash on it. The rest of the file is still checked. A file of which nothing can be read is no
    finding, but exit code 2.

    Cure: build the file again, or copy it again from a sound copy.
    """
    for fault in binary.faults:
        yield Finding("OMP111", "error", fault, HINT)
    for message in _overlaps(_parts(binary)):
        yield Finding("OMP111", "error", message, HINT)


class _Part(NamedTuple):
    """Bytes of the file."""

    start: int
    end: int
    name: str


def _parts(binary: FatBinary) -> list[_Part]:
    """Return the images and tables with their ranges; images compressed together are one part."""
    found: dict[tuple[int, int], _Part] = {}
    for image in binary.images:
        size = image.size if image.stored_size is None else image.stored_size
        span = (image.offset, image.offset + size)
        found.setdefault(span, _Part(*span, f"image {image.index}"))
    for table in binary.tables:
        span = (table.offset, table.offset + table.size)
        found[span] = _Part(*span, table.name)
    return sorted(part for part in found.values() if part.start < part.end)


def _overlaps(parts: list[_Part]) -> Iterator[str]:
    """Yield a message for each part that begins before an earlier one ends."""
    longest = parts[0] if parts else None
    for part in parts[1:]:
        if longest and part.start < longest.end:
            yield (
                f"{longest.name} at {longest.start:#x}..{longest.end:#x} and {part.name} at "
                f"{part.start:#x}..{part.end:#x} share bytes of the file"
            )
        longest = part if longest is None or part.end > longest.end else longest
