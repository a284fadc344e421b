# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Identify a libomptarget: a release of LLVM's, or omptool's runtime under one of its names."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from packager.abi import release_of
from packager.elf import headers
from packager.elf.imports import Dynamic
from packager.files.reader import open_reader
from packager.formats.device_images.comment import clang_releases, llvm_releases
from packager.machine.dynamic_loader import Library, find_library, libraries
from packager.records import NamedTuple

NAME, STEM = "libomptarget.so", "libomptarget"
# Version of the interface documents' functions, which LLVM's libraries lack.
OURS = b"\0OMPTARGET_4.5\0"
# Last LLVM without a release in its library's name.
UNNAMED = 14
# Symbol that LLVM 14's library lacks, and all later ones have.
KERNEL_CALL = b"\0__tgt_target_kernel\0"
# Last LLVM whose code for each kind of device is a separate library.
LAST_WITH_PLUGINS = 18


class Runtime(NamedTuple):
    """The libomptarget that the loader picks."""

    path: Path
    release: int | None  # LLVM's release; None: omptool's; 0: unknown
    lack: str = ""  # why it cannot use images for the CPU; "" if it can


def picked(
    loaded: Sequence[Library], environment: Mapping[str, str], asked: Collection[str] = ()
) -> Runtime | None:
    """Return the first runtime in the order of loading; None if there is none.

    `asked` names libraries from which the program needs versions of a runtime's functions: a
    runtime may have another name than LLVM's. Raises FormatError if the library is malformed.
    """
    library = next((lib for lib in loaded if lib.path and is_asked(lib, asked)), None)
    if library is None or library.path is None:
        return None
    # A stub of omptool's needs the core, whose name decides.
    needed = [lib for lib in loaded if lib.name in library.needed and lib.name.startswith(STEM)]
    for path in (library.path, *(lib.path for lib in needed if lib.path)):
        if _is_core(path):
            return Runtime(path, None)
    release = _release(library, library.path)
    has_plugins = 0 < release <= LAST_WITH_PLUGINS
    lack = _lack_of_plugin(library.path, loaded, environment) if has_plugins else ""
    return Runtime(library.path, release, lack)


def is_asked(library: Library, asked: Collection[str]) -> bool:
    """Return whether a library is the program's offload runtime; see `picked`."""
    return library.name.startswith(NAME) or library.name in asked


def cpu_plugin() -> str:
    """Return the file name of LLVM's plugin for this machine's CPU, up to LLVM 18."""
    return f"{STEM}.rtl.{os.uname().machine}.so"


def _lack_of_plugin(
    runtime: Path, loaded: Sequence[Library], environment: Mapping[str, str]
) -> str:
    """Return the missing one of the CPU plugin and its libraries; "" if all are found."""
    name = cpu_plugin()
    plugin = find_library(name, environment, runtime)
    if plugin is None:
        return f"its plugin {name} is not found"
    there = {library.name for library in loaded if library.path}
    with open_reader(plugin) as data:
        wanted = libraries(plugin, headers.read(data), environment)
    return next((lib.lack for lib in wanted if lib.lack and lib.name not in there), "")


def compilers(program: headers.Elf) -> tuple[int, ...]:
    """Return the clang releases that compiled parts of `program`, as far as it names them.

    Raises FormatError if the file is malformed.
    """
    return clang_releases(program)


def _release(library: Library, path: Path) -> int:
    """Return the LLVM release of a library; 0 if unknown.

    If a vendor omits the release from the SONAME, the newest compiler or linker release in the file
    decides.
    """
    named = release_of(library.soname or library.name)
    if named:
        return named
    with open_reader(path) as data:
        elf = headers.read(data)
        if KERNEL_CALL not in Dynamic(elf).strings():
            return UNNAMED
        return max(llvm_releases(elf), default=0)


def _is_core(path: Path) -> bool:
    """Return whether the library is omptool's core."""
    with open_reader(path) as data:
        return OURS in Dynamic(headers.read(data)).strings()
