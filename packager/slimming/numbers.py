# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The places in containers and tables of the images that `dump` numbers."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence

from packager.errors import FormatError
from packager.model import DeviceImage, FatBinary
from packager.records import NamedTuple
from packager.slimming.containers.found import HOST, Found
from packager.slimming.request import TABLES
from packager.slimming.tables.found import Table


class Place(NamedTuple):
    """An image of a file, as a request names it."""

    container: int  # offset of the container, or TABLES
    number: int


def places(
    binary: FatBinary, wanted: Collection[int], containers: Sequence[Found], tables: Sequence[Table]
) -> Mapping[int, Place]:
    """Return the known places by number of the wanted images, and of others in their containers.

    An image in a nested container has the place of the container that is rewritten.
    """
    found = dict(_in_tables(binary, tables))
    stored = sorted((image.offset, image.index) for image in binary.images)
    for container in containers:
        begin = bisect_left(stored, (container.data.at,))
        end = bisect_left(stored, (container.data.at + container.padded,))
        images = [binary.images[index] for index in sorted(n for _, n in stored[begin:end])]
        if not any(image.index in wanted for image in images):
            continue
        for image, number in _in_container(container, images):
            found[image.index] = Place(container.data.at, number)
    return found


def _in_container(
    container: Found, images: Sequence[DeviceImage]
) -> Iterator[tuple[DeviceImage, int]]:
    try:
        held = container.kind.images(container.data)
    except FormatError:
        return  # whoever rewrites it says what is wrong with it
    rows = [n for n, one in enumerate(held) if one.image.code != HOST]
    if [held[n].image.arch for n in rows] == [image.arch for image in images]:
        yield from zip(images, rows, strict=True)
        return
    starts = sorted((held[n].data.at, n) for n in rows)
    for image in images:
        if image.offset == container.data.at:
            continue  # all are compressed together, and what is inside has no offset of its own
        at = bisect_right(starts, (image.offset, len(held))) - 1
        inside = image.offset - starts[at][0] if at >= 0 else -1
        if 0 <= inside < len(held[starts[at][1]].data):
            yield image, starts[at][1]


def _in_tables(binary: FatBinary, tables: Sequence[Table]) -> Iterator[tuple[int, Place]]:
    placed = sorted((i.address, i.index) for i in binary.images if i.address is not None)
    number = 0
    for table in tables:
        for row in table.rows:
            first = bisect_left(placed, (row.start,))
            last = bisect_left(placed, (row.start + len(row.data),))
            inside = [index for _, index in placed[first:last]]
            if len(inside) == len(row.images):
                for n, index in enumerate(inside, number):
                    yield index, Place(TABLES, n)
            number += len(row.images)
