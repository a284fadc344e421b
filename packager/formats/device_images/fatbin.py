# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CUDA fat binaries as a single image, if they cannot be opened as a container."""

from __future__ import annotations

from packager.files.reader import Reader
from packager.formats.containers.cuda_fatbin import probe
from packager.model import Contents

__all__ = ["inspect", "probe"]


def inspect(_: Reader) -> Contents:
    """Return the kind, the only thing known without opening the container."""
    return Contents("fatbin", "nvptx64", is_opaque=True)
