# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Say in one line what a CPU's device code lacks, where its link failed for that."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from packager.errors import MissingToolError, PackagerError, UsageError
from packager.linking.groups import Group
from packager.linking.inputs import device_symbols
from packager.linking.tools import LinkError
from packager.naming.demangle import demangled

# As binutils, and as lld and mold, say it; C++'s names are demangled.
_UNDEFINED = re.compile(r"undefined (?:references? to|symbol:) [`']?([^'`\n]+)")
_NO_LIBOMP = re.compile(r"(?:cannot find -l|unable to find library -l|library not found: )omp\b")
# All releases of LLVM's OpenMP library have these, and no other library does.
_OF_LIBOMP = {
    *("__kmpc_global_thread_num", "__kmpc_fork_call", "__kmpc_barrier", "__kmpc_critical"),
    *("__kmpc_serialized_parallel", "__kmpc_push_num_threads", "__kmpc_for_static_init_4"),
    *("__kmpc_for_static_fini", "__kmpc_single", "__kmpc_master", "__kmpc_omp_taskwait"),
}
_MOST_NAMED = 6


def explained(error: LinkError, group: Group) -> PackagerError:
    """Return what to say of a failed link: the error itself, unless something was not defined.

    It is a MissingToolError where LLVM's OpenMP library is what lacks, else a UsageError that names
    the first object and what it uses.
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
