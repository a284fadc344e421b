# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Baselines: the known findings of a project, so that only new ones fail a build."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

from packager.errors import FormatError
from packager.records import NamedTuple

SCHEMA = 1
_ADDRESS = re.compile(r"0x[0-9a-f]+")


class Known(NamedTuple):
    """A finding, by the facts that do not change between builds."""

    file: str
    code: str
    message: str  # without addresses, which differ in each run

    def __str__(self) -> str:
        return f"{self.file}: {self.code}: {self.message}"


def known(file: str, code: str, message: str) -> Known:
    """Return a finding as a baseline has it."""
    return Known(file, code, _ADDRESS.sub("0x…", message))


def read(text: str) -> set[Known]:
    """Parse a baseline. Raises FormatError for any other text."""
    try:
        document = json.loads(text)
        if document["schema"] != SCHEMA:
            raise FormatError(f"is a baseline of schema {document['schema']!r}, not {SCHEMA}")
        return {_of_row(row) for row in document["findings"]}
    except (ValueError, TypeError, KeyError) as error:
        raise FormatError(f"is no baseline: {error!r}") from error


def _of_row(row: Mapping[str, object]) -> Known:
    file, code, message = (row[name] for name in Known._fields)
    if not (isinstance(file, str) and isinstance(code, str) and isinstance(message, str)):
        raise TypeError("file, code and message are not strings")
    return Known(file, code, message)


def written(findings: Iterable[Known]) -> str:
    """Return the text of a baseline with these findings."""
    rows = [one._asdict() for one in sorted(set(findings))]
    document = {"schema": SCHEMA, "findings": rows}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
