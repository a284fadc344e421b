# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Open a trace, and recognise its format by its first bytes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from packager.errors import FormatError
from packager.files.reader import open_input
from packager.look import unwatched
from packager.traces import chrome, perfetto
from packager.traces.model import Trace


def load(path: Path, seen: Callable[[int], None] = unwatched) -> Trace:
    """Return the trace in a file; `seen` gets the offset that reading has come to."""
    with open_input(path) as data:
        if not len(data):
            raise FormatError("is empty")
        if perfetto.probe(data):
            return perfetto.read(data, seen)
        if chrome.probe(data):
            return chrome.read(data, seen)
    raise FormatError("is neither Chrome's trace events (JSON) nor a trace of Perfetto")
