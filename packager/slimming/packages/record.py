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
MOST = 1 << 26  # bytes of a RECORD: the largest have some MiB


class Hashed(NamedTuple):
    """The hash and size of a file, in RECORD's form."""

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
    """Return a file's hash and size in the form of RECORD."""
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            digest.update(piece)
            size += len(piece)
    text = base64.urlsafe_b64encode(digest.digest()).rstrip(b"=").decode()
    return Hashed(f"sha256={text}", size)


def rows(content: bytes) -> list[tuple[list[str], str]]:
    """Return each row of RECORD with the text of its line. Raises FormatError for other text."""
    try:
        lines = io.StringIO(content.decode(), newline="").readlines()
        return [(next(csv.reader([line]), []), line) for line in lines]
    except (UnicodeDecodeError, csv.Error) as error:
        raise FormatError(f"{RECORD} is no table of files in UTF-8: {error}") from error


def rewritten(content: bytes, changed: Mapping[str, Hashed]) -> bytes:
    """Return RECORD with the hashes and sizes of changed files; other rows are unchanged.

    Raises FormatError if it is no such table, or lacks a changed file.
    """
    missing, result = set(changed), []
    for row, line in rows(content):
        found = changed.get(row[0]) if row else None
        missing.difference_update(row[:1])
        result.append(line if found is None else _row(row[0], found, line))
    if missing:
        raise FormatError(f"{RECORD} has no row for {min(missing)}")
    return "".join(result).encode()


def _row(name: str, found: Hashed, line: str) -> str:
    text = io.StringIO(newline="")
    end = line[len(line.rstrip("\r\n")) :]
    csv.writer(text, lineterminator=end).writerow((name, found.digest, found.size))
    return text.getvalue()
