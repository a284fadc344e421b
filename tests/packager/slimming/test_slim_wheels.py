# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Wheels whose files are slimmed: RECORD is right, and all else is as it was."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
from copy import copy
from pathlib import Path
from struct import Struct
from typing import Any
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZipFile

import pytest
from made_wheels import LIBRARY, made_wheel

from packager.errors import FormatError, LimitError
from packager.slimming.packages import members, wheel
from packager.slimming.packages.record import hashed
from packager.slimming.packages.wheel import slim_wheel
from packager.slimming.slimmed import Share, Slimmed

END = Struct("<I")  # field of the last record with the directory's offset
DIRECTORY = Struct("<4s6H3I5H2I")  # an entry of a zip file's, in front of the name


def halved(source: Path, out: Path | None, name: str) -> Slimmed | None:
    """Stand for the slimming of a file: its first half stays."""
    content = source.read_bytes()
    half = content[: len(content) // 2]
    if out:
        out.write_bytes(half)
    return Slimmed(name, len(content), len(half), (Share("sm_80", len(half), 0),))


def slimmed(folder: Path, path: Path) -> tuple[Path, list[Slimmed]]:
    """Slim the wheel in an empty folder beside it."""
    out, work = folder / "out" / path.name, folder / "work"
    out.parent.mkdir()
    work.mkdir()
    return out, slim_wheel(path, out, work, halved)


@pytest.mark.parametrize("record_at", [0, 5])
def test_record_is_right_and_the_order_stays(record_at: int, tmp_path: Path) -> None:
    path = made_wheel(tmp_path, record_at=record_at)
    out, found = slimmed(tmp_path, path)
    assert [one.path for one in found] == [
        f"{path}:made/stored.so",
        f"{path}:made/deflated, with a comma.so",
    ]
    with ZipFile(path) as before, ZipFile(out) as after:
        assert after.testzip() is None
        assert after.namelist() == before.namelist()
        assert after.comment == before.comment
        for one, other in zip(before.infolist(), after.infolist(), strict=True):
            assert (one.date_time, one.external_attr, one.compress_type) == (
                other.date_time, other.external_attr, other.compress_type,
            )  # fmt: skip
        assert after.read("made/stored.so") == LIBRARY[: len(LIBRARY) // 2]
        for name, digest, size in csv.reader(
            after.read("made-1.dist-info/RECORD").decode().splitlines()
        ):
            if digest:
                (tmp_path / "one").write_bytes(after.read(name))
                assert hashed(tmp_path / "one") == (digest, int(size)), name


def test_other_members_are_not_compressed_again(tmp_path: Path) -> None:
    path = made_wheel(tmp_path)
    with ZipFile(path, "a") as more:  # compresses at another level than the default
        more.writestr("made/text.txt", b"lorem ipsum " * 999, ZIP_DEFLATED, 1)
    out, _ = slimmed(tmp_path, path)
    with ZipFile(path) as before, ZipFile(out) as after:
        sizes = [one.getinfo("made/text.txt").compress_size for one in (before, after)]
        assert sizes[0] == sizes[1]
        assert after.read("made/text.txt") == b"lorem ipsum " * 999


class _Pipe(io.RawIOBase):
    """A stream that cannot seek, like the output of `zip -`."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        with self._path.open("ab") as file:
            return file.write(content)


@pytest.mark.parametrize("how", ["forced", "throughout", "streamed"])
def test_records_of_zip64(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes of 8 bytes are in the members' headers, in the directory, or behind the bytes."""
    plain, path = made_wheel(tmp_path), tmp_path / "zip64" / "made-1-py3-none-any.whl"
    path.parent.mkdir()
    with monkeypatch.context() as patched:
        if how == "throughout":
            patched.setattr("zipfile.ZIP64_LIMIT", 1)
        target: Any = _Pipe(path) if how == "streamed" else path
        with ZipFile(plain) as source, ZipFile(target, "w") as written:
            for info in source.infolist():
                with written.open(copy(info), "w", force_zip64=True) as member:
                    member.write(source.read(info))
    assert (b"PK\6\6" in path.read_bytes()) == (how == "throughout")
    out, _ = slimmed(tmp_path, path)
    direct, _ = slimmed(tmp_path / "zip64", plain)
    with ZipFile(out) as found, ZipFile(direct) as wanted:
        assert found.testzip() is None
        assert found.namelist() == wanted.namelist()
        for name in wanted.namelist():
            assert found.read(name) == wanted.read(name)
    subprocess.run(["unzip", "-tq", out], check=True, capture_output=True)


@pytest.mark.slow
def test_pip_installs_the_result(tmp_path: Path) -> None:
    out, _ = slimmed(tmp_path, made_wheel(tmp_path))
    pip = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--target"]
    subprocess.run([*pip, tmp_path / "installed", out], check=True, capture_output=True)
    assert (tmp_path / "installed/made/stored.so").stat().st_size == len(LIBRARY) // 2


def test_a_signed_wheel_stays_as_it_is(tmp_path: Path) -> None:
    path = made_wheel(tmp_path, more="made-1.dist-info/RECORD.jws")
    with pytest.raises(FormatError, match=r"signed by made-1.dist-info/RECORD.jws"):
        slimmed(tmp_path, path)


def test_what_is_no_zip_file_is_refused(tmp_path: Path) -> None:
    path = made_wheel(tmp_path)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(FormatError, match="damaged zip file"):
        slimmed(tmp_path, path)


def test_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(members, "MOST", len(LIBRARY) * 2)
    with pytest.raises(FormatError, match="limit"):
        slimmed(tmp_path, made_wheel(tmp_path))
    monkeypatch.setattr(members, "MOST", len(LIBRARY) * 3)
    with pytest.raises(LimitError, match="its files inflate to more than the limit"):
        slim_wheel(made_wheel(tmp_path), tmp_path / "out.whl", tmp_path / "work", halved)


def test_names_that_are_not_text_are_refused(tmp_path: Path) -> None:
    path = made_wheel(tmp_path, more="made/\u00e9.txt")
    path.write_bytes(path.read_bytes().replace("\u00e9".encode(), b"\xff\xfe"))
    with pytest.raises(FormatError, match=r"is a damaged zip file: 'utf-8' codec"):
        slimmed(tmp_path, path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    path = made_wheel(tmp_path, more="made/stored.so")
    with pytest.raises(FormatError, match=r"has two files made/stored.so"):
        slimmed(tmp_path, path)


def flagged(path: Path, name: str, flags: int, size: int | None = None) -> None:
    """Set flags of a file in a zip file's directory, and its size there."""
    content = bytearray(path.read_bytes())
    at = content.rindex(name.encode()) - DIRECTORY.size
    fields = list(DIRECTORY.unpack_from(content, at))
    fields[3] |= flags
    fields[8] = fields[8] if size is None else size
    DIRECTORY.pack_into(content, at, *fields)
    path.write_bytes(content)


def test_an_encrypted_file_is_named(tmp_path: Path) -> None:
    path = made_wheel(tmp_path)
    flagged(path, "made-1.dist-info/RECORD", 1)
    with pytest.raises(FormatError, match=r"has the encrypted file made-1.dist-info/RECORD"):
        slimmed(tmp_path, path)


def test_files_that_overlap_are_refused(tmp_path: Path) -> None:
    path = made_wheel(tmp_path)
    flagged(path, "made/stored.so", 0, path.stat().st_size)
    with pytest.raises(FormatError, match=r"its files overlap: they have \d+ bytes, and the zip"):
        slimmed(tmp_path, path)


def test_a_file_outside_is_refused(tmp_path: Path) -> None:
    path = made_wheel(tmp_path)
    content = bytearray(path.read_bytes())
    END.pack_into(content, content.rindex(b"PK\5\6") + 16, 1)  # the directory's place: all move
    path.write_bytes(content)
    with pytest.raises(FormatError, match=r"damaged|is at 0x[0-9a-f]+, outside of the zip file"):
        slimmed(tmp_path, path)


def test_a_record_of_any_size_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wheel, "MOST", 99)
    with pytest.raises(LimitError, match=r"RECORD has \d+ bytes, and the limit is 99"):
        slimmed(tmp_path, made_wheel(tmp_path))


def test_a_file_of_another_compression_is_named(tmp_path: Path) -> None:
    path = made_wheel(tmp_path)
    with ZipFile(path, "a") as more:
        more.writestr("made/other.so", LIBRARY, ZIP_BZIP2)
    _, found = slimmed(tmp_path, path)
    assert found[-1].path == f"{path}:made/other.so"
    assert found[-1].notes == ("it is left alone: method 12 compresses it",)
