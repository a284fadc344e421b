# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A kernel with 1,000 arguments: on the CPU, on OpenCL, and on the fake CUDA driver."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import nvptx
import opencl
import pytest
from fixture_programs import NVPTX, OMPTOOL, X86_64, call, compile_host, lower, runtime_flags
from linking import link
from lowered import summing
from places import TESTS
from products import Products

from omptool.installation import libdir

SPIRV = "spirv64-unknown-unknown"
SOURCE = TESTS / "support" / "sources" / "many_arguments.c"
COUNT = 1000
SUM = 499500


def _build(folder: Path) -> Path:
    ir = folder / "sum.ll"
    ir.write_text(summing(COUNT))
    host = compile_host(SOURCE, folder / "host.o", f"-DCOUNT={COUNT}")
    images = {
        X86_64: lower(ir, folder / "k.so"),
        f"{NVPTX}:sm_75": lower(ir, folder / "k.ptx", "--cpu", "sm_75", triple=NVPTX),
        SPIRV: lower(ir, folder / "k.spv", triple=SPIRV),
    }
    given = [word for where, path in images.items() for word in ("--image", f"{where}={path}")]
    call(OMPTOOL, "bundle", host, *given, "-o", folder / "bundled.o")
    return link(folder / "app", folder / "bundled.o", flags=runtime_flags())


@pytest.fixture(scope="module")
def program(products: Products) -> Path:
    return products.made("many-arguments", _build)


def _run(program: Path, plugin: str, **environment: str) -> subprocess.CompletedProcess[str]:
    fixed = {"LD_LIBRARY_PATH": str(libdir()), "OMPTOOL_PLUGINS": plugin}
    return subprocess.run(
        [program],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=os.environ | fixed | environment,
    )


@pytest.mark.offloads
def test_the_cpu_passes_all_of_them(program: Path) -> None:
    done = _run(program, "host")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"device {SUM}\n", "")


def test_opencl_passes_them(program: Path, tmp_path: Path) -> None:
    """Intel's driver for CPUs accepts more than CL_DEVICE_MAX_PARAMETER_SIZE (3840)."""
    done = _run(program, "opencl", **opencl.vendors(tmp_path / "vendors"))
    assert (done.returncode, done.stdout, done.stderr) == (0, f"device {SUM}\n", "")


def test_cuda_hands_all_of_them_to_the_driver(
    program: Path, products: Products, tmp_path: Path
) -> None:
    path = f"{libdir()}:{nvptx.fake_driver(products)}"
    log = tmp_path / "log"
    done = _run(program, "cuda", LD_LIBRARY_PATH=path, FAKE_CUDA_LOG=str(log))
    assert (done.returncode, done.stderr) == (0, "")
    (launch,) = [
        line.split() for line in log.read_text().splitlines() if line.startswith("cuLaunchKernel")
    ]
    arguments = launch[10 : launch.index("=")]
    assert [int(word, 16) for word in arguments[1:]] == list(range(1, COUNT))
