# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Containers of files with some of their images left out, for tests of shorter files."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from collections.abc import Collection, Iterator
from pathlib import Path

import fatbins
from linking import LLD_FOLDER
from places import TESTS
from products import Products
from toolchain import run

from packager.elf import headers
from packager.files.reader import Reader, open_reader
from packager.formats.containers import cuda_fatbin
from packager.slimming.elf.shrink import Shrunk, shrink
from packager.slimming.pieces import Piece, Rewritten


def kept(
    path: Path, archs: Collection[int], sections: Collection[str] = cuda_fatbin.SECTIONS
) -> list[Rewritten]:
    """Return a file's CUDA fat binaries with only the images for these architectures."""
    with open_reader(path) as data:
        elf = headers.read(data)
        return [
            one
            for name in sections
            for section in elf.named(name)
            for one in of_range(data, section.offset, section.offset + section.size, archs)
        ]


def of_range(data: Reader, start: int, end: int, archs: Collection[int]) -> Iterator[Rewritten]:
    """Yield the CUDA fat binaries in a range of a file."""
    at = start
    while at < end:
        if data.bytes(at, 4) != cuda_fatbin.MAGIC:
            at += cuda_fatbin.PADDING
            continue
        one = fatbin(data, at, archs)
        yield one
        at += one.size


def fatbin(data: Reader, at: int, archs: Collection[int]) -> Rewritten:
    """Rewrite one fat binary with only the images for these architectures."""
    head = data.bytes(at, cuda_fatbin.HEADER.size)
    _, _, header_size, size = cuda_fatbin.HEADER.unpack(head)
    stop = at + header_size + size
    place, pieces = at + header_size, []
    while place < stop:
        row = data.unpack(cuda_fatbin.ENTRY, place, "entry")
        whole = row[2] + row[3]
        if row[-1] in archs:
            pieces.append(Piece(place, whole))
        place += whole
    new = head[:8] + sum(p.size for p in pieces).to_bytes(8, "little") + head[16:]
    return Rewritten(at, stop - at, 8, (Piece(-1, len(new), new), *pieces))


SOURCES = TESTS / "packager" / "slimming" / "sources"
SOURCE = SOURCES / "registers.c"
# Ways to link; PROGRAMS are run, LIBRARIES are loaded.
COMMON = {
    "pie": ["-fuse-ld=bfd"],
    "no-pie": ["-fno-pie", "-no-pie", "-fuse-ld=bfd"],
    "relr": ["-Wl,-z,pack-relative-relocs", "-fuse-ld=bfd"],
    "together": ["-Wl,-z,noseparate-code", "-fuse-ld=bfd"],
    "pages-of-64k": ["-Wl,-z,max-page-size=0x10000", "-fuse-ld=bfd"],
    "pages-of-2m": ["-Wl,-z,max-page-size=0x200000", "-fuse-ld=bfd"],
    "written": ['-DFLAGS="aw"', "-fuse-ld=bfd"],
    "before-bss": ['-DFLAGS="aw"', "-fuse-ld=bfd", f"-Wl,-T,{SOURCES / 'before_bss.ld'}"],
    "at-end": ["-fuse-ld=bfd", f"-Wl,-T,{SOURCES / 'at_end.ld'}"],
    "aligned": ["-DALIGNED=0x8000", "-fuse-ld=bfd"],
    "lld-aligned": ["-DALIGNED=0x8000", f"-B{LLD_FOLDER}", "-fuse-ld=lld"],
    "gold": ["-fuse-ld=gold"],
    "mold": ["-fuse-ld=mold"],
    "lld": [f"-B{LLD_FOLDER}", "-fuse-ld=lld"],
    "lld-no-pie": ["-fno-pie", "-no-pie", f"-B{LLD_FOLDER}", "-fuse-ld=lld"],
    "lld-relr": [f"-B{LLD_FOLDER}", "-fuse-ld=lld", "-Wl,-z,pack-relative-relocs"],
    "lld-written": ['-DFLAGS="aw"', f"-B{LLD_FOLDER}", "-fuse-ld=lld"],
}
LIBRARIES = {
    f"{name}-library": ["-shared", "-fPIC", *options]
    for name, options in COMMON.items()
    if "no-pie" not in name
}
STATIC = {"static": ["-static", "-no-pie"], "static-pie": ["-static-pie"]}
LINKS = {**COMMON, **LIBRARIES, **STATIC}
ARCHS, IMAGE = (70, 80, 90), 40_000
LOAD = "import ctypes, os, sys; ctypes.CDLL(sys.argv[1], mode=os.RTLD_NOW)"


def program(products: Products, link: str, *more: str) -> Path:
    """Build the program or library of registers.c, with three fat binaries of three images each."""

    def make(folder: Path) -> Path:
        for number in range(3):
            images = (image(arch, number * 10 + arch) for arch in ARCHS)
            (folder / str(number)).write_bytes(fatbins.fatbin(*images))
        app = folder / ("app.so" if "library" in link else "app")
        options = ("-g", "-O1", f"-DBLOBS={folder}", *LINKS[link], *more)
        run("gcc", *options, SOURCE, "-o", app)
        return app

    name = re.sub(r"\W+", "-", "-".join(("slimmed", link, *more)))
    return products.made(name, make)


def image(arch: int, seed: int) -> bytes:
    """Return an uncompressed entry for one architecture."""
    content = random.Random(seed).randbytes(IMAGE)
    head = cuda_fatbin.ENTRY.pack(cuda_fatbin.CUBIN, 0x101, 64, len(content), 0, 0, 0, 0, arch)
    return head.ljust(64, b"\0") + content


def printed(path: Path) -> str:
    """Return the output of a program, or of loading a library."""
    is_library = ".so" in path.name
    command = [sys.executable, "-I", "-c", LOAD, str(path)] if is_library else [str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, ""), f"{path}: {done}"
    return done.stdout


def expected(before: str, archs: Collection[int]) -> str:
    """Return the text of a program or library that has only the images for these."""
    lines = []
    for line in before.splitlines():
        head, colon, rest = line.partition(":")
        if colon:
            words = rest.split()
            pairs = [(a, b) for a, b in zip(words[::2], words[1::2], strict=True)]
            pairs = [(a, b) for a, b in pairs if int(a[3:]) in archs]
            size = len(pairs) * (64 + IMAGE)
            head = f"fat binary of {size} bytes, {head.rpartition(', ')[2]}"
            rest = "".join(f" {a} {b}" for a, b in pairs)
        lines.append(head + colon + rest)
    return "\n".join(lines) + "\n"


def segments(path: Path) -> list[headers.Segment]:
    """Return the program headers of a file."""
    with open_reader(path) as data:
        return headers.read(data).segments


def shrunk(path: Path, archs: Collection[int], out: Path, *, zero: bool = False) -> Shrunk:
    """Write a file with the images for these architectures alone."""
    return shrink(path, kept(path, archs), out, zero=zero)
