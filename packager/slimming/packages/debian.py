# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Debian packages: files of data.tar slimmed, their md5sums and the installed size rewritten.

A package is an archive of "debian-binary", control.tar and data.tar, each of which may be
compressed (deb(5)). Both are written with the compression that they have.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import re
import shutil
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO, cast

from packager.errors import FormatError, LimitError
from packager.files.reader import Reader, open_reader
from packager.formats.compressed.streams import stream
from packager.formats.containers import archive
from packager.formats.packages.debian import DATA, METHODS
from packager.formats.packages.tar_stream import MAX_RECORD
from packager.slimming.packages.members import LONGEST, PIECE, Members, may_have_code, pieces
from packager.slimming.slimmed import SignedError, Slimmed, Slimmer

CONTROL, SUMS, DESCRIPTION = "control.tar", "md5sums", "control"
SIGNATURE = "_gpg"  # how the names of debsigs' members begin
INSTALLED = re.compile(rb"^(Installed-Size:[ \t]*)\d+", re.MULTILINE)
KIBIBYTE = 1024
MOST_CONTROL = 1 << 26  # bytes of md5sums: the largest packages have some MiB
NAMES = (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)
OF_OTHERS = (
    *(tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE),
    tarfile.GNUTYPE_SPARSE,
)
LEVELS = {"gzip": 9, "zstd": 19, "bzip2": 9, "xz": 6}  # dpkg-deb's


