# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Clang 19's programs launch their kernels as on LLVM 19's own runtime and plugin, one by one.

Both run on the fake CUDA driver, where no kernel runs, so that the programs' results are wrong.
What they map lies at the same addresses in both: they have one thread, and environments of one
length.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import cubins
import launch_logs
import nvptx
import pytest
from clangs import INSTALLED, libraries
from fixture_programs import call
from llvm_runtime import llvm_libraries
from places import TESTS
from products import Products
from whole_programs import FATAL, sources

from omptool.installation import libdir

SOURCES = TESTS / "support" / "sources"
APPLICATIONS = {"stream": (30_000, 3), "stencil": (20, 70, 11), "nbody": (60, 5)}
PROGRAMS = [*sources(TESTS / "programs" / "openmp"), *sources(TESTS / "programs" / "applications")]
# Cases: every second one in `make test`, all in `make test-all`.
CASES = [
    pytest.param(source, marks=pytest.mark.exhaustive if number % 2 else (), id=source.stem)
    for number, source in enumerate(PROGRAMS)
]
FLAGS = ("-O2", "-fopenmp-extensions", "-fopenmp-version=51")
# GPUs have no long double. Excluded are programs that end or crash LLVM's runtime: constant tables
# used without mapping, parts that a mapper adds to a struct, queries of interop.
WITHOUT = ("-DWIDE=double", "-DONLY_WHAT_LLVM_CAN", "-DRESULTS_DO_NOT_COUNT")
WRAPPED = (
    *("__tgt_target_kernel", "omp_target_alloc", "omp_alloc", "llvm_omp_target_alloc_host"),
    *("llvm_omp_target_alloc_shared", "llvm_omp_target_alloc_device"),
    *("malloc", "calloc", "aligned_alloc", "free", "_Znwm", "_Znam", "_ZdaPv", "_ZdlPvm"),
)


@pytest.fixture(scope="module")
def driver(products: Products) -> Path:
    return nvptx.fake_driver(products)


@pytest.fixture(scope="module")
def telling(products: Products) -> Path:
    """Make the objects that are linked into each program."""

    def make(folder: Path) -> Path:
        told = folder / "told_regions.o"
        call("gcc", "-O1", "-c", SOURCES / "told_regions.c", "-o", told)
        return told

    return products.made("told-regions", make)


def built(source: Path, folder: Path, telling: Path) -> Path:
    """Build the program with a cubin, in the form that LLVM's plugin loads."""
    host = nvptx.host_object(INSTALLED, source, folder, *FLAGS, *WITHOUT)
    ptx = nvptx.device_ptx(INSTALLED, source, folder, *FLAGS, *WITHOUT)
    images = {nvptx.ARCHITECTURE: cubins.write(ptx, nvptx.ARCHITECTURE)}
    wraps = ",".join(f"--wrap={name}" for name in WRAPPED)
    # libomp precedes our library: both define routines, and ours have versions that LLVM's
    # libomptarget lacks.
    linked = (str(telling), f"-Wl,{wraps}", f"-L{libraries(INSTALLED)}", "-lomp")
    return nvptx.registered(INSTALLED, host, images, folder / "app", *linked)


def launches(program: Path, runtime: Path, driver: Path) -> tuple[int, str, launch_logs.LaunchLog]:
    """Return the program's exit code, its output and its launches on a runtime."""
    arguments = map(str, APPLICATIONS.get(program.parent.name, ()))
    log = runtime.with_suffix(".log")
    environment = {
        "LD_LIBRARY_PATH": f"{runtime}:{driver}:{libraries(INSTALLED)}",
        "FAKE_CUDA_ARCH": nvptx.ARCHITECTURE.removeprefix("sm_"),
        "FAKE_CUDA_CONTENTS": "4096",
        "FAKE_CUDA_LOG": "/dev/stderr",
        "FAKE_CUDA_PAGEABLE": str(int(program.parent.name == "unified")),
        "LIBOMPTARGET_INFO": "-1",
        "LIBOMPTARGET_SHARED_MEMORY_SIZE": "512",
        "LIBOMP_USE_HIDDEN_HELPER_TASK": "0",
        "OMPTOOL_PLUGINS": "cuda",
        "OMP_TARGET_OFFLOAD": "MANDATORY",
        "OMP_THREAD_LIMIT": "1",
    }
    with log.open("ab") as stderr:
        done = subprocess.run(
            ["setarch", "-R", program, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            check=False,
            timeout=120,
            env=os.environ | environment,
        )
    text = log.read_text(errors="replace")
    return done.returncode, text, launch_logs.LaunchLog(text)


def told(text: str) -> list[str]:
    """Return the lines for users about the regions' launches."""
    return re.findall(r"Launching kernel \w+ with .*", text)


@pytest.mark.parametrize("source", CASES)
def test_each_launch_is_llvms(tmp_path: Path, driver: Path, telling: Path, source: Path) -> None:
    folder = tmp_path / source.stem
    folder.mkdir()
    program = built(source, folder, telling)
    runtimes = {"ours": libdir(), "llvm": llvm_libraries()}
    for name, place in runtimes.items():
        (tmp_path / name).symlink_to(place)
    (code, text, ours), (llvms_code, llvms_text, llvms) = (
        launches(program, tmp_path / name, driver) for name in runtimes
    )
    assert "FAKE" not in text + llvms_text
    assert "runs on the host" not in text
    # Wrong results may end a program: by exit code 1, or by abort().
    assert {code, llvms_code} <= ({-6} if source.stem in (*FATAL, "lifetimes") else {0, 1})
    assert bool(ours.launches) == (source.stem not in FATAL)
    assert told(text) == told(llvms_text)
    for one, llvms_one in zip(ours.launches, llvms.launches, strict=True):
        assert one == llvms_one
        assert one.lent >= llvms_one.lent
        assert one.result == 0
