# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The library exports every function that LLVM's own do, and what libomp looks for besides."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from clangs import SNAPSHOTS, UNPACKED_SNAPSHOTS, WITH_RUNTIME, llvm_library, runtime

from omptool.installation import libdir

# Functions of LLVM's library that this one does not need.
LEFT_OUT = {
    "ompt_libomptarget_connect": "libomp asks nobody for it; the library connects to libomp",
}
# Functions that Intel's build of LLVM 23 adds.
_MEMORY = "a routine of Intel's own for memory, which omp.h of LLVM does not declare"
_TRACING = "Intel's own tracing, which its tools use; omptool has OMPT's device tracing"
_INTERNAL = "a call of Intel's compilers and libiomp5 alone, whose programs need Intel's runtime"
INTELS = {
    **dict.fromkeys(("__tgt_get_device_name", "__tgt_get_device_rtl_name"), _INTERNAL),
    **dict.fromkeys(("__tgt_is_device_available", "__tgt_push_code_location"), _INTERNAL),
    **dict.fromkeys(("__tgt_register_ptask_services", "__tgt_task_completed"), _INTERNAL),
    **dict.fromkeys(("omp_target_get_context", "ompx_get_device_from_ptr"), _INTERNAL),
    **dict.fromkeys(("ompx_get_device_info", "ompx_get_num_subdevices"), _INTERNAL),
}
INTELS_PREFIXES = {
    "ompt_oneapi_": _TRACING,
    "omp_target_alloc_": _MEMORY,
    "ompx_target_": _MEMORY,
}
# Symbols that libomp looks up by name (abi-facts.md, 7.2).
LOOKED_UP = {
    "__tgt_get_num_devices",
    "omp_get_num_devices",
    "__tgt_target_nowait_query",
    "__tgt_target_sync",
    "llvm_omp_target_alloc_host",
    "llvm_omp_target_alloc_shared",
    "llvm_omp_target_alloc_device",
    "llvm_omp_target_free_host",
    "llvm_omp_target_free_shared",
    "llvm_omp_target_free_device",
    "omp_target_free",
    "llvm_omp_target_lock_mem",
    "llvm_omp_target_unlock_mem",
    "omp_get_interop_int",
    "omp_get_interop_ptr",
    "omp_get_interop_str",
    "omp_get_interop_name",
    "omp_get_interop_type_desc",
    "omp_get_interop_rec_desc",
    "omp_get_num_interop_properties",
    "omp_get_uid_from_device",
    "omp_get_device_from_uid",
    "tgt_pause_resource",
    "__tgt_get_mem_resources",
    "__tgt_omp_alloc",
    "__tgt_omp_free",
}


def exported(library: Path, version: str) -> set[str]:
    """Return the functions that `library` exports under a symbol version."""
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True
    ).stdout
    names = (line.split() for line in listed.splitlines())
    symbols = {name[2] for name in names if len(name) == 3 and name[1] in "TWi"}
    return {symbol.split("@")[0] for symbol in symbols if symbol.endswith(f"@{version}")}


def missing(library: Path) -> set[str]:
    """Return the functions of an LLVM library that this one lacks without a reason."""
    theirs = exported(library, "VERS1.0")
    assert "__tgt_register_lib" in theirs
    return theirs - exported(libdir() / "libomptarget.so", "VERS1.0") - LEFT_OUT.keys()


@pytest.mark.parametrize(
    "version",
    [
        *WITH_RUNTIME,
        *(
            pytest.param(
                version, marks=() if version in UNPACKED_SNAPSHOTS else pytest.mark.exhaustive
            )
            for version in SNAPSHOTS
        ),
    ],
)
def test_every_function_of_llvms_library_is_there(version: str) -> None:
    assert missing(llvm_library(version)) == set()


@pytest.mark.parametrize("version", ["20", "22"])
def test_every_function_of_pyomps_library_is_there(version: str) -> None:
    assert missing(runtime(version) / "libomptarget.so") == set()


def test_every_function_of_intels_build_of_llvms_library_is_there() -> None:
    """But for Intel's own, each of which has its reason."""
    lacking = missing(runtime("23") / "libomptarget.so")
    assert lacking >= INTELS.keys()
    assert {n for n in lacking - INTELS.keys() if not n.startswith((*INTELS_PREFIXES,))} == set()


def test_so_is_everything_that_libomp_looks_for() -> None:
    assert LOOKED_UP - exported(libdir() / "libomptarget.so", "VERS1.0") == set()
