# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recognise LLVM bitcode by its first bytes, without importing its reader."""

from __future__ import annotations

from packager.files.reader import Reader

MAGIC = b"BC\xc0\xde"
WRAPPER_MAGIC = b"\xde\xc0\x17\x0b"


def probe(data: Reader) -> bool:
    """Return whether `data` begins with bitcode or its wrapper."""
    return data.starts_with(MAGIC) or data.starts_with(WRAPPER_MAGIC)
