# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Offload containers as data: bytes -> formats -> model -> checks or writers.

Programs find packager.api's names here (docs/python.md). Python imports each at its first use.
"""

from __future__ import annotations

TYPE_CHECKING = False  # the module typing is slow to load, and some commands need nothing else
if TYPE_CHECKING:
    from typing import Any

# fmt: off
__all__ = [
    "Change", "Contents", "Descriptor", "DeviceImage", "DeviceSymbol",
    "EntryTable", "Extracted", "FatBinary", "Finding", "FindingError",
    "FormatError", "Kernel", "OffloadEntry", "PackagerError", "Registration",
    "Resources", "Summary", "Verified", "compare", "entries",
    "entry_states", "extract", "image_bytes", "images", "kernels",
    "load", "summary", "verify",
]
# fmt: on


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'packager' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module("packager.api"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
