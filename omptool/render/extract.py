# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Render `omptool extract`, as text for people and as JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from omptool.console import portable
from omptool.render.dumped import dumped_image, kernel_names
from omptool.render.tables import table
from packager.writers.extract import Extracted


def kernels_text(done: Sequence[Extracted]) -> str:
    """The kernels of images, a line for each."""
    rows = [
        {"image": one.number, "target": one.image.target, "kernel": name}
        for one in done
        for name in kernel_names(one.binary, one.image)
    ]
    return table("kernels", rows)


def extract_json(source: Path, done: Sequence[Extracted]) -> str:
    """The document of schemas/extract.json."""
    images = [
        {
            **dumped_image(one.binary, one.image),
            "index": one.number,
            "path": portable(one.path) if one.path else None,
        }
        for one in done
    ]
    return json.dumps({"schema": 1, "source": portable(source), "images": images}, indent=2)
