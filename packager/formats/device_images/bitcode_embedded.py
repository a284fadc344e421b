"""Device images that clang has put into a host's module of LLVM bitcode (-flto), as constants."""

from __future__ import annotations

from collections.abc import Iterator

from packager.files.reader import Reader
from packager.formats.containers import offload_binary
from packager.formats.containers.payload import Payload
from packager.formats.device_images.bitcode import MAGIC, MODULE
from packager.formats.device_images.bitstream import (
    TOP_WIDTH,
    WORD,
    Block,
    Record,
    Stream,
    items,
)

CONSTANTS = 11  # a block of a module
STRING = 8  # a record there: an array of bytes that holds a NUL, eight bits each


def images(data: Reader) -> Iterator[Payload]:
    """The images of the OffloadBinaries in the host module in `data`.

    Raises FormatError when it, or one of them, is malformed.
    """
    stream = Stream(data)
    whole = Block(-1, TOP_WIDTH, len(MAGIC) * 8, len(data) // 4 * WORD)
    for module in items(stream, whole):
        if not isinstance(module, Block) or module.number != MODULE:
            continue
        for constants in items(stream, module):
            if isinstance(constants, Block) and constants.number == CONSTANTS:
                for record in items(stream, constants):
                    yield from _of(record)


def _of(record: Block | Record) -> Iterator[Payload]:
    if not isinstance(record, Record) or record.code != STRING:
        return
    held = record.blob or Reader(bytes(value & 0xFF for value in record.operands))
    if offload_binary.probe(held):
        yield from offload_binary.parse(held)
