# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The options of `omptool cc` itself, as opposed to the compiler's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from packager.compiling.targets import Target
from packager.records import NamedTuple

if TYPE_CHECKING:
    from packager.linking.image_cache import ImageCache
    from packager.writers.entries import EntrySource


class Options(NamedTuple):
    """The user's options for `omptool cc`."""

    targets: Sequence[Target]
    includes: Path
    runtime: Path
    warn: Callable[[str], None]
    entries: EntrySource = "host"  # source of the entries of kernels in LLVM IR
    libraries: tuple[Path, ...] = ()  # bitcode of functions that kernels call
    keeps_ptx: bool = False  # even if ptxas could assemble it
    force: bool = False
    sets_rpath: bool = True  # to the folder of `runtime`
    cache: ImageCache | None = None  # of images that LLVM has joined
