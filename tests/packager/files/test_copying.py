# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bytes copied from file to file, and their checksums."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from packager.errors import FormatError
from packager.files import copying
from packager.files.checksums import PIECE, Checksums
from packager.files.copying import BY_HAND, copy
from packager.files.reader import OpenFiles

CONTENT = bytes(range(256)) * (BY_HAND // 100)  # some pieces, and a part of one


@pytest.fixture
def source(tmp_path: Path) -> Iterator[int]:
    path = tmp_path / "source"
    path.write_bytes(CONTENT)
    fd = os.open(path, os.O_RDONLY)
    yield fd
    os.close(fd)


@pytest.fixture
def out(tmp_path: Path) -> Iterator[int]:
    fd = os.open(tmp_path / "out", os.O_RDWR | os.O_CREAT)
    yield fd
    os.close(fd)


def refuse(*_: object) -> int:
    """Fail as a copy between two file systems does."""
    raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))


@pytest.mark.parametrize("is_refused", [False, True])
@pytest.mark.parametrize("at", [0, 3, copying.BLOCK])
def test_copy(
    source: int, out: int, monkeypatch: pytest.MonkeyPatch, at: int, is_refused: bool
) -> None:
    if is_refused:
        monkeypatch.setattr(os, "copy_file_range", refuse)
    sizes: list[int] = []
    size = len(CONTENT) - 7
    assert copy(source, 5, size, out, at, sizes.append) == size
    assert os.pread(out, len(CONTENT), at) == CONTENT[5 : 5 + size]
    assert sum(sizes) == size


@pytest.mark.parametrize("is_refused", [False, True])
def test_a_file_that_ends_before(
    source: int, out: int, monkeypatch: pytest.MonkeyPatch, is_refused: bool
) -> None:
    if is_refused:
        monkeypatch.setattr(os, "copy_file_range", refuse)
    assert copy(source, 1, len(CONTENT) + 9, out, 0, lambda _: None) == len(CONTENT) - 1


def test_another_error_is_one(source: int, tmp_path: Path) -> None:
    (tmp_path / "unwritable").touch()
    unwritable = os.open(tmp_path / "unwritable", os.O_RDONLY)
    with pytest.raises(OSError, match="Bad file descriptor"):
        copy(source, 0, 1, unwritable, 0, lambda _: None)
    os.close(unwritable)


def test_holes_stay_holes(tmp_path: Path, out: int) -> None:
    with (tmp_path / "sparse").open("wb") as sparse:
        sparse.seek(8 << 20)
        sparse.write(b"end")
        sparse.truncate(16 << 20)
    source = os.open(tmp_path / "sparse", os.O_RDONLY)
    os.ftruncate(out, 16 << 20)
    assert copy(source, 0, 16 << 20, out, 0, lambda _: None) == 16 << 20
    assert os.pread(out, 3, 8 << 20) == b"end"
    assert os.fstat(out).st_blocks == os.fstat(source).st_blocks
    os.close(source)


def test_checksums_tell_files_apart(tmp_path: Path) -> None:
    contents = [b"", b"\0", bytes(PIECE), bytes(PIECE + 1), bytes(PIECE) + b"\1"]
    paths = [tmp_path / str(number) for number in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    again = tmp_path / "again"
    again.write_bytes(contents[-1])
    with OpenFiles() as files, Checksums(files, [*paths, again]) as sums:
        assert len({sums.of(path) for path in paths}) == len(paths)
        assert sums.of(again) == sums.of(paths[-1])


def test_files_without_checksums(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    paths = [tmp_path / "pipe", tmp_path / "none"]
    with OpenFiles() as files, Checksums(files, paths) as sums:
        with pytest.raises(FormatError, match="pipe: is not a regular file"):
            sums.of(tmp_path / "pipe")
        with pytest.raises(FormatError, match="none: "):
            sums.of(tmp_path / "none")


def test_nobody_waits_for_checksums_that_nobody_wants(tmp_path: Path) -> None:
    with (tmp_path / "endless").open("wb") as endless:
        endless.truncate(1 << 40)
    with OpenFiles() as files, Checksums(files, [tmp_path / "endless"]):
        pass
