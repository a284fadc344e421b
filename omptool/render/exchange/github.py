# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Print findings as annotations of GitHub's workflows, which GitHub shows in the sources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from omptool.console import portable
from packager.model import FatBinary, Finding
from packager.questions.source_places import place_of

# GitHub's levels by severity.
LEVELS = {"error": "error", "warning": "warning", "info": "notice"}


def lines(results: Iterable[tuple[FatBinary, Sequence[Finding]]]) -> Iterator[str]:
    """Yield a line for each finding."""
    for binary, findings in results:
        for finding in findings:
            place = place_of(binary, finding)
            where = {"file": portable(binary.file or binary.path)}
            if place:
                where = {"file": portable(place.file)}
                where |= {"line": str(place.line)} if place.line else {}
            where["title"] = f"{finding.code} {portable(binary.path)}"
            properties = ",".join(f"{key}={_property(value)}" for key, value in where.items())
            text = "\n".join((finding.message, finding.hint, *finding.detail))
            yield f"::{LEVELS[finding.severity]} {properties}::{_data(text)}"


def _data(text: str) -> str:
    """Return text as the runner reads it: a percent sign and ends of lines by their numbers."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
