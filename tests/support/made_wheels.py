# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Wheels made without a build backend, of files that only begin like libraries."""

from __future__ import annotations

import csv
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from packager.slimming.packages.record import hashed

LIBRARY = b"\x7fELF" + bytes(range(256)) * 999
METADATA = "Metadata-Version: 2.1\nName: made\nVersion: 1\n"
WHEEL = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def made_wheel(folder: Path, *, record_at: int = 5, more: str = "") -> Path:
    """Make a wheel with two libraries, stored and deflated, a script and a comment."""
    path = folder / "made-1-py3-none-any.whl"
    files = [
        ("made/__init__.py", b"", ZIP_DEFLATED, 0o644),
        ("made/stored.so", LIBRARY, ZIP_STORED, 0o755),
        ("made/deflated, with a comma.so", LIBRARY * 3, ZIP_DEFLATED, 0o644),
        ("made-1.dist-info/METADATA", METADATA.encode(), ZIP_DEFLATED, 0o644),
        ("made-1.dist-info/WHEEL", WHEEL.encode(), ZIP_DEFLATED, 0o600),
    ]
    if more:
        files.append((more, b"signed", ZIP_STORED, 0o644))
    rows = []
    for name, content, _, _ in files:
        (folder / "one").write_bytes(content)
        rows.append((name, *hashed(folder / "one")))
    with (folder / "record").open("w", newline="") as table:
        csv.writer(table, lineterminator="\n").writerows(
            [*rows, ("made-1.dist-info/RECORD", "", "")]
        )
    record = ("made-1.dist-info/RECORD", (folder / "record").read_bytes(), ZIP_DEFLATED, 0o664)
    files.insert(record_at, record)
    with ZipFile(path, "w") as out:
        out.comment = b"a comment"
        for name, content, method, mode in files:
            info = ZipInfo(name, (2020, 1, 2, 3, 4, 6))
            info.compress_type, info.external_attr = method, mode << 16
            out.writestr(info, content)
    return path
