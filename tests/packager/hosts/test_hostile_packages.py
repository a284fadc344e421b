# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packages that are damaged, or made to waste time or memory, yield one clear line each."""

from __future__ import annotations

import bz2
import io
import lzma
import struct
import tarfile
import zipfile
import zlib
from pathlib import Path

import pytest
from packed import PTX, Make, debian, deflated_wheel, images, of_files
from target import check
from toolchain import omptool

from packager.formats.compressed import inflate


def faults(package: Path) -> list[str]:
    """Return the messages of `dump` and `verify`; check that the folder stays empty."""
    before = sorted(package.parent.rglob("*"))
    check(package)
    result = omptool("dump", package)
    assert result.exit_code == 2
    assert omptool("verify", package).exit_code in (1, 2)
    assert sorted(package.parent.rglob("*")) == before
    return [line.removeprefix(f"Error: {package}") for line in result.stderr.splitlines()]


def elf(size: int = 0) -> bytes:
    return b"\x7fELF\2\1\1".ljust(64, b"\0") + bytes(size)


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "/etc/passwd", "a\nb", "a\x1b[31m", "C:\\x", "-rf", "é" * 400]
)
def test_names_lead_nowhere(tmp_path: Path, name: str) -> None:
    package = of_files(tmp_path / "names.whl", (name, PTX))
    check(package)
    result = omptool("dump", package)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0].isprintable()
    assert omptool("extract", package, "-o", tmp_path / "out").exit_code == 0
    assert [path.parent for path in tmp_path.rglob("*.ptx")] == [tmp_path / "out"]


def test_a_bomb_is_refused_by_its_ratio(tmp_path: Path) -> None:
    package = of_files(tmp_path / "bomb.whl", ("bomb.so", elf(64 << 20)), ("k.ptx", PTX))
    (line,) = faults(package)
    assert line.startswith("(bomb.so): deflated data at 0x25 claims that ")
    assert "the limit is 300 times as many" in line


@pytest.mark.parametrize("make", [deflated_wheel, debian("xz")], ids=lambda make: make.__name__)
def test_all_that_is_inflated_has_a_limit(
    tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inflate, "MAX_INFLATED", 1 << 20)
    root = tmp_path / "root"
    root.mkdir()
    for number in range(4):
        (root / f"{number}.txt").write_bytes(bytes(1 << 20))
    (tmp_path / "made").mkdir()
    package = make(root, tmp_path / "made")
    (line,) = faults(package)
    assert "the file inflates to more than the limit of 1048576 bytes" in line


def test_files_that_overlap_are_refused(tmp_path: Path) -> None:
    """One file, which the directory names a thousand times."""
    package = of_files(tmp_path / "overlap.whl", ("a.txt", bytes(range(256)) * 4), method=0)
    data = package.read_bytes()
    start = data.index(b"PK\1\2")
    end = data.index(b"PK\5\6")
    entry = data[start:end]
    count = 1000
    tail = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, count, count, len(entry) * count, start, 0)
    package.write_bytes(data[:start] + entry * count + tail)
    (line,) = faults(package)
    assert "its files overlap" in line


@pytest.mark.parametrize(
    ("at", "patch", "message"),
    [
        pytest.param("PK\1\2+8", b"\1\0", "member k.ptx: is encrypted", id="encrypted"),
        pytest.param(
            "PK\1\2+10", b"\x63\0", "member k.ptx: is compressed by method 99", id="method"
        ),
        pytest.param("PK\1\2+16", bytes(4), "member k.ptx: has the checksum ", id="checksum"),
        pytest.param("PK\1\2+24", b"\1\0\0\0", "inflates to more than the 1 bytes", id="size"),
        pytest.param("PK\1\2+42", b"\1\0\0\0", "member k.ptx: its header is not at ", id="header"),
        pytest.param("PK\1\2+0", b"x", "has no entry at ", id="directory"),
        pytest.param("PK\5\6+4", b"\1\0", "is one of several parts", id="parts"),
        pytest.param("PK\5\6+8", b"\7\0\7\0", "runs past the end", id="count"),
        pytest.param("PK\5\6+16", b"\xf0\xff\xff\0", "runs past the end", id="place"),
        pytest.param("PK\5\6+0", b"x", "is a zip file that is cut off", id="end"),
    ],
)
def test_one_wrong_field_of_a_wheel_is_named(
    tmp_path: Path, at: str, patch: bytes, message: str
) -> None:
    package = of_files(tmp_path / "field.whl", ("k.ptx", PTX))
    data = bytearray(package.read_bytes())
    magic, _, offset = at.partition("+")
    place = data.index(magic.encode()) + int(offset)
    data[place : place + len(patch)] = patch
    package.write_bytes(data)
    assert any(message in line for line in faults(package))


def test_what_is_sound_beside_a_damaged_file_is_read(tmp_path: Path) -> None:
    package = of_files(tmp_path / "two.whl", ("a.ptx", PTX), ("b.ptx", PTX))
    data = bytearray(package.read_bytes())
    place = data.index(b"PK\1\2") + 16
    data[place : place + 4] = bytes(4)
    package.write_bytes(data)
    result = omptool("dump", "--images", package)
    assert result.exit_code == 2
    assert f"{package}(b.ptx): device images" in result.stdout
    assert result.stderr.startswith(f"Error: {package}(a.ptx): has the checksum ")
    checked = omptool("verify", package)
    assert checked.exit_code == 1
    assert f"{package}(a.ptx): OMP111 error: " in checked.stdout


