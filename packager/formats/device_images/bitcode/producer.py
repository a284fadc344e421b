# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Read the LLVM release that wrote a bitcode file, from its identification block."""

from __future__ import annotations

from packager.files.reader import Reader
from packager.formats.device_images.bitcode import magic
from packager.formats.device_images.bitcode.bitstream import Block, Record, items, outermost
from packager.patterns import pattern

IDENTIFICATION, STRING = 13, 1  # a block, and its record of the producer: "LLVM19.1.7"
PRODUCER = pattern(r"(?:APPLE_\w+|LLVM)(\d+)\.")
Release = str  # "19"; "": not said


def release(data: Reader) -> Release:
    """Return the release; "" if the file does not record it. Raises FormatError."""
    if not magic.probe(data):
        return ""
    stream, whole = outermost(data)
    for block in items(stream, whole):
        if not isinstance(block, Block) or block.number != IDENTIFICATION:
            return ""
        for record in items(stream, block):
            if isinstance(record, Record) and record.code == STRING:
                found = PRODUCER.match(record.text())
                return found[1] if found else ""
    return ""
