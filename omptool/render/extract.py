# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Render `omptool extract`, as text for people and as JSON for programs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from omptool.console import portable
from omptool.render.dumped import dumped_image, kernel_names
from omptool.render.names import called, raw, terminal_width
from omptool.render.tables import table
from packager.writers.extract import Extracted

CUT = ("kernel", "target")


def kernels_text(done: Sequence[Extracted], *, is_wide: bool) -> str:
    """Return a line for each kernel of the images."""
    found = [(one, name) for one in done for name in kernel_names(one.binary, one.image)]
    names = called(name for _, name in found)
    rows = [
        {
            "kernel": names[name],
            "image": one.number,
            "target": one.image.target,
            "raw name": raw(name, names[name], is_wide=is_wide),
        }
        for one, name in found
    ]
    return table("kernels", rows, None if is_wide else terminal_width(), CUT, ["target"])


def extract_json(source: Path, done: Sequence[Extracted]) -> str:
    """Return the document of schemas/extract.json."""
    images = [
        {
            **dumped_image(one.binary, one.image),
            "index": one.number,
            "path": portable(one.path) if one.path else None,
        }
        for one in done
    ]
    import json  # slow to load

    return json.dumps({"schema": 1, "source": portable(source), "images": images}, indent=2)
