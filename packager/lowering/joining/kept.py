# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The definitions of joined modules that stay visible; all others may be inlined, or dropped."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from llvmlite import binding as llvm

# Symbols that OpenMP's runtimes look up beside kernels and variables (abi-facts 9.1, 9.3).
_BY_RUNTIMES = re.compile(
    r"__omp_offloading_.*_(?:kernel_environment|exec_mode|nested_parallelism)"
    r"|__omptool_(?:thread_state|device_runtime)"
    r"|__omp_rtl_device_environment|__omp_rtl_device_memory_pool(?:_tracker)?"
    r"|omptarget_device_environment|__llvm_rpc_client|__llvm_libc_rpc_client"
    r"|__(?:init|fini)_array_(?:object_.*|start|end)"
    r"|\.(?:omp_)?offloading\.entry.*"
)
_KERNEL = "__omp_offloading_"  # prefix, also of constructors and destructors of variables
_KERNEL_CALL = re.compile(r"^define [^@\n]*?\b(?:ptx|amdgpu|spir)_kernel ", re.MULTILINE)
# Functions whose calls LLVM's OpenMP optimisations insert.
_BY_OPTIMISATIONS = re.compile(
    "__kmpc_(?:get_hardware_num_threads_in_block|get_hardware_thread_id_in_block|get_warp_size"
    "|barrier_simple_spmd|barrier_simple_generic|kernel_parallel|kernel_end_parallel"
    "|is_spmd_exec_mode|alloc_shared|free_shared|global_thread_num|syncwarp)"
)
_TEAMS = "addrspace(3)"  # teams' memory on NVIDIA's GPUs and AMD's, which no host can name
_MODE = re.compile(r"__omp_offloading_.*_(?:kernel_environment|exec_mode)")
# Execution mode of a kernel: third field of its environment, or a single byte (abi-facts 9.1).
_SPMD = re.compile(r"EnvironmentTy \{ i8 \d+, i8 \d+, i8 2,|constant i8 2(?:,|$)")
_LOCAL = (llvm.Linkage.internal, llvm.Linkage.private)
_SHARED = (
    llvm.Linkage.linkonce_any,
    llvm.Linkage.linkonce_odr,
    llvm.Linkage.weak_any,
    llvm.Linkage.weak_odr,
)
_LISTS = ("llvm.used", "llvm.compiler.used")
_NAME = re.compile(r'@(?:"([^"]*)"|([-a-zA-Z$._0-9]+))')


def definitions(module: llvm.ModuleRef) -> Iterator[llvm.ValueRef]:
    """Yield the functions and variables that a module defines, visible or local."""
    for value in (*module.global_variables, *module.functions):
        if not value.is_declaration and value.linkage != llvm.Linkage.available_externally:
            yield value


def declarations(module: llvm.ModuleRef) -> Iterator[llvm.ValueRef]:
    """Yield the names that a module uses but does not define, without LLVM's intrinsics."""
    for value in (*module.global_variables, *module.functions):
        is_own = not value.is_declaration and value.linkage != llvm.Linkage.available_externally
        if not is_own and not value.name.startswith("llvm."):
            yield value


def is_local(value: llvm.ValueRef) -> bool:
    """Return whether no other module can name it."""
    return value.linkage in _LOCAL


def is_kernel(value: llvm.ValueRef) -> bool:
    """Return whether a host may launch the function."""
    return bool(value.name.startswith(_KERNEL) or _KERNEL_CALL.search(str(value)))


def is_for_others(value: llvm.ValueRef) -> bool:
    """Return whether a program or its runtime may look for a definition of a module of its own."""
    if is_local(value):
        return False
    if _BY_RUNTIMES.fullmatch(value.name):
        return True
    if value.visibility == llvm.Visibility.hidden or _TEAMS in str(value.type):
        return False
    return not value.is_function or is_kernel(value)


def is_for_runtime(name: str) -> bool:
    """Return whether a runtime looks for the name in any image."""
    return bool(_BY_RUNTIMES.fullmatch(name))


def is_for_optimisations(name: str) -> bool:
    """Return whether a function must exist when LLVM optimises calls of OpenMP's runtime."""
    return bool(_BY_OPTIMISATIONS.fullmatch(name))


def all_spmd(module: llvm.ModuleRef) -> bool:
    """Return whether each kernel is SPMD, so that optimisations insert no such call."""
    modes = [str(v) for v in module.global_variables if _MODE.fullmatch(v.name)]
    return bool(modes) and all(_SPMD.search(mode) for mode in modes)


def used(module: llvm.ModuleRef) -> frozenset[str]:
    """Return the names in `llvm.used` and `llvm.compiler.used`, whose users LLVM cannot see."""
    texts = (str(v) for v in module.global_variables if v.name in _LISTS)
    found = (_NAME.finditer(text.partition("=")[2]) for text in texts)
    return frozenset(name[1] or name[2] for names in found for name in names)


def forget_used(library: llvm.ModuleRef) -> None:
    """Rename a library's llvm.used lists, which would keep functions that nothing calls."""
    for value in list(library.global_variables):
        if value.name in _LISTS:
            value.name = value.name.replace("llvm.", "library.")  # LLVM knows them by their names
            value.linkage = llvm.Linkage.internal


def internalise(module: llvm.ModuleRef, kept: Collection[str], *, shares: bool) -> None:
    """Make all definitions internal but those of `kept`.

    `shares`: the image is linked with other files, which may have the same inline functions.
    """
    for value in definitions(module):
        name = value.name
        if name in kept or name.startswith("llvm.") or is_local(value):
            continue
        if shares and value.linkage in _SHARED:
            continue
        # Change the linkage first: LLVM aborts on an internal definition without default
        # visibility.
        value.linkage = llvm.Linkage.internal
