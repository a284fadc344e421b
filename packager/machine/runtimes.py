"""Which runtime a libomptarget is: a release of LLVM's, or omptool's under one of its names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from packager.elf import headers
from packager.elf.dynamic import Dynamic
from packager.files.reader import open_reader
from packager.formats.device_images.comment import clang_releases, llvm_releases
from packager.machine.dynamic_loader import Library, find_library, libraries

NAME = "libomptarget.so"
# The version of the interface documents' calls, which LLVM's libraries do not have.
OURS = b"\0OMPTARGET_4.5\0"
# The last LLVM whose library has no release in its name.
UNNAMED = 14
# What it lacks, and all later ones have.
KERNEL_CALL = b"\0__tgt_target_kernel\0"
# Up to this LLVM the code for each kind of device is a library of its own.
LAST_WITH_PLUGINS = 18
CPU_PLUGIN = "libomptarget.rtl.x86_64.so"
_RELEASE = re.compile(re.escape(NAME) + r"\.(\d{1,4})(?:\..*)?")


class Runtime(NamedTuple):
    """The libomptarget that the loader picks."""

    path: Path
    release: int | None  # of LLVM; None: omptool's; 0: it does not say
    lack: str = ""  # why it cannot use images for the CPU; "" if it can


def picked(loaded: Sequence[Library], environment: Mapping[str, str]) -> Runtime | None:
    """The first of the libraries, in the order in which they are loaded; None if none is found.

    Raises FormatError when it is malformed.
    """
    found = [lib for lib in loaded if lib.path and lib.name.startswith(NAME)]
    library = next(iter(found), None)
    if library and NAME in library.needed:  # a stub of omptool's, for the core under this name
        library = next((lib for lib in found if lib.name == NAME), None)
    if library is None or library.path is None:
        return None
    if _is_core(library.path):
        return Runtime(library.path, None)
    release = _release(library, library.path)
    has_plugins = 0 < release <= LAST_WITH_PLUGINS
    lack = _lack_of_plugin(library.path, loaded, environment) if has_plugins else ""
    return Runtime(library.path, release, lack)


def _lack_of_plugin(
    runtime: Path, loaded: Sequence[Library], environment: Mapping[str, str]
) -> str:
    """What is not found: its plugin for the CPU, or what the plugin needs; "" if nothing."""
    plugin = find_library(CPU_PLUGIN, environment, runtime)
    if plugin is None:
        return f"its plugin {CPU_PLUGIN} is not found"
    there = {library.name for library in loaded if library.path}
    wanted = libraries(plugin, environment)
    return next((lib.lack for lib in wanted if lib.lack and lib.name not in there), "")


def compilers(program: Path) -> tuple[int, ...]:
    """The releases of clang that compiled parts of `program`, as far as it says so.

    Raises FormatError when it is malformed.
    """
    with open_reader(program) as data:
        return clang_releases(headers.read(data))


def _release(library: Library, path: Path) -> int:
    """The release of LLVM that the library is of; 0 if it says nothing of it.

    Vendors leave it out of the name: what compiled and linked theirs is of the release, mostly.
    """
    named = _RELEASE.fullmatch(library.soname or library.name)
    if named:
        return int(named[1])
    with open_reader(path) as data:
        elf = headers.read(data)
        if KERNEL_CALL not in Dynamic(elf).strings():
            return UNNAMED
        return max(llvm_releases(elf), default=0)


def _is_core(path: Path) -> bool:
    """Whether it is omptool's."""
    with open_reader(path) as data:
        return OURS in Dynamic(headers.read(data)).strings()
