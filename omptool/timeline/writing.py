# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writing the page of a trace."""

from __future__ import annotations

from pathlib import Path

from omptool.progress import progress
from omptool.timeline.encoder import Encoded
from omptool.timeline.page import page
from packager.files.replacing import replacing
from packager.traces.load import load


def write(trace: Path, out: Path, title: str) -> list[str]:
    """Write the page of a trace, and return notes on omitted parts.

    Raises PackagerError if the trace cannot be read, OSError if the page cannot be written.
    """
    with progress(trace) as bar:
        encoded = Encoded(load(trace, bar.seen), title)
    with replacing(out) as temporary, temporary.open("wb") as file:
        file.writelines(page(encoded))
    return encoded.notes
