# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Wheels and Debian's packages: each file in them is read as it is when it is unpacked."""

from __future__ import annotations

import bz2
import io
import lzma
import shutil
import struct
import subprocess
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import zstandard
from documents import document
from machine import lacks
from places import DATA
from target import check
from toolchain import (
    HOST,
    MAIN,
    X86_64,
    bundled,
    compile_c,
    device_image,
    fake_runtime,
    linked,
    omptool,
    run,
)

from packager.files.inflating import inflate

LIBRARY = "kernels/lib/libkernels.so"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the files to pack: a library with an image, an archive, a fat binary, PTX, others."""
    folder = tmp_path_factory.mktemp("tree")
    work = tmp_path_factory.mktemp("made")
    host = compile_c(HOST + MAIN, work / "host.o", "-c", "-fPIC")
    out = bundled(host, work / "k.o", {X86_64: device_image(HOST, work / "image.so")})
    (folder / "kernels" / "lib").mkdir(parents=True)
    linked([out], folder / LIBRARY, "-shared", runtime=fake_runtime(work))
    run("ar", "rcs", folder / "kernels" / "libk.a", out)
    for name in ("zstd.fatbin", "driver.ptx"):
        shutil.copy(DATA / name, folder / "kernels" / name)
    (folder / "kernels" / "__init__.py").write_text('"""Kernels."""\n' * 1000)
    (folder / "kernels" / "empty.so").touch()
    (folder / "kernels" / "link.so").symlink_to("lib/libkernels.so")
    return folder


Make = Callable[[Path, Path], Path]


def deflated_wheel(tree: Path, folder: Path) -> Path:
    return _zipped(tree, folder / "kernels-1-py3-none-any.whl", "-r", "-9")


def stored_wheel(tree: Path, folder: Path) -> Path:
    return _zipped(tree, folder / "stored.whl", "-r", "-0")


def streamed_wheel(tree: Path, folder: Path) -> Path:
    """As a writer makes it that cannot go back: sizes are behind the bytes."""
    path = folder / "streamed.whl"
    with path.open("wb") as out, zipfile.ZipFile(_Pipe(out), "w", zipfile.ZIP_DEFLATED) as file:
        for one in sorted(tree.rglob("*")):
            if one.is_file() and not one.is_symlink():
                file.write(one, one.relative_to(tree))
    return path


class _Pipe:
    """A file that can only be written on."""

    def __init__(self, out: io.BufferedWriter) -> None:
        self._out = out

    def write(self, data: bytes, /) -> int:
        return self._out.write(data)

    def flush(self) -> None:
        self._out.flush()

    def close(self) -> None:
        self._out.close()


def _zipped(tree: Path, path: Path, *flags: str) -> Path:
    run("env", "-C", tree, "zip", "-q", "-y", *flags, path, ".")
    return path


def debian(method: str) -> Make:
    def make(tree: Path, folder: Path) -> Path:
        root = folder / "root"
        shutil.copytree(tree, root, symlinks=True)
        (root / "DEBIAN").mkdir()
        control = "Package: kernels\nVersion: 1\nArchitecture: amd64\n"
        control += "Maintainer: N <n@example.org>\nDescription: kernels\n"
        (root / "DEBIAN" / "control").write_text(control)
        path = folder / f"kernels-{method}.deb"
        run("dpkg-deb", "--root-owner-group", f"-Z{method}", "-b", root, path)
        return path

    make.__name__ = f"debian_{method}"
    return make


def old_debian(tree: Path, folder: Path) -> Path:
    """With bzip2, which dpkg-deb reads and no longer writes, and with pax's names."""
    with tarfile.open(folder / "data.tar.bz2", "w:bz2", format=tarfile.PAX_FORMAT) as data:
        data.add(tree, ".")
    tarfile.open(folder / "control.tar.gz", "w:gz").close()
    (folder / "debian-binary").write_text("2.0\n")
    names = ("debian-binary", "control.tar.gz", "data.tar.bz2")
    run("env", "-C", folder, "ar", "rc", "old.deb", *names)
    return folder / "old.deb"


MAKERS = [
    deflated_wheel,
    stored_wheel,
    streamed_wheel,
    *map(debian, ("gzip", "xz", "zstd", "none")),
    old_debian,
]


