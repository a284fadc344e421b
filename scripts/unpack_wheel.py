# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Unpack what a wheel would install of files and symbolic links, if their names match.

Usage: python scripts/unpack_wheel.py WHEEL FOLDER PATTERN...   (lib/*.so: of names when installed)
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from zipfile import ZipFile, ZipInfo


def files(wheel: ZipFile) -> Iterator[tuple[str, ZipInfo]]:
    """Yield each file of the wheel, under the name it is installed as."""
    for member in wheel.infolist():
        first, _, rest = member.filename.partition("/")
        if member.is_dir() or first.endswith(".dist-info"):
            continue
        # NAME.data/data/bin/clang goes to bin/clang; files outside such folders keep their names.
        yield rest.partition("/")[2] if first.endswith(".data") else member.filename, member


def links(wheel: ZipFile) -> Iterator[tuple[str, str]]:
    """Yield each symlink that the wheel lists (wheels store none), and its target."""
    for member in wheel.namelist():
        if member.endswith(".dist-info/symlinks.txt"):
            for line in wheel.read(member).decode().split():
                path, target, _is_folder = line.split(",")
                yield path.split("/", 2)[2], target


def unpack(path: Path, folder: Path, patterns: Sequence[str]) -> None:
    """Unpack the files and links of a wheel whose names match one of the patterns."""

    def place(name: str) -> Path | None:
        if not any(fnmatchcase(name, pattern) for pattern in patterns):
            return None
        if ".." in PurePosixPath(name).parts:
            raise ValueError(f"{path}: the member {name} leads out of the folder")
        out = folder / name
        out.parent.mkdir(parents=True, exist_ok=True)
        out.unlink(missing_ok=True)
        return out

    with ZipFile(path) as wheel:
        for name, member in files(wheel):
            if out := place(name):
                out.write_bytes(wheel.read(member))
                out.chmod(member.external_attr >> 16 & 0o777 | 0o600)
        for name, target in links(wheel):
            if out := place(name):
                out.symlink_to(target)


if __name__ == "__main__":
    unpack(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
