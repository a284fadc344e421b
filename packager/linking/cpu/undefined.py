# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Explain a failed link of a CPU's device code by its undefined names, in one line."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from packager.errors import MissingToolError, PackagerError, UsageError
from packager.linking.groups import Group
from packager.linking.inputs import device_symbols
from packager.linking.tools import LinkError
from packager.naming.demangle import demangled

# Messages of binutils, lld and mold; C++ names are demangled.
_UNDEFINED = re.compile(r"undefined (?:references? to|symbol:) [`']?([^'`\n]+)")
_NO_LIBOMP = re.compile(r"(?:cannot find -l|unable to find library -l|library not found: )omp\b")
# Symbols that all releases of LLVM's OpenMP library have, and no other library.
_OF_LIBOMP = {
    *("__kmpc_global_thread_num", "__kmpc_fork_call", "__kmpc_barrier", "__kmpc_critical"),
    *("__kmpc_serialized_parallel", "__kmpc_push_num_threads", "__kmpc_for_static_init_4"),
    *("__kmpc_for_static_fini", "__kmpc_single", "__kmpc_master", "__kmpc_omp_taskwait"),
}
_MOST_NAMED = 6


def explained(error: LinkError, group: Group) -> PackagerError:
    """Return the error for a failed link: the error itself, unless a name is undefined.

    It is a MissingToolError if LLVM's OpenMP library is missing, else a UsageError that names the
    first object and its undefined name.
    """
    if _NO_LIBOMP.search(error.said):
        what = f"linking for {group.name}: the linker finds no libomp for -lomp"
        return MissingToolError(f"{what}; name its folder with -L")
    lacking = dict.fromkeys(name.strip() for name in _UNDEFINED.findall(error.said))
    if not _OF_LIBOMP.isdisjoint(lacking):
        what = f"linking for {group.name}: the device code calls LLVM's OpenMP library"
        return MissingToolError(f"{what}: add -lomp to the command")
    for part in group.parts:
        own = [name for name in sorted(device_symbols(part)[0]) if _is_among(name, lacking)]
        if own:
            what = f"its device code for {group.name} uses {_listed(own)}, which nothing defines"
            cure = "compile what defines it for the device, too, or name its library"
            return UsageError(f"{what}; {cure}", Path(part.origin))
    return error


def _is_among(name: str, said: Iterable[str]) -> bool:
    return name in said or demangled(name) in said


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(map(demangled, names[:_MOST_NAMED])) + more