def test_a_wheel_with_numbers_of_zip64(tmp_path: Path) -> None:
    package = tmp_path / "large.whl"
    with (
        zipfile.ZipFile(package, "w") as file,
        file.open("k.ptx", "w", force_zip64=True) as out,
    ):
        out.write(PTX)
    data = bytearray(package.read_bytes())
    start, end = data.index(b"PK\1\2"), data.index(b"PK\5\6")
    entry = bytearray(data[start:end])
    size = struct.unpack_from("<I", entry, 24)[0]
    name, extra = struct.unpack_from("<2H", entry, 28)
    entry[20:28] = b"\xff" * 8
    entry[30:32] = struct.pack("<H", extra + 20)
    entry[46 + name : 46 + name] = struct.pack("<2H2Q", 1, 16, size, size)
    large = struct.pack("<4sQ2H2I4Q", b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, len(entry), start)
    place = struct.pack("<4sIQI", b"PK\6\7", 0, start + len(entry), 1)
    tail = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, *[0xFFFFFFFF] * 2, 0)
    package.write_bytes(data[:start] + entry + large + place + tail)
    assert [name for name, *_ in images(package)] == ["k.ptx"]


def _deb(path: Path, *members: tuple[str, bytes]) -> Path:
    data = b"!<arch>\n"
    for name, body in members:
        header = (name.encode(), b"0", b"0", b"0", b"644", b"%d" % len(body))
        data += b"%-16s%-12s%-6s%-6s%-8s%-10s`\n" % header + body + b"\n" * (len(body) % 2)
    path.write_bytes(data)
    return path


def _tar(*files: tuple[str, bytes], form: int = tarfile.GNU_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as tar:
        for name, data in files:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


VERSION = ("debian-binary", b"2.0\n")
SOUND = _tar(("./k.ptx", PTX))


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ([VERSION], "is a Debian package without data.tar"),
        ([("debian-binary", b"3.0\n"), ("data.tar", SOUND)], "of a version other than 2"),
        ([VERSION, ("data.tar.lz", SOUND)], "data.tar.lz has an unknown format; known names: data"),
        ([VERSION, ("data.tar.xz", SOUND)], "data.tar.xz is not xz data"),
        ([VERSION, ("data.tar.xz", lzma.compress(SOUND)[:-40])], "xz stream that is cut off"),
        ([VERSION, ("data.tar.bz2", bz2.compress(SOUND)[:-9])], "bzip2 stream that is cut off"),
        ([VERSION, ("data.tar.gz", zlib.compress(SOUND))], "data.tar.gz is not a zlib stream"),
        ([VERSION, ("data.tar", SOUND[:700])], "tar is cut off at "),
        ([VERSION, ("data.tar", b"x" + SOUND[1:])], "has a wrong checksum"),
    ],
)
def test_a_damaged_debian_package_is_one_line(
    tmp_path: Path, members: list[tuple[str, bytes]], message: str
) -> None:
    (line,) = faults(_deb(tmp_path / "damaged.deb", *members))
    assert message in line


def test_a_debian_package_that_ends_early(tmp_path: Path) -> None:
    package = _deb(tmp_path / "short.deb", VERSION, ("data.tar.xz", lzma.compress(SOUND)))
    package.write_bytes(package.read_bytes()[:-100])
    (line,) = faults(package)
    assert "archive member at" in line
    assert "runs past the end" in line


@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT, tarfile.USTAR_FORMAT])
def test_long_names_of_every_form(tmp_path: Path, form: int) -> None:
    name = "/".join(["folder"] * 20 + ["k.ptx"])
    tar = _tar((f"./{name}", PTX), ("./b.ptx", PTX), form=form)
    package = _deb(tmp_path / "long.deb", VERSION, ("data.tar", tar))
    assert [found for found, *_ in images(package)] == ["b.ptx", name]


def test_packages_in_packages_have_an_end(tmp_path: Path) -> None:
    data = PTX
    for number in range(8):
        path = of_files(tmp_path / "n.whl", (f"{number}.whl" if number else "k.ptx", data))
        data = path.read_bytes()
    (line,) = faults(path)
    assert "archives are nested more than 4 deep" in line


def test_a_thin_archive_in_a_package_names_no_files_of_this_machine(tmp_path: Path) -> None:
    (tmp_path / "k.ptx").write_bytes(PTX)
    header = b"%-16s%-12s%-6s%-6s%-8s%-10s`\n" % (b"k.ptx/", b"0", b"0", b"0", b"644", b"9")
    for method in (0, 8):
        thin = b"!<thin>\n" + header
        package = of_files(tmp_path / "thin.whl", ("lib.a", thin), method=method)
        (line,) = faults(package)
        assert line.endswith(
            "is outside the package: its thin archive in the package only names it"
        )
