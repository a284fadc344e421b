# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`.ldata` of NVIDIA's cuBLASLt: cubins as bare frames of zstd, between data of other kinds.

No table of them is known, so the section is searched for frames that inflate to a cubin. In other
programs it holds the data of the large code model.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct

from packager.elf import headers
from packager.elf.headers import Section
from packager.errors import FormatError, LimitError
from packager.files.reader import Reader
from packager.formats.compressed.inflate import ZSTD_MAGIC, zstd_pieces
from packager.formats.containers import zstd_frame
from packager.formats.containers.cuda_fatbin import TRIPLE
from packager.formats.containers.payload import Payload

NAME = "large-data"
SECTION = ".ldata"
MAGIC = ZSTD_MAGIC.to_bytes(4, "little")
MAX_FRAMES = 1 << 16
ELF = Struct("<4s14xH")  # magic, machine
CUDA = 190


def claims(section: Section) -> bool:
    """Return whether a section may hold frames."""
    return section.name == SECTION


def parse_section(_: Section, data: Reader) -> Iterator[Payload]:
    """Yield the cubins of a section; all else in it is passed over."""
    end = found = 0
    for at in _magics(data):
        if at < end:
            continue  # the match is inside a frame
        found += 1
        if found > MAX_FRAMES:
            raise LimitError(f"more than {MAX_FRAMES} zstd frames in section {SECTION}")
        frame = _frame(data.slice(at, len(data) - at, "zstd frame"))
        if frame:
            stored, size = frame
            end = at + len(stored)
            from packager.formats.compressed.images import Begun  # slow to load

            image = Begun(stored, "zstd", size, "compressed CUDA image", is_text=False).finished()
            yield Payload(
                image,
                TRIPLE,
                compression="zstd",
                stored=stored,
                producer="cuda",
                unit=stored.at,
            )


def _magics(data: Reader) -> Iterator[int]:
    """Yield where the magic of a frame is."""
    rest, start = b"", 0
    for piece in data.pieces():
        block = rest + piece
        at = block.find(MAGIC)
        while at >= 0:
            yield start - len(rest) + at
            at = block.find(MAGIC, at + 1)
        start += len(piece)
        rest = block[1 - len(MAGIC) :]


def _frame(rest: Reader) -> tuple[Reader, int] | None:
    """Return the frame that `rest` begins with and its inflated size, if a cubin is in it."""
    try:
        frame = zstd_frame.measure(rest)
        stored = rest.slice(0, frame.stored, "zstd frame")
        head = next(filter(None, zstd_pieces(stored, "zstd frame")), b"")  # the first may be empty
    except FormatError:
        return None  # bytes that look like the magic
    is_cubin = len(head) >= headers.HEADER.size and ELF.unpack_from(head) == (b"\x7fELF", CUDA)
    return (stored, frame.inflated) if is_cubin else None
