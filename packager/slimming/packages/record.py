# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""RECORD, the table of a distribution's files, in a wheel and where it is installed.

Each row has a path, a hash as "sha256=" and URL-safe base 64 without padding, and a size.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
from collections.abc import Mapping
from pathlib import Path

from packager.errors import FormatError
from packager.records import NamedTuple

RECORD = "RECORD"
METADATA = ".dist-info"
SIGNATURES = ("RECORD.jws", "RECORD.p7s")
PIECE = 1 << 20


class Hashed(NamedTuple):
    """The hash and the size of a file, as RECORD has them."""

    digest: str
    size: int


def is_record(name: str) -> bool:
    """Return whether the file of a wheel is its RECORD."""
    folder, _, file = name.rpartition("/")
    return file == RECORD and folder.endswith(METADATA) and "/" not in folder


def is_signature(name: str) -> bool:
    """Return whether the file of a wheel is a signature of its RECORD."""
    folder, _, file = name.rpartition("/")
    return file in SIGNATURES and folder.endswith(METADATA) and "/" not in folder


def hashed(path: Path) -> Hashed:
    """Return what RECORD has of the file."""
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            digest.update(piece)
            size += len(piece)
    text = base64.urlsafe_b64encode(digest.digest()).rstrip(b"=").decode()
    return Hashed(f"sha256={text}", size)


def rewritten(content: bytes, changed: Mapping[str, Hashed]) -> bytes:
    """Return RECORD with the hashes and sizes of changed files; other rows stay as they are.

    Raises FormatError where it is not such a table, or lacks a changed file.
    """
    try:
        lines = content.decode().splitlines(keepends=True)
    except UnicodeDecodeError as error:
        raise FormatError(f"{RECORD} is not text in UTF-8: {error}") from error
    missing, result = dict(changed), []
    for line in lines:
        row = next(csv.reader([line]), [])
        found = missing.pop(row[0], None) if len(row) == 3 else None
        result.append(line if found is None else _row(row[0], found, line))
    if missing:
        raise FormatError(f"{RECORD} has no row for {next(iter(missing))}")
    return "".join(result).encode()


def _row(name: str, found: Hashed, line: str) -> str:
    text = io.StringIO()
    end = "\r\n" if line.endswith("\r\n") else "\n" if line.endswith("\n") else ""
    csv.writer(text, lineterminator=end).writerow((name, found.digest, found.size))
    return text.getvalue()
