# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Debian packages whose files are slimmed, made and read by dpkg-deb."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from packager.errors import FormatError
from packager.slimming.packages.debian import slim_debian
from packager.slimming.slimmed import Share, Slimmed

LIBRARY = b"\x7fELF" + bytes(range(256)) * 999
KIBIBYTE = 1024


def halved(source: Path, out: Path | None, name: str) -> Slimmed | None:
    """Stand for the slimming of a file: its first half stays."""
    content = source.read_bytes()
    half = content[: len(content) // 2]
    if out:
        out.write_bytes(half)
    return Slimmed(name, len(content), len(half), (Share("gfx90a", len(half), 0),))


def none(_source: Path, _out: Path | None, _name: str) -> None:
    """Stand for a file without device code."""


def package(folder: Path, method: str) -> Path:
    """Make a package with a library, a link to it, a script and an empty folder."""
    root = folder / "root"
    (root / "DEBIAN").mkdir(parents=True)
    (root / "usr/lib/empty").mkdir(parents=True)
    (root / "usr/lib/libmade.so.1").write_bytes(LIBRARY)
    (root / "usr/lib/libmade.so").symlink_to("libmade.so.1")
    (root / "usr/lib/script").write_text("#!/bin/sh\n")
    (root / "usr/lib/script").chmod(0o755)
    (root / "DEBIAN/control").write_text(
        "Package: made\nVersion: 1\nArchitecture: amd64\nMaintainer: nobody <a@example.org>\n"
        "Installed-Size: 999\nDescription: made\n made by a test\n"
    )
    (root / "DEBIAN/md5sums").write_text(
        "".join(
            f"{hashlib.md5((root / name).read_bytes()).hexdigest()}  {name}\n"
            for name in ("usr/lib/libmade.so.1", "usr/lib/script")
        )
    )
    out = folder / "made.deb"
    subprocess.run(
        ["dpkg-deb", f"-Z{method}", "--root-owner-group", "--build", root, out],
        check=True, capture_output=True,
    )  # fmt: skip
    return out


@pytest.mark.parametrize("method", ["xz", "gzip", "zstd", "none"])
def test_dpkg_reads_the_result(method: str, tmp_path: Path) -> None:
    path, out, work = package(tmp_path, method), tmp_path / "out.deb", tmp_path / "work"
    work.mkdir()
    found = slim_debian(path, out, work, halved)
    assert [one.path for one in found] == [f"{path}:usr/lib/libmade.so.1"]
    assert listing(out, "-c")[:-1] != listing(path, "-c")[:-1]
    assert [line.split()[-1] for line in listing(out, "-c")] == [
        line.split()[-1] for line in listing(path, "-c")
    ]
    assert members(out) == members(path)
    subprocess.run(["dpkg-deb", "-R", out, tmp_path / "read"], check=True)
    read = tmp_path / "read"
    assert (read / "usr/lib/libmade.so.1").read_bytes() == LIBRARY[: len(LIBRARY) // 2]
    assert os.access(read / "usr/lib/script", os.X_OK)
    subprocess.run(["md5sum", "-c", "--quiet", "DEBIAN/md5sums"], cwd=read, check=True)
    # Folders count 1 each, as do the script and the link.
    folders = sum(line.startswith("d") for line in listing(path, "-c"))
    size = -(-len(LIBRARY) // 2 // KIBIBYTE) + 2 + folders
    assert f"Installed-Size: {size}" in (read / "DEBIAN/control").read_text().splitlines()


def test_a_package_without_device_code_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The package is not compressed either, which takes longest."""
    monkeypatch.delattr("packager.slimming.packages.debian._compressed")
    (tmp_path / "work").mkdir()
    assert slim_debian(package(tmp_path, "xz"), tmp_path / "out", tmp_path / "work", none) == []
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("break_it", "message"),
    [
        (lambda path: subprocess.run(["ar", "d", path, "data.tar.xz"], check=True), "without data"),
        (lambda path: path.write_bytes(path.read_bytes()[:-999]), "archive member"),
        (lambda path: add(path, "_gpgorigin"), "is signed by _gpgorigin"),
    ],
)
def test_unfit_packages_are_refused(
    break_it: Callable[[Path], object], message: str, tmp_path: Path
) -> None:
    path = package(tmp_path, "xz")
    break_it(path)
    (tmp_path / "work").mkdir()
    with pytest.raises(FormatError, match=message):
        slim_debian(path, tmp_path / "out", tmp_path / "work", halved)


def test_each_name_of_a_file_has_its_sum(tmp_path: Path) -> None:
    package(tmp_path, "none")
    root = tmp_path / "root"
    (root / "usr/lib/other.so").hardlink_to(root / "usr/lib/libmade.so.1")
    with (root / "DEBIAN/md5sums").open("a") as sums:
        sums.write(f"{hashlib.md5(LIBRARY).hexdigest()}  usr/lib/other.so\n")
    path, out = tmp_path / "made.deb", tmp_path / "out.deb"
    subprocess.run(["dpkg-deb", "-Znone", "--build", root, path], check=True, capture_output=True)
    (tmp_path / "work").mkdir()
    assert len(slim_debian(path, out, tmp_path / "work", halved)) == 1
    subprocess.run(["dpkg-deb", "-R", out, tmp_path / "read"], check=True)
    read = tmp_path / "read"
    subprocess.run(["md5sum", "-c", "--quiet", "DEBIAN/md5sums"], cwd=read, check=True)


def test_other_members_stay(tmp_path: Path) -> None:
    path, out = package(tmp_path, "xz"), tmp_path / "out.deb"
    add(path, "data.tar.sig")
    (tmp_path / "work").mkdir()
    slim_debian(path, out, tmp_path / "work", halved)
    done = subprocess.run(["ar", "p", out, "data.tar.sig"], check=True, capture_output=True)
    assert done.stdout == b"signed"


def header(kind: bytes, size: int, name: str = "./made") -> bytes:
    """Return a header of tar."""
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, size
    return info.tobuf(tarfile.GNU_FORMAT)


@pytest.mark.parametrize(
    ("tar", "message"),
    [
        (header(b"x", 21) + b"21 SCHILY.xattr.a=bc\n".ljust(512, b"\0"), "none of a Debian"),
        (header(b"x", 29) + b"99999999999999999999 path=a\n".ljust(512, b"\0"), "none of a D"),
        (
            header(b"S", 512) + bytes(512),
            "header of ./made in the tar is none of a Debian package's",
        ),
        (header(b"0", -512), "none of a Debian package's"),
        (header(b"L", 1 << 40), "claims a name of 1099511627776 bytes"),
        ((header(b"L", 2) + b"a".ljust(512, b"\0")) * 2000, "data.tar is damaged: .*recursion"),
        (header(b"0", 4096) + bytes(512), "data.tar is damaged: unexpected end of data"),
        (header(b"0", 600) + LIBRARY[:512], "inflates to 512 bytes or more|unexpected end"),
    ],
)
def test_hostile_headers_are_refused(tar: bytes, message: str, tmp_path: Path) -> None:
    path = package(tmp_path, "none")
    (tmp_path / "data.tar").write_bytes(tar)
    subprocess.run(["ar", "r", path, tmp_path / "data.tar"], check=True, capture_output=True)
    (tmp_path / "work").mkdir()
    with pytest.raises(FormatError, match=message):
        slim_debian(path, tmp_path / "out", tmp_path / "work", halved)


def test_a_control_of_an_unknown_compression_is_named(tmp_path: Path) -> None:
    path = package(tmp_path, "none")
    content = path.read_bytes()
    path.write_bytes(content.replace(b"control.tar ".ljust(16), b"control.tar.lz4".ljust(16)))
    (tmp_path / "work").mkdir()
    with pytest.raises(FormatError, match=r"without control.tar; known names: control.tar, "):
        slim_debian(path, tmp_path / "out", tmp_path / "work", halved)


def add(path: Path, name: str) -> None:
    """Add a member to the package."""
    (path.parent / name).write_bytes(b"signed")
    subprocess.run(["ar", "q", path, path.parent / name], check=True, capture_output=True)


def listing(path: Path, option: str) -> list[str]:
    """Return the lines of dpkg-deb's listing."""
    done = subprocess.run(["dpkg-deb", option, path], check=True, capture_output=True, text=True)
    return done.stdout.splitlines()


def members(path: Path) -> list[str]:
    """Return the names in the archive."""
    done = subprocess.run(["ar", "t", path], check=True, capture_output=True, text=True)
    return done.stdout.split()
