# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Clang's programs for NVIDIA's GPUs, up to their launches on the fake driver: no kernel runs."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import nvptx
import pytest
from driver_log import NOTHING, Log
from places import TESTS
from products import Products

REGIONS = TESTS / "support" / "sources" / "nvptx_regions.c"
N = 10000
Build = Callable[..., Path]


@pytest.fixture(scope="module")
def driver(products: Products) -> Path:
    return nvptx.fake_driver(products)


@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("version", nvptx.VERSIONS)
@pytest.mark.parametrize("build", [nvptx.with_ptx, nvptx.linked_by_clang])
def test_each_region_is_launched_as_llvms_plugin_does_it(
    tmp_path: Path, driver: Path, build: Build, version: str, level: str
) -> None:
    if build is nvptx.linked_by_clang and not shutil.which("ptxas"):
        build = nvptx.with_ptx  # what clang's linker wrapper needs is not here
    program = build(version, REGIONS, tmp_path, level)
    memory = {"LIBOMPTARGET_SHARED_MEMORY_SIZE": "4096", "OMP_TARGET_OFFLOAD": "MANDATORY"}
    done = nvptx.run(program, driver, FAKE_CUDA_LOG=str(tmp_path / "log"), **memory)
    assert (done.returncode, done.stderr) == (0, "")
    x, y = (int(word, 16) for word in done.stdout.split())
    log = Log(tmp_path / "log")
    launches = log.launches()
    # A generic kernel gets another warp for its first thread. Clang 19's kernels limit themselves
    # to 64 threads.
    has_another_warp = version == "16" and level == "-O0"
    assert [(one.line, one.blocks, one.threads, one.memory) for one in launches] == [
        (11, 313, 32, 4096),  # a short loop: few threads in more teams
        (14, 313, 32, 4096),
        (17, 1, 128, 4096),
        (24, 7, 96 if has_another_warp else 64, 4096),
    ]
    first, reduction, region, teams = launches
    if version != "16":  # whose kernels take no launch environment
        lent = [one.arguments.pop(0) for one in launches]
        assert [lent[i] for i in (0, 2, 3)] == [NOTHING] * 3
        assert [size for _, size in log.sent(lent[1])] == [16]
    numbers = (first.arguments[0], reduction.arguments[0], region.arguments[1])
    assert [number % 2**32 for number in numbers] == [N] * 3  # clang sets no more of an int
    assert [len(one.arguments) for one in launches] == [3, 3, 2, 1]
    for argument, host in (
        (first.arguments[1], y),
        (first.arguments[2], x),
        (reduction.arguments[2], x),
        (region.arguments[0], y),
        (teams.arguments[0], y),
    ):
        assert (host, 8 * N) in log.sent(argument)
    assert log.blocks() == [1 << 17] * 2  # each region has those of the one before it
    log.unloads_all()


def test_indirect_calls_have_a_table(tmp_path: Path, driver: Path) -> None:
    source = TESTS / "support" / "sources" / "nvptx_indirect.c"
    program = nvptx.with_ptx("19", source, tmp_path, "-fopenmp-version=52")
    done = nvptx.run(program, driver, FAKE_CUDA_LOG=str(tmp_path / "log"))
    assert (done.returncode, done.stderr) == (0, "")
    log = Log(tmp_path / "log")
    assert log.tables() == [32]  # two pairs of addresses
    assert len(log.of("cuMemFree")) == 1
    assert [call[3] for call in log.of("cuMemcpyHtoD")] == ["48", "32", "16"]
    (launch,) = log.launches()
    # A pointer whose function is known at the start of the region gets the device's address.
    one, two = (int(word, 16) for word in done.stdout.split())
    assert not {one, two} & set(launch.arguments)


@pytest.mark.parametrize("reaches", [False, True])
def test_unified_memory_needs_a_gpu_that_reaches_it(
    tmp_path: Path, driver: Path, reaches: bool
) -> None:
    program = nvptx.with_ptx("19", TESTS / "programs" / "openmp" / "unified.c", tmp_path, "-O2")
    log = tmp_path / "log"
    done = nvptx.run(program, driver, FAKE_CUDA_LOG=str(log), FAKE_CUDA_PAGEABLE=str(int(reaches)))
    assert done.returncode >= 0
    assert "FAKE" not in done.stderr
    assert bool(Log(log).launches()) == reaches
    said = (
        "could not be loaded on device 0 (cuda) (it requires unified_shared_memory (the GPU "
        "reaches no pageable memory of the host's: PAGEABLE_MEMORY_ACCESS is 0, "
        "CONCURRENT_MANAGED_ACCESS 1))"
    )
    assert (said in done.stderr) != reaches


def test_constructors_run_first_and_destructors_last(tmp_path: Path, driver: Path) -> None:
    source = TESTS / "programs" / "openmp" / "classes.cpp"
    program = nvptx.with_ptx("19", source, tmp_path)
    nvptx.run(program, driver, FAKE_CUDA_LOG=str(tmp_path / "log"))
    launches = Log(tmp_path / "log").of("cuLaunchKernel")
    names = [call[1] for call in launches]
    assert [names[0], names[-1]] == ["nvptx$device$init", "nvptx$device$fini"]
    assert not any(name.startswith("nvptx$") for name in names[1:-1])
    assert {tuple(call[2:8]) for call in (launches[0], launches[-1])} == {("1",) * 6}


def test_without_a_driver_a_region_says_so(tmp_path: Path) -> None:
    program = nvptx.with_ptx("19", REGIONS, tmp_path)
    nowhere = tmp_path / "no_driver"
    nowhere.mkdir()
    (nowhere / "libcuda.so.1").write_text("this is no library, and comes before one that is\n" * 9)
    done = nvptx.run(program, nowhere)
    assert done.returncode == 0
    reason = "there is no device: plugin cuda has none (no NVIDIA driver: "
    assert len(re.findall(re.escape(reason), done.stderr)) == 4
    assert "libcuda.so.1: invalid ELF header" in done.stderr
