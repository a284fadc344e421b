# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Device images that clang embeds in a host's module of LLVM bitcode (-flto), as constants."""

from __future__ import annotations

from collections.abc import Iterator

from packager.files.reader import Reader
from packager.formats.containers import nested, offload_binary
from packager.formats.containers.payload import Damage, Payload
from packager.formats.device_images.bitcode.bitstream import Block, Record, items, outermost
from packager.formats.device_images.bitcode.module import MODULE

CONSTANTS = 11  # a block of a module
STRING = 8  # a record there: an array of bytes that holds a NUL, eight bits each
IN_BITS = "bitcode"  # a compression: the constant's bytes begin within a byte of the file


def images(data: Reader) -> Iterator[Payload | Damage]:
    """Yield the images of OffloadBinaries in the host's module in `data`, and the damaged ones.

    Raises FormatError if the module is malformed.
    """
    stream, whole = outermost(data)
    stream.few_bytes = 0
    for module in items(stream, whole):
        if not isinstance(module, Block) or module.number != MODULE:
            continue
        for constants in items(stream, module):
            if isinstance(constants, Block) and constants.number == CONSTANTS:
                for record in items(stream, constants):
                    yield from _of(record)


def _of(record: Block | Record) -> Iterator[Payload | Damage]:
    if not isinstance(record, Record) or record.code != STRING:
        return
    held, stored = record.blob, record.stored
    if held is None or stored is None or not offload_binary.probe(held):
        return
    for item in nested.payloads(offload_binary.parse, held):
        if isinstance(item, Damage):
            yield item
        else:
            yield item._replace(stored=stored, compression=IN_BITS, unit=stored.at, place=None)
