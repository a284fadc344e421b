# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Device code of clang 23 for NVIDIA's GPUs, up to its launches on the fake driver: no kernel runs.

The clang 23 that is here makes no PTX: llc of 22 lowers its IR. No device library of 23 is here.
Virtual tables are clang 22's, too.
"""

from __future__ import annotations

from pathlib import Path

import nvptx
import pytest
from clangs import INSTALLED, libraries, tool
from driver_log import NOTHING, Log
from fixture_programs import NVPTX, OMPTOOL, call
from places import TESTS
from products import Products

from omptool.installation import libdir

N = 10000
REGIONS = TESTS / "support" / "sources" / "nvptx_regions.c"
# A variable of the device library, by which images are recognised as clang's.
LIBRARY = ".visible .const .align 8 .b8 __omp_rtl_device_environment[48];\n"
# Parts of clang 23's IR that LLVM 22 cannot parse.
NEW = (", target_mem: none", "target_mem: none, ")


def ptx_of(source: Path, folder: Path, version: str = "23") -> Path:
    """Compile device code to PTX."""
    clang = [*tool(version), "-O2", "-fopenmp", f"-fopenmp-targets={NVPTX}"]
    march = ("-Xopenmp-target", f"-march={nvptx.ARCHITECTURE}")
    alone = ("-nogpulib", "--offload-device-only", "-emit-llvm", "-S")
    call(*clang, *march, *alone, source, "-o", folder / "device.ll")
    text = (folder / "device.ll").read_text()
    for word in NEW:
        text = text.replace(word, "")
    (folder / "device.ll").write_text(text)
    llc = [*tool("22", "llc"), "-march=nvptx64", f"-mcpu={nvptx.ARCHITECTURE}", "-O2"]
    call(*llc, folder / "device.ll", "-o", folder / "device.ptx")
    with (folder / "device.ptx").open("a") as ptx:
        ptx.write(LIBRARY)
    return folder / "device.ptx"


def program_of(source: Path, folder: Path, version: str = "23") -> Path:
    """Build the program of a source file, with its PTX."""
    host = nvptx.host_object(version, source, folder, "-O2")
    image = f"{NVPTX}:{nvptx.ARCHITECTURE}={ptx_of(source, folder, version)}"
    call(OMPTOOL, "bundle", host, "--image", image, "-o", folder / "whole.o")
    libraries_of_all = (f"-L{libdir()}", "-lomptarget", f"-L{libraries(INSTALLED)}", "-lomp")
    call("g++", folder / "whole.o", *libraries_of_all, "-o", folder / "app")
    return folder / "app"


def test_each_region_gets_its_environment_last(tmp_path: Path, products: Products) -> None:
    driver = nvptx.fake_driver(products)
    program, log = program_of(REGIONS, tmp_path), tmp_path / "log"
    done = nvptx.run(program, driver, FAKE_CUDA_LOG=str(log), OMP_TARGET_OFFLOAD="MANDATORY")
    assert (done.returncode, done.stderr) == (0, "")
    x, y = (int(word, 16) for word in done.stdout.split())
    calls = Log(log)
    launches = calls.launches()
    assert [(one.line, one.blocks, one.threads) for one in launches] == [
        (11, 313, 32),
        (14, 313, 32),
        (17, 1, 128),
        (24, 7, 64),
    ]
    lent = [one.arguments.pop() for one in launches]
    assert [lent[i] for i in (0, 2, 3)] == [NOTHING] * 3
    assert [size for _, size in calls.sent(lent[1])] == [32]
    first, reduction, region, teams = launches
    assert [len(one.arguments) for one in launches] == [3, 3, 2, 1]
    for argument, host_address in (
        (first.arguments[1], y),
        (first.arguments[2], x),
        (reduction.arguments[2], x),
        (region.arguments[0], y),
        (teams.arguments[0], y),
    ):
        assert (host_address, 8 * N) in calls.sent(argument)
    calls.unloads_all()


@pytest.mark.parametrize("version", ["22", "23"])
def test_each_word_of_a_virtual_table_can_be_looked_up(
    tmp_path: Path, products: Products, version: str
) -> None:
    """Objects point into their tables, behind what comes before the first function."""
    driver = nvptx.fake_driver(products)
    source = TESTS / "support" / "sources" / "nvptx_virtual.cpp"
    log = tmp_path / "log"
    environment = {"FAKE_CUDA_LOG": str(log), "OMP_TARGET_OFFLOAD": "MANDATORY"}
    done = nvptx.run(program_of(source, tmp_path, version), driver, **environment)
    assert (done.returncode, done.stderr) == (0, "")
    calls = Log(log)
    assert len(calls.launches()) == 1
    assert calls.tables() == [128]  # size of two tables of four words
    assert [call[3] for call in calls.of("cuMemcpyHtoD")] == ["48", "128", "16"]
    assert len(calls.of("cuMemFree")) == 1
