# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The functions of a bitcode module that `nvvm.annotations` calls kernels.

Metadata is numbered in the order of its records, strings first. A node is a list of these numbers,
each plus 1; an annotation has a function, and then names and values by turns.
"""

from __future__ import annotations

from collections.abc import Iterator

from packager.errors import FormatError
from packager.files.reader import Reader
from packager.formats.device_images.bitcode.bitstream import Block, Cursor, Record, Stream, items

VALUE, NODE, NAME, NAMED_NODE, STRINGS = 2, 3, 4, 10, 35
# Metadata records that have no number: names, kinds, attachments, offset of the index, index,
# lists.
UNNUMBERED = (NAME, 6, NAMED_NODE, 36, 38, 39, 46)
ANNOTATIONS, KERNEL = "nvvm.annotations", b"kernel"
MAX_STRINGS = 1 << 20
LENGTH_WIDTH = 6  # bits of a group of a string's length


def annotated_kernels(stream: Stream, block: Block) -> Iterator[int]:
    """Yield the numbers of annotated functions. Raises FormatError for a malformed block."""
    nodes: dict[int, list[int]] = {}
    values: dict[int, int] = {}
    named: set[int] = set()
    annotations: list[int] = []
    count, name = 0, ""
    for record in items(stream, block):
        if not isinstance(record, Record):
            continue
        if record.code == STRINGS:
            count, named = _strings(record)
            continue
        if record.code == NAME:
            name = record.text()
        elif record.code == NAMED_NODE and name == ANNOTATIONS:
            annotations = record.operands
        elif record.code == NODE:
            nodes[count] = record.operands
        elif record.code == VALUE and len(record.operands) > 1:
            values[count] = record.operands[1]
        count += record.code not in UNNUMBERED
    for number in annotations:
        function, *rest = nodes.get(number) or [0]
        if function - 1 in values and any(key - 1 in named for key in rest[::2]):
            yield values[function - 1]


def _strings(record: Record) -> tuple[int, set[int]]:
    """Return the number of strings, and the indices of "kernel" among them."""
    if len(record.operands) < 2 or record.blob is None:
        raise FormatError("bitcode has strings of metadata without their bytes")
    count, offset = record.operands[:2]
    if count > MAX_STRINGS:
        raise FormatError(f"bitcode has {count} strings of metadata")
    lengths = Cursor(Stream(_part(record.blob, 0, offset)), 0, offset * 8)
    texts = _part(record.blob, offset, len(record.blob) - offset).bytes()
    found: set[int] = set()
    at = 0
    for number in range(count):
        size = lengths.variable(LENGTH_WIDTH)
        if texts[at : at + size] == KERNEL:
            found.add(number)
        at += size
    return count, found


def _part(data: Reader, start: int, size: int) -> Reader:
    return data.slice(start, size, "strings of bitcode's metadata")