def images(package: Path, *words: object) -> list[tuple[Any, ...]]:
    """Of each image: in which file of the package, or of a folder, and what it is."""
    result = omptool("dump", "--json", "--hash", *(words or (package,)))
    assert result.exit_code == 0, result.output
    found = []
    for file in document("dump", result.stdout)["files"]:
        name = file["path"].removeprefix(str(package)).lstrip("(/")
        name = name.replace("(", "/").replace(")", "")
        for image in file["images"]:
            told = (image["kind"], image["triple"], image["arch"], image["sha256"])
            kernels = tuple(image["kernels"])
            found.append((name, *told, kernels))
    return sorted(found, key=repr)


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_each_file_is_read_as_it_is_unpacked(tree: Path, tmp_path: Path, make: Make) -> None:
    package = make(tree, tmp_path)
    names = (LIBRARY, "kernels/libk.a", "kernels/zstd.fatbin", "kernels/driver.ptx")
    unpacked = images(tree, *(tree / name for name in names))
    assert len(unpacked) == 5
    assert images(package) == unpacked


def test_verify_names_the_file_in_the_package(tree: Path, tmp_path: Path) -> None:
    package = deflated_wheel(tree, tmp_path)
    result = omptool("verify", package)
    assert result.exit_code == 0, result.output
    for name in (LIBRARY, "kernels/libk.a(k.o)", "kernels/zstd.fatbin"):
        assert f"{package}({name}): no " in result.stdout


def test_sums_of_a_package(tree: Path, tmp_path: Path) -> None:
    text = omptool("dump", "--summary", deflated_wheel(tree, tmp_path)).stdout
    assert ".whl: archive, 4 members, " in text
    assert "share" not in text  # of bytes that are compressed
    alone = _of_files(tmp_path / "one.whl", ("k.ptx", PTX), method=0)
    text = omptool("dump", "--summary", alone).stdout
    assert ".whl: archive, 1 member, " in text
    assert "share" in text


def test_images_come_out_of_a_package(tree: Path, tmp_path: Path) -> None:
    package = debian("xz")(tree, tmp_path)
    result = omptool("extract", package, "--arch", "sm_80", "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    (name,) = result.stdout.splitlines()
    omptool("extract", DATA / "zstd.fatbin", "--arch", "sm_80", "-o", tmp_path / "same")
    (same,) = (tmp_path / "same").iterdir()
    assert Path(name).read_bytes() == same.read_bytes()


def test_a_package_in_a_package_is_read_by_its_name(tree: Path, tmp_path: Path) -> None:
    root = tmp_path / "inner"
    root.mkdir()
    wheel = deflated_wheel(tree, root)
    shutil.copy(wheel, root / "data.zip")
    outer = _zipped(root, tmp_path / "outer.whl", "-r")
    assert {name.split("/")[0] for name, *_ in images(outer)} == {wheel.name}


def test_a_package_without_offload_code(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "a.py").write_text("x = 1\n")
    for package in (stored_wheel(tmp_path / "tree", tmp_path), _of_files(tmp_path / "none.whl")):
        for command in ("dump", "verify"):
            result = omptool(command, package)
            assert (result.exit_code, result.stderr) == (0, "")
            assert result.stdout == f"{package}: no offload code\n"


@pytest.mark.slow
def test_large_files_are_kept_on_disk(tree: Path, tmp_path: Path) -> None:
    """A library of 64 MiB, most of which is not compressible to nothing, in little memory."""
    root = tmp_path / "root"
    root.mkdir()
    (root / "padding").write_bytes(bytes(range(256)) * (1 << 18))
    section = f".padding={root / 'padding'}"
    run("objcopy", "--add-section", section, tree / LIBRARY, root / "large.so")
    (root / "padding").unlink()
    package = _zipped(root, tmp_path / "large.whl", "-r", "-1")
    assert images(package) == images(root, root / "large.so")
    assert (root / "large.so").stat().st_size > inflate.HELD
    check(package)


def _fetched(name: str, folder: Path) -> Path:
    """Return the file of a Debian package."""
    if not shutil.which("apt-get"):
        lacks("this is no Debian: there is no apt-get")
    command = ["apt-get", "download", "-qq", "-o", "APT::Sandbox::User=root", name]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    found = list(folder.glob(f"{name}_*.deb"))
    if not found:
        lacks(f"apt-get has no package {name}: {done.stderr.strip()}")
    return found[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [pytest.param("gcc-12-offload-nvptx", marks=pytest.mark.exhaustive), "libomp-14-dev"],
)
def test_packages_of_debian(tmp_path: Path, name: str) -> None:
    package = _fetched(name, tmp_path)
    tree = tmp_path / "tree"
    run("dpkg-deb", "-x", package, tree)
    unpacked = [path for path in tree.rglob("*") if path.is_file() and not path.is_symlink()]
    known = [p for p in unpacked if omptool("dump", "--summary", p).exit_code == 0]
    packed, there = set(images(package)), set(images(tree, *known))
    assert packed <= there
    # A hard link has its bytes in the package once, under another name.
    assert {told[1:] for told in packed} == {told[1:] for told in there} != set()


# ---- hostile packages ----


def _of_files(path: Path, *files: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as file:
        for name, data in files:
            file.writestr(name, data)
    return path


def faults(package: Path) -> list[str]:
    """Return what `dump` and `verify` say, which must be lines; nothing is left in the folder."""
    before = sorted(package.parent.rglob("*"))
    check(package)
    result = omptool("dump", package)
    assert result.exit_code == 2
    assert omptool("verify", package).exit_code in (1, 2)
    assert sorted(package.parent.rglob("*")) == before
    return [line.removeprefix(f"Error: {package}") for line in result.stderr.splitlines()]


def elf(size: int = 0) -> bytes:
    return b"\x7fELF\2\1\1".ljust(64, b"\0") + bytes(size)


PTX = (DATA / "driver.ptx").read_bytes()


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "/etc/passwd", "a\nb", "a\x1b[31m", "C:\\x", "-rf", "é" * 400]
)
def test_names_lead_nowhere(tmp_path: Path, name: str) -> None:
    package = _of_files(tmp_path / "names.whl", (name, PTX))
    check(package)
    result = omptool("dump", package)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0].isprintable()
    assert omptool("extract", package, "-o", tmp_path / "out").exit_code == 0
    assert [path.parent for path in tmp_path.rglob("*.ptx")] == [tmp_path / "out"]


