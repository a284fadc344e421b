# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Wheels: files with device code are slimmed, RECORD is rewritten, other members are unchanged.

A wheel is a zip file with a table RECORD of names, hashes and sizes ("Recording installed
projects" and "Binary distribution format" of the Python packaging specifications).
"""

from __future__ import annotations

import copy
import shutil
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from struct import Struct, error
from typing import IO
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from packager.errors import FormatError, LimitError
from packager.slimming.packages.members import LONGEST, PIECE, Members, may_have_code, pieces
from packager.slimming.packages.record import (
    MOST,
    Hashed,
    hashed,
    is_record,
    is_signature,
    rewritten,
)
from packager.slimming.slimmed import SignedError, Slimmed, Slimmer

LOCAL = Struct("<4s5H3I2H")
FIELD = Struct("<2H")
ENCRYPTED, DESCRIPTOR = 1, 8  # flags: the second one moves sizes behind the bytes
ZIP_64 = 1
DAMAGED = (BadZipFile, zlib.error, NotImplementedError, EOFError)
LARGE = 1 << 31  # smallest size written in Zip64's fields


def slim_wheel(path: Path, out: Path, folder: Path, slim: Slimmer) -> list[Slimmed]:
    """Write `path` to `out`, its files slimmed; return what was done to those with device code.

    `folder` is empty, with room for the largest file twice. Raises FormatError if the wheel is
    damaged or signed, LimitError if its files inflate to more than the limits.
    """
    members = Members(str(path), folder, slim)
    with _opened(path) as source:
        _expect_sound(source, path.stat().st_size)
        with out.open("wb") as file, ZipFile(file, "w", allowZip64=True) as target:
            target.comment = source.comment
            _copy_all(source, target, members)
    return members.slimmed


def _expect_sound(source: ZipFile, size: int) -> None:
    """Raise FormatError for files that are signed, encrypted, outside, or not one by one."""
    taken = sum(info.compress_size for info in source.infolist())
    if taken > size:
        raise FormatError(f"its files overlap: they have {taken} bytes, and the zip file {size}")
    seen: set[str] = set()
    for info in source.infolist():
        name = info.filename
        if is_signature(name):
            raise SignedError(name)
        if info.flag_bits & ENCRYPTED:
            raise FormatError(f"has the encrypted file {name}: its files stay as they are")
        if not 0 <= info.header_offset < size:
            raise FormatError(f"{name} is at {info.header_offset:#x}, outside of the zip file")
        if name in seen:
            raise FormatError(f"has two files {name}: its files stay as they are")
        if is_record(name) and info.file_size > MOST:
            raise LimitError(f"{name} has {info.file_size} bytes, and the limit is {MOST}")
        seen.add(name)


@contextmanager
def _opened(path: Path) -> Iterator[ZipFile]:
    try:
        source = ZipFile(path)
    except (*DAMAGED, ValueError, error) as fault:  # a name that is not text, fields cut off
        raise FormatError(f"is a damaged zip file: {fault}") from fault
    try:
        with source:
            yield source
    except DAMAGED as fault:
        raise FormatError(f"is a damaged zip file: {fault}") from fault


def _copy_all(source: ZipFile, target: ZipFile, members: Members) -> None:
    """Copy the members in their order. RECORD's bytes come last, as hashes are known only then."""
    changed: dict[str, Hashed] = {}
    records: list[tuple[int, ZipInfo]] = []
    for number, info in enumerate(source.infolist()):
        if is_record(info.filename):
            records.append((number, info))
            continue
        result = _slimmed(source, info, members)
        if result is None:
            _copy(source, target, info)
        else:
            changed[info.filename] = hashed(result)
            with result.open("rb") as file, _member(target, info, result.stat().st_size) as out:
                shutil.copyfileobj(file, out, PIECE)
    for number, info in records:
        with _member(target, info, info.file_size) as out:
            out.write(rewritten(source.read(info), changed))
        target.filelist.insert(number, target.filelist.pop())


def _slimmed(source: ZipFile, info: ZipInfo, members: Members) -> Path | None:
    if info.is_dir():
        return None
    if info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        members.leave(info.filename, info.file_size, f"method {info.compress_type} compresses it")
        return None
    with source.open(info) as file:
        beginning = file.read(LONGEST)
        if not may_have_code(beginning):
            return None
        content = pieces(beginning, file)
        return members.slim(info.filename, info.compress_size, info.file_size, content)


def _member(target: ZipFile, info: ZipInfo, size: int) -> IO[bytes]:
    made = ZipInfo(info.filename, info.date_time)
    made.compress_type = info.compress_type
    made.external_attr, made.create_system = info.external_attr, info.create_system
    made.comment, made.extra = info.comment, _without_zip_64(info.extra)
    made.internal_attr = info.internal_attr
    made.file_size = size
    return target.open(made, "w", force_zip64=size >= LARGE)


def _copy(source: ZipFile, target: ZipFile, info: ZipInfo) -> None:
    """Copy the stored bytes of a member."""
    read, write = source.fp, target.fp
    assert read is not None
    assert write is not None
    read.seek(info.header_offset)
    header = read.read(LOCAL.size)
    if len(header) < LOCAL.size:
        raise FormatError(f"{info.filename}: its header at {info.header_offset:#x} is cut off")
    fields = LOCAL.unpack(header)
    read.seek(fields[-2] + fields[-1], 1)
    made = copy.copy(info)
    made.header_offset = write.tell()
    made.flag_bits &= ~DESCRIPTOR
    made.extra = _without_zip_64(info.extra)
    write.write(made.FileHeader(max(info.file_size, info.compress_size) >= LARGE))
    left = info.compress_size
    while left:
        piece = read.read(min(left, PIECE))
        if not piece:
            raise FormatError(f"{info.filename}: its bytes are cut off")
        write.write(piece)
        left -= len(piece)
    target.filelist.append(made)
    target.NameToInfo[made.filename] = made
    target.start_dir = write.tell()


def _without_zip_64(extra: bytes) -> bytes:
    """Return the extra fields without Zip64's sizes, which are written anew."""
    kept, at = b"", 0
    while at + FIELD.size <= len(extra):
        tag, size = FIELD.unpack_from(extra, at)
        end = at + FIELD.size + size
        if tag != ZIP_64:
            kept += extra[at:end]
        at = end
    return kept + extra[at:]
