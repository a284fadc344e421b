# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CUDA fat binaries of given images, which need no compiler."""

from __future__ import annotations

import zstandard

from packager.formats.containers import cuda_fatbin


def entry(kind: int, image: bytes) -> bytes:
    """Return a fatbin's entry, compressed."""
    packed = zstandard.compress(image)
    head = cuda_fatbin.ENTRY.pack(kind, 0x101, 64, len(packed), len(packed), 0, 0, 0, 90)
    tail = cuda_fatbin.TAIL.pack(cuda_fatbin.ZSTD, 0, len(image))
    return head.ljust(cuda_fatbin.TAIL_AT, b"\0") + tail + packed


def group(*members: tuple[int, int, bytes]) -> bytes:
    """Return an entry of images (kind, arch, bytes) compressed together, as by `nvcc --concat`."""
    headers, whole = b"", b""
    for kind, arch, image in members:
        head = cuda_fatbin.ENTRY.pack(kind, 0x101, len(whole), len(image), 0, 0, 0, 0, arch)
        headers += head.ljust(cuda_fatbin.TAIL_AT, b"\0") + cuda_fatbin.TAIL.pack(0, 0, 0)
        whole += image
    packed = zstandard.compress(whole)
    size = cuda_fatbin.TABLE.size + len(headers)
    table = cuda_fatbin.TABLE.pack(len(members), size) + headers
    head = cuda_fatbin.ENTRY.pack(
        cuda_fatbin.GROUP, 0x101, cuda_fatbin.TABLE_AT + size, len(packed), len(packed), 0, 0, 0, 0
    )
    tail = cuda_fatbin.TAIL.pack(cuda_fatbin.ZSTD, 0, len(whole))
    return head.ljust(cuda_fatbin.TAIL_AT, b"\0") + tail + table + packed


def fatbin(*entries: bytes) -> bytes:
    """Return a fatbin of alternative images."""
    body = b"".join(entries)
    return cuda_fatbin.HEADER.pack(cuda_fatbin.MAGIC, 1, cuda_fatbin.HEADER.size, len(body)) + body
