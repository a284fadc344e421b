# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ROCm's archives of kernels, by the layout that rocm-systems documents, and their libraries."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path

import msgpack
import zstandard
from places import CORPUS, TESTS
from toolchain import run

IMAGE = (CORPUS / "seed-image.co").read_bytes()
LIBRARY = "lib/libone.so"
# Names end in the number of the library's fat binary.
TABLE = {f"{LIBRARY}#0": ("gfx1100", "gfx90a"), "bin/two#0": ("gfx90a",)}
SOURCE = TESTS / "support" / "sources" / "kpack_library.c"


def archive(scheme: str = "none", libraries: Mapping[str, tuple[str, ...]] = TABLE) -> bytes:
    toc: dict[str, dict[str, object]] = {}
    blobs, frames, count = [], b"", 0
    for name, archs in libraries.items():
        for arch in archs:
            row = {"type": "hsaco", "ordinal": count, "original_size": len(IMAGE)}
            toc.setdefault(name, {})[arch] = row
            blobs.append({"offset": 64 + count * len(IMAGE), "size": len(IMAGE)})
            frame = zstandard.compress(IMAGE)
            frames += struct.pack("<I", len(frame)) + frame
            count += 1
    frames = struct.pack("<I", count) + frames
    body = frames if scheme == "zstd-per-kernel" else IMAGE * count
    places = {"zstd_offset": 64, "zstd_size": len(frames)} if body is frames else {"blobs": blobs}
    table = {"format_version": 1, "compression_scheme": scheme, "toc": toc, **places}
    header = struct.pack("<4sIQ", b"KPAK", 1, 64 + len(body)).ljust(64, b"\0")
    packed: bytes = msgpack.packb(table)
    return header + body + packed


def for_gpu(gpu: str, *libraries: str) -> bytes:
    """Return the archive of one GPU."""
    return archive(libraries={f"{name}#0": (gpu,) for name in libraries})


def reference(folder: Path, *paths: str) -> Path:
    """Write the bytes by which a library names its archives."""
    named = {"kernel_name": LIBRARY, "kpack_search_paths": paths}
    (folder / "reference").write_bytes(msgpack.packb(named))
    return folder / "reference"


def library(folder: Path, *paths: str) -> Path:
    """Link a library with kernels in archives at these paths, in the form of ROCm's tools."""
    words = ("gcc", "-shared", "-fPIC", f'-DREFERENCE="{reference(folder, *paths)}"')
    run(*words, SOURCE, "-o", folder / "libone.so")
    return folder / "libone.so"
