# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The rooms of omptool and packager, from the top, as the contracts in pyproject.toml have them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from importlinter import api

ROOT = Path(__file__).parents[1]


def levels(tree: str) -> tuple[tuple[str, ...], ...]:
    """Return the folders of a tree that have a layer, as in ("formats/containers",)."""
    contracts = api.read_configuration(str(ROOT / "pyproject.toml"))["contracts_options"]
    layers = {c["containers"][0]: c["layers"] for c in contracts if c["type"] == "layers"}
    return tuple(filter(None, _levels(tree, layers)))


def _levels(container: str, layers: dict[str, list[str]]) -> Iterator[tuple[str, ...]]:
    below = container.replace(".", "/")
    for layer in layers[container]:
        names = re.split(r" [|:] ", layer)
        if f"{container}.{names[0]}" in layers:
            yield from _levels(f"{container}.{names[0]}", layers)
        else:
            folders = (f"{below}/{name}" for name in names if (ROOT / below / name).is_dir())
            yield tuple(folder.partition("/")[2] for folder in folders)
