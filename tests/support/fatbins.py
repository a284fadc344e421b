# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CUDA fat binaries of given images, which need no compiler."""

from __future__ import annotations

import zstandard

from packager.formats.containers import cuda_fatbin


def entry(kind: int, image: bytes) -> bytes:
    """An entry of a fatbin, compressed."""
    packed = zstandard.compress(image)
    head = cuda_fatbin.ENTRY.pack(kind, 0x101, 64, len(packed), len(packed), 0, 0, 0, 90)
    tail = cuda_fatbin.TAIL.pack(cuda_fatbin.ZSTD, 0, len(image))
    return head.ljust(cuda_fatbin.TAIL_AT, b"\0") + tail + packed


def fatbin(*entries: bytes) -> bytes:
    """Images that are alternatives."""
    body = b"".join(entries)
    return cuda_fatbin.HEADER.pack(cuda_fatbin.MAGIC, 1, cuda_fatbin.HEADER.size, len(body)) + body