def test_a_bomb_is_refused_by_its_ratio(tmp_path: Path) -> None:
    package = _of_files(tmp_path / "bomb.whl", ("bomb.so", elf(64 << 20)), ("k.ptx", PTX))
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
    package = _of_files(tmp_path / "overlap.whl", ("a.txt", bytes(range(256)) * 4), method=0)
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
    package = _of_files(tmp_path / "field.whl", ("k.ptx", PTX))
    data = bytearray(package.read_bytes())
    magic, _, offset = at.partition("+")
    place = data.index(magic.encode()) + int(offset)
    data[place : place + len(patch)] = patch
    package.write_bytes(data)
    assert any(message in line for line in faults(package))


def test_what_is_sound_beside_a_damaged_file_is_read(tmp_path: Path) -> None:
    package = _of_files(tmp_path / "two.whl", ("a.ptx", PTX), ("b.ptx", PTX))
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
        path = _of_files(tmp_path / "n.whl", (f"{number}.whl" if number else "k.ptx", data))
        data = path.read_bytes()
    (line,) = faults(path)
    assert "archives are nested more than 4 deep" in line


def test_a_thin_archive_in_a_package_names_no_files_of_this_machine(tmp_path: Path) -> None:
    (tmp_path / "k.ptx").write_bytes(PTX)
    header = b"%-16s%-12s%-6s%-6s%-8s%-10s`\n" % (b"k.ptx/", b"0", b"0", b"0", b"644", b"9")
    for method in (0, 8):
        thin = b"!<thin>\n" + header
        package = _of_files(tmp_path / "thin.whl", ("lib.a", thin), method=method)
        (line,) = faults(package)
        assert line.endswith(
            "is outside the package: its thin archive in the package only names it"
        )


def conda(path: Path, files: Mapping[str, bytes]) -> Path:
    """A package of conda's, in the form that its name says."""
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as file:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            file.addfile(info, io.BytesIO(content))
    if path.suffix == ".bz2":
        path.write_bytes(bz2.compress(tar.getvalue()))
        return path
    with zipfile.ZipFile(path, "w") as package:
        package.writestr("metadata.json", '{"conda_pkg_format_version": 2}')
        package.writestr("pkg-k-1.tar.zst", zstandard.compress(tar.getvalue()))
        package.writestr("info-k-1.tar.zst", zstandard.compress(b""))
    return path


@pytest.mark.parametrize("name", ["k-1.conda", "k-1.tar.bz2"])
def test_packages_of_conda(tmp_path: Path, name: str) -> None:
    fatbin = (DATA / "none.fatbin").read_bytes()
    path = conda(tmp_path / name, {"lib/k.fatbin": fatbin, "info/index.json": b"{}"})
    (file,) = document("dump", omptool("dump", "--json", path).stdout)["files"]
    assert file["path"] == f"{path}(lib/k.fatbin)"
    assert len(file["images"]) == 3
    content = path.read_bytes()
    path.write_bytes(content[:40] if name.endswith("bz2") else content[: len(content) // 2])
    assert omptool("dump", path).exit_code == 2
