# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Read zip files (Python's wheels): local headers with their bytes, a directory at the end.

The directory has the place of each file (APPNOTE 6.3). Files are stored or deflated; numbers of
4 GiB and more are in Zip64 fields.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from struct import Struct

from packager.errors import FormatError, LimitError
from packager.files.reader import Reader
from packager.formats.compressed.streams import deflated
from packager.formats.containers.payload import Damage
from packager.formats.packages import EMPTY_ZIP, ZIP_FILE
from packager.formats.packages.packed import MAX_FILES, MAX_NAME, Packed, Stream
from packager.records import NamedTuple

LOCAL = Struct("<4s5H3I2H")
ENTRY = Struct("<4s6H3I5H2I")
END = Struct("<4s4H2IH")
END_64 = Struct("<4sQ2H2I4Q")
LOCATOR_64 = Struct("<4sIQI")
FIELD = Struct("<2H")
ENTRY_MAGIC, END_64_MAGIC, LOCATOR_64_MAGIC = b"PK\x01\x02", b"PK\x06\x06", b"PK\x06\x07"
MAX_COMMENT = (1 << 16) - 1
ZIP_64, IN_ZIP_64, SHORT_IN_ZIP_64 = 1, 0xFFFFFFFF, 0xFFFF
STORED, DEFLATED = 0, 8
ENCRYPTED = 1 | 1 << 6 | 1 << 13
UNIX, FILE_TYPE, REGULAR = 3, 0o170000, (0, 0o100000)


class _Entry(NamedTuple):
    """A file's row in the directory."""

    name: str
    flags: int
    method: int
    checksum: int
    stored: int
    size: int
    local: int  # offset of the file's own header
    is_regular: bool


def files(data: Reader) -> Iterator[Packed]:
    """Yield the regular files, in the order of the directory.

    Raises FormatError where the directory is damaged, LimitError where files overlap.
    """
    taken = 0
    for entry in _entries(data, *_directory(data)):
        if not entry.is_regular or not entry.size:
            continue
        taken += entry.stored
        if taken > len(data):
            raise LimitError(
                f"its files overlap: they have {taken} bytes, and the zip file {len(data)}"
            )
        try:
            yield Packed(entry.name, _data(data, entry), entry.local)
        except FormatError as error:
            yield Packed(entry.name, Damage(str(error)), entry.local)


def _directory(data: Reader) -> tuple[Reader, int]:
    """Return the directory, and how many files it has."""
    at = _end(data)
    _, disk, first, _, count, size, start, _ = data.unpack(END, at, "end of the zip file")
    is_large = IN_ZIP_64 in (size, start) or count == SHORT_IN_ZIP_64
    if is_large and at >= LOCATOR_64.size:
        magic, _, place, _ = data.unpack(LOCATOR_64, at - LOCATOR_64.size, "Zip64 locator")
        if magic == LOCATOR_64_MAGIC:
            end = data.unpack(END_64, place, "Zip64 end of the zip file")
            if end[0] != END_64_MAGIC:
                raise FormatError(f"Zip64 end of the zip file is not at {place:#x}")
            disk, first, count, size, start = end[4], end[5], end[7], end[8], end[9]
    if disk or first:
        raise FormatError("is one of several parts of a zip file")
    if count > MAX_FILES:
        raise LimitError(f"it has {count} files; more than {MAX_FILES} are not read")
    return data.slice(start, size, "directory of the zip file"), count


def _end(data: Reader) -> int:
    """Return where the record at the end is: behind it there is but a comment."""
    start = max(0, len(data) - END.size - MAX_COMMENT)
    tail = data.bytes(start, what="end of the zip file")
    at = len(tail) - END.size
    while (at := tail.rfind(EMPTY_ZIP, 0, at + len(EMPTY_ZIP))) >= 0:
        if at + END.size + END.unpack_from(tail, at)[-1] == len(tail):
            return start + at
        at -= 1
    raise FormatError("is a zip file that is cut off: its directory is not at the end")


def _entries(data: Reader, directory: Reader, count: int) -> Iterator[_Entry]:
    at = 0
    for _ in range(count):
        fields = directory.unpack(ENTRY, at, "directory of the zip file")
        if fields[0] != ENTRY_MAGIC:
            raise FormatError(f"directory of the zip file has no entry at {directory.at + at:#x}")
        made_by, flags, method = fields[1], fields[3], fields[4]
        checksum, stored, size, length, extra, comment = fields[7:13]
        attributes, local = fields[15:17]
        at += ENTRY.size
        if length > MAX_NAME:
            raise FormatError(f"name at {directory.at + at:#x} is longer than {MAX_NAME} bytes")
        name = directory.bytes(at, length, "name of a file")
        more = directory.bytes(at + length, extra, "extra fields of a file")
        size, stored, local = _in_zip_64(more, size, stored, local)
        at += length + extra + comment
        kind = attributes >> 16 & FILE_TYPE if made_by >> 8 == UNIX else 0
        is_regular = kind in REGULAR and not name.endswith(b"/")
        yield _Entry(
            data.context.string(name), flags, method, checksum, stored, size, local, is_regular
        )


def _in_zip_64(extra: bytes, *numbers: int) -> list[int]:
    """Return the numbers, with those that exceed 32 bits from the Zip64 field."""
    found, at = list(numbers), 0
    while at + FIELD.size <= len(extra):
        tag, size = FIELD.unpack_from(extra, at)
        at += FIELD.size
        if tag == ZIP_64:
            value = extra[at : at + size]
            for index, number in enumerate(numbers):
                if number == IN_ZIP_64 and len(value) >= 8:
                    found[index], value = int.from_bytes(value[:8], "little"), value[8:]
        at += size
    return found


def _data(data: Reader, entry: _Entry) -> Reader | Stream:
    if entry.flags & ENCRYPTED:
        raise FormatError("is encrypted")
    local = data.unpack(LOCAL, entry.local, "header of a file")
    if local[0] != ZIP_FILE:
        raise FormatError(f"its header is not at {data.at + entry.local:#x}")
    start = entry.local + LOCAL.size + local[-2] + local[-1]
    stored = data.slice(start, entry.stored, "bytes of a file")
    if entry.method == STORED:
        if entry.stored != entry.size:
            raise FormatError(f"has {entry.stored} bytes, not the {entry.size} that it claims")
        return stored
    if entry.method != DEFLATED:
        raise FormatError(f"is compressed by method {entry.method}; known: {DEFLATED} (deflate)")
    return Stream(entry.size, lambda: _inflated(stored, entry), stored)


def _inflated(stored: Reader, entry: _Entry) -> Iterator[bytes]:
    checksum = 0
    for piece in deflated(stored, entry.size, f"deflated data at {stored.at:#x}"):
        checksum = zlib.crc32(piece, checksum)
        yield piece
    if checksum != entry.checksum:
        raise FormatError(f"has the checksum {checksum:#x}, not {entry.checksum:#x}")
