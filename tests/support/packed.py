# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Wheels and Debian's packages of a tree of files, and the images that a package holds."""

from __future__ import annotations

import io
import shutil
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from documents import document
from places import DATA
from toolchain import omptool, run

PTX = (DATA / "driver.ptx").read_bytes()

Make = Callable[[Path, Path], Path]


def deflated_wheel(tree: Path, folder: Path) -> Path:
    return zipped(tree, folder / "kernels-1-py3-none-any.whl", "-r", "-9")


def stored_wheel(tree: Path, folder: Path) -> Path:
    return zipped(tree, folder / "stored.whl", "-r", "-0")


def streamed_wheel(tree: Path, folder: Path) -> Path:
    """Write a wheel to a pipe, so that sizes follow the bytes."""
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


def zipped(tree: Path, path: Path, *flags: str) -> Path:
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
    """Write a package with bzip2, which dpkg-deb reads and no longer writes, and with pax names."""
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
    """Return file and facts of each image in a package or folder."""
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


def of_files(path: Path, *files: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as file:
        for name, data in files:
            file.writestr(name, data)
    return path
