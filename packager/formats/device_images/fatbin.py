# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CUDA fat binaries as an image, where they can't be opened as the container that they are."""

from __future__ import annotations

from packager.files.reader import Reader
from packager.formats.containers.cuda_fatbin import probe
from packager.model import Contents

__all__ = ["inspect", "probe"]


def inspect(_: Reader) -> Contents:
    """Return the kind, the only thing known without opening the container."""
    return Contents("fatbin", "nvptx64", is_opaque=True)
