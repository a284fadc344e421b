# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Move constructors and destructors of variables to `.init_array` and `.fini_array`.

llvmlite's target machines write `.ctors` and `.dtors`, which LLVM's linker and mold do not run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from llvmlite import binding as llvm

from packager.lowering.joining.kept import is_local
from packager.lowering.modules import link

_LISTS = {"llvm.global_ctors": ".init_array", "llvm.global_dtors": ".fini_array"}
_ENTRY = re.compile(r'\{ i32 (\d+), ptr @(?:"([^"]*)"|([-a-zA-Z$._0-9]+)), ptr ')
_DEFAULT = 65535  # the priority of those that name none


def in_sections(module: llvm.ModuleRef, *, is_cpu: bool) -> None:
    """List the functions of `llvm.global_ctors` and `llvm.global_dtors` in arrays of pointers.

    On a GPU LLVM's own lists stay: they make LLVM write the kernels that call the arrays.
    """
    for variable in list(module.global_variables):
        section = _LISTS.get(variable.name)
        if section:
            _list(module, list(_entries(variable)), section)
            if is_cpu:
                variable.name = f"omptool{section}"  # LLVM knows them by their names
                variable.linkage = llvm.Linkage.internal


def _entries(variable: llvm.ValueRef) -> Iterator[tuple[int, str]]:
    for entry in _ENTRY.finditer(str(variable)):
        yield int(entry[1]), entry[2] or entry[3]


def _list(module: llvm.ModuleRef, entries: list[tuple[int, str]], section: str) -> None:
    local = []
    lines, arrays = [], []
    for number, (priority, name) in enumerate(entries):
        function = module.get_function(name)
        if is_local(function):  # the array's module has to see it
            function.linkage = llvm.Linkage.external
            local.append(function)
        array = f"@.omptool{section}.{number}"
        place = section if priority == _DEFAULT else f"{section}.{priority:05}"
        lines.append(f'declare void @"{name}"()')
        lines.append(f'{array} = internal global ptr @"{name}", section "{place}", align 8')
        arrays.append(f"ptr {array}")
    listed = f"[{len(arrays)} x ptr] [{', '.join(arrays)}]"
    lines.append(f'@llvm.used = appending global {listed}, section "llvm.metadata"')
    if arrays:
        link(module, llvm.parse_assembly("\n".join(dict.fromkeys(lines)) + "\n"))
    for function in local:
        function.linkage = llvm.Linkage.internal