class _Data:
    """Keeps the sums of changed files and the installed size while data.tar is written."""

    def __init__(self) -> None:
        self.sums: dict[str, str] = {}  # sums of changed files, by name
        self.blocks = 0  # KiB, as dpkg-gencontrol counts them

    def link(self, info: tarfile.TarInfo) -> None:
        """Note another name of a file that is in front of it."""
        name, first = (one.removeprefix("./") for one in (info.name, info.linkname))
        if first in self.sums:
            self.sums[name] = self.sums[first]

    def count(self, info: tarfile.TarInfo) -> None:
        """Count a file: its size in KiB, rounded up, at least 1."""
        if info.isreg() or info.issym():
            size = len(info.linkname) if info.issym() else info.size
            self.blocks += -(-size // KIBIBYTE)
        elif not info.islnk():
            self.blocks += 1


def slim_debian(path: Path, out: Path, folder: Path, slim: Slimmer) -> list[Slimmed]:
    """Write `path` to `out`, its files slimmed; return what was done to those with device code.

    `folder` is empty, with room for the largest file twice, and for data.tar. Nothing is written if
    no file changes. Raises FormatError if the package is damaged, SignedError if it is signed,
    LimitError if its files inflate to more than the limits.
    """
    members = Members(str(path), folder, slim)
    with open_reader(path) as data:
        parts = list(archive.members(data))
        for part in parts:
            if part.name.startswith(SIGNATURE):
                raise SignedError(part.name)
        found, control = (_part(parts, name) for name in (DATA, CONTROL))
        if not _changes(found, members):  # compressing a large package takes minutes
            return members.slimmed
        members, done = Members(str(path), folder, slim), _Data()
        new = {found: folder / "data", control: folder / "control"}
        with new[found].open("wb") as file:
            _slim_tar(found, file, members, done)
        with new[control].open("wb") as file:
            _write_control(control, file, done)
        with out.open("wb") as file:
            _assemble(data, parts, new, file)
    return members.slimmed


def _part(parts: list[archive.Member], name: str) -> archive.Member:
    for part in parts:
        if part.name.startswith(name) and part.name.removeprefix(name) in METHODS:
            return part
    known = ", ".join(f"{name}{ending}" for ending in METHODS)
    raise FormatError(f"is a Debian package without {name}; known names: {known}")


def _changes(part: archive.Member, members: Members) -> bool:
    """Return whether any file of data.tar changes; read no further than the first such file."""
    with _read(part) as source:
        for info in source:
            stored = source.extractfile(info) if info.isreg() else None
            beginning = stored.read(LONGEST) if stored else b""
            if stored and may_have_code(beginning):
                content = pieces(beginning, stored)
                name = info.name.removeprefix("./")
                if members.slim(name, info.size, info.size, content) is not None:
                    return True
    return False


def _slim_tar(part: archive.Member, out: BinaryIO, members: Members, done: _Data) -> None:
    with _read(part) as source, _written(out, _method(part)) as target:
        for info in source:
            done.count(info)
            if info.islnk():
                done.link(info)
            stored = source.extractfile(info) if info.isreg() else None
            if stored is None:
                target.addfile(info)
                continue
            beginning = stored.read(LONGEST)
            content = pieces(beginning, stored)
            if may_have_code(beginning):
                _slim_file(info, content, target, members, done)
            else:
                target.addfile(info, cast("IO[bytes]", _Pieces(content)))


def _slim_file(
    info: tarfile.TarInfo,
    content: Iterator[bytes],
    target: tarfile.TarFile,
    members: Members,
    done: _Data,
) -> None:
    result = members.slim(info.name.removeprefix("./"), info.size, info.size, content)
    if result is not None:
        done.blocks -= -(-info.size // KIBIBYTE)
        info.size = result.stat().st_size
        done.count(info)
        done.sums[info.name.removeprefix("./")] = _md5(result)
    with (result or members.source).open("rb") as file:
        target.addfile(info, file)


def _assemble(
    data: Reader, parts: list[archive.Member], new: Mapping[archive.Member, Path], out: BinaryIO
) -> None:
    out.write(archive.MAGIC)
    for part in parts:
        content = _bytes_of(part)
        header = data.bytes(content.at - data.at - archive.HEADER.size, archive.HEADER.size)
        if part in new:
            with new[part].open("rb") as file:
                _add(out, header, file, new[part].stat().st_size)
        else:
            _add(out, header, cast("BinaryIO", _Pieces(content.pieces())), len(content))


def _add(out: BinaryIO, header: bytes, content: BinaryIO, size: int) -> None:
    """Write a member: its header with the new size, and a byte behind an odd one."""
    fields = list(archive.HEADER.unpack(header))
    fields[-2] = str(size).encode().ljust(len(fields[-2]))
    out.write(archive.HEADER.pack(*fields))
    shutil.copyfileobj(content, out, PIECE)
    out.write(b"\n" * (size % 2))


def _bytes_of(part: archive.Member) -> Reader:
    if part.data is None:
        raise FormatError("is a thin archive, and no Debian package")
    return part.data


def _write_control(part: archive.Member, out: BinaryIO, done: _Data) -> None:
    """Write control.tar with the sums of changed files and the new installed size."""
    with _read(part) as source, _written(out, _method(part)) as target:
        for info in source:
            stored = source.extractfile(info) if info.isreg() else None
            name = info.name.removeprefix("./")
            if stored is None or name not in (SUMS, DESCRIPTION):
                target.addfile(info, stored)
                continue
            if info.size > MOST_CONTROL:
                limit = f"the limit is {MOST_CONTROL}"
                raise LimitError(f"{part.name}: {name} has {info.size} bytes, and {limit}")
            content = stored.read()
            if name == SUMS:
                content = b"".join(_summed(line, done) for line in content.splitlines(True))
            else:
                content = INSTALLED.sub(rb"\g<1>%d" % done.blocks, content)
            info.size = len(content)
            target.addfile(info, io.BytesIO(content))


def _summed(line: bytes, done: _Data) -> bytes:
    """Return a line of md5sums: the sum, two spaces, and a path from the root."""
    _, gap, name = line.partition(b"  ")
    found = done.sums.get(name.strip(b"\n").decode(errors="surrogateescape"))
    return line if found is None else found.encode() + gap + name


def _md5(path: Path) -> str:
    digest = hashlib.md5(usedforsecurity=False)
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            digest.update(piece)
    return digest.hexdigest()


def _method(part: archive.Member) -> str:
    return METHODS[part.name[part.name.index(".tar") + len(".tar") :]]


class _Header(tarfile.TarInfo):
    """A header that dpkg reads, too: its records are names alone, and short."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> _Header:
        """Return the header in a block of the tar. Raises FormatError for a malformed one."""
        found = super().frombuf(buf, encoding, errors)
        if found.type in NAMES and found.size > MAX_RECORD:
            raise FormatError(f"header of {found.name} claims a name of {found.size} bytes")
        if found.type in OF_OTHERS or found.size < 0:
            raise FormatError(f"header of {found.name} in the tar is none of a Debian package's")
        return found


@contextmanager
def _read(part: archive.Member) -> Iterator[tarfile.TarFile]:
    inflated = cast("IO[bytes]", _Pieces(stream(_bytes_of(part), _method(part), part.name)))
    try:
        with tarfile.open(fileobj=inflated, mode="r|", errorlevel=2, tarinfo=_Header) as source:
            yield source
    except (tarfile.TarError, ValueError, OverflowError, RecursionError) as error:
        raise FormatError(f"{part.name} is damaged: {error}") from error
    except OSError as error:
        if error.errno is not None:
            raise
        raise FormatError(f"{part.name} is damaged: {error}") from error  # a truncated part


@contextmanager
def _written(out: BinaryIO, method: str) -> Iterator[tarfile.TarFile]:
    with (
        _compressed(out, method) as file,
        tarfile.open(fileobj=file, mode="w|", format=tarfile.GNU_FORMAT) as target,
    ):
        yield target


@contextmanager
def _compressed(out: BinaryIO, method: str) -> Iterator[IO[bytes]]:
    if not method:
        yield out
    elif method == "gzip":  # without a time, so that results are the same
        with gzip.GzipFile("", "wb", LEVELS[method], out, mtime=0) as file:
            yield cast("IO[bytes]", file)
    elif method == "bzip2":
        with bz2.BZ2File(out, "wb", compresslevel=LEVELS[method]) as file:
            yield file
    elif method == "xz":
        with lzma.LZMAFile(out, "wb", preset=LEVELS[method], check=lzma.CHECK_CRC64) as file:
            yield cast("IO[bytes]", file)
    else:
        import zstandard

        packer = zstandard.ZstdCompressor(level=LEVELS[method])
        with packer.stream_writer(out, closefd=False) as file:
            yield cast("IO[bytes]", file)


class _Pieces(io.RawIOBase):
    """A stream to read of bytes that come in pieces."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._left = memoryview(b"")

    def readable(self) -> bool:
        """Return True."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, fewer than `size` at the end alone."""
        found: list[memoryview | bytes] = []
        while size:
            if not self._left:
                piece = next(self._pieces, None)
                if piece is None:
                    break
                self._left = memoryview(piece)
            taken = self._left[: size if size > 0 else None]
            self._left = self._left[len(taken) :]
            found.append(taken)
            size -= len(taken) if size > 0 else 0
        return b"".join(found)
