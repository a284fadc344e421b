# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Faults on OpenCL: the device's limits, and a driver that fails, on Intel's for CPUs.

A loader that fails (runtime/tests/support/fakes/opencl) stands before the real one: kernels run.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import failing_opencl
import opencl
import pytest
from fixture_programs import OMPTOOL, call, compile_host, lower, runtime_flags
from linking import link
from places import ROOT, TESTS
from products import Products

from omptool.installation import libdir

SPIRV = "spirv64-unknown-unknown"
FAULTS = TESTS / "gpu" / "sources" / "faults.c"
NATIVE = TESTS / "support" / "native_binary.py"
REACHING = TESTS / "support" / "reaching.py"
TEAM_MEMORY = TESTS / "programs" / "runtime" / "team_memory.ll"
FUNCTIONS = re.findall(
    r"^  X\((cl\w+)", (ROOT / "runtime/plugins/opencl/cl.h").read_text(), re.MULTILINE
)
# Functions that this program does not call: for memory other than the device's own, earlier
# drivers, binaries, wrong modules, and the end of contexts.
NOT_CALLED = {
    *(name for name in FUNCTIONS if "SVM" in name or "Fill" in name),
    "clCreateProgramWithBinary",
    "clCreateProgramWithILKHR",
    "clEnqueueMarkerWithWaitList",
    "clGetDeviceGlobalVariablePointerINTEL",
    "clGetProgramBuildInfo",
    "clGetProgramInfo",
    "clHostMemAllocINTEL",
    "clReleaseContext",
    "clSetKernelArgMemPointerINTEL",
    "clSharedMemAllocINTEL",
}
FOR_SLOW_ONES = {"clGetEventInfo", "clWaitForEvents"}  # nobody waits for what has ended already
DEVICE = {"OMPTOOL_OPENCL_MEMORY": "device"}


def _program(folder: Path, image: Path) -> Path:
    host = compile_host(FAULTS, folder / "host.o")
    call(OMPTOOL, "bundle", host, "--force", f"--image={SPIRV}={image}", "-o", folder / "bundled.o")
    return link(folder / "app", folder / "bundled.o", flags=runtime_flags())


def _build(folder: Path) -> Path:
    return _program(folder, lower(FAULTS.with_suffix(".ll"), folder / "k.spv", triple=SPIRV))


@pytest.fixture(scope="module")
def program(products: Products) -> Path:
    return products.made("opencl-faults", _build)


@pytest.fixture(scope="module")
def loader(products: Products) -> Path:
    return failing_opencl.loader(products)


@pytest.fixture(scope="module")
def vendors(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return opencl.vendors(tmp_path_factory.mktemp("vendors"))


def _run(
    program: Path, case: str, environment: dict[str, str], loader: Path | None = None
) -> subprocess.CompletedProcess[str]:
    folders = [*([str(loader)] if loader else []), str(libdir())]
    fixed = {"LD_LIBRARY_PATH": ":".join(folders), "OMPTOOL_PLUGINS": "opencl"}
    return subprocess.run(
        [program, case],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=os.environ | fixed | environment,
    )


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("threads", r"the launch asks for teams of 100000 threads; the device allows \d+"),
        ("memory", r"no memory for 4398046511104 bytes: the device gives \d+ at most"),
    ],
)
def test_what_the_device_has_not_is_the_hosts_turn(
    program: Path, vendors: dict[str, str], case: str, reason: str
) -> None:
    done = _run(program, case, vendors)
    assert (done.returncode, done.stdout) == (0, "host 7\n")
    (line,) = done.stderr.splitlines()
    assert re.search(f"region right runs on the host: .*{reason}", line)


def test_too_much_memory_of_a_teams_own_is_the_hosts_turn(
    tmp_path: Path, vendors: dict[str, str]
) -> None:
    """A kernel needs 64 MiB of team memory."""
    program = _program(tmp_path, lower(TEAM_MEMORY, tmp_path / "k.spv", triple=SPIRV))
    done = _run(program, "right", vendors)
    assert (done.returncode, done.stdout) == (0, "host 7\n")
    (line,) = done.stderr.splitlines()
    need = "it needs 67108864 bytes of a team's own memory; the device has"
    assert re.search(rf"region right runs on the host: .*kernel right: {need} \d+", line)


@pytest.mark.parametrize("reaches", [True, False])
def test_whether_kernels_reach_the_hosts_memory(
    loader: Path, vendors: dict[str, str], reaches: bool
) -> None:
    chosen = {"LD_LIBRARY_PATH": str(loader), "FAKE_CL_SYSTEM": str(int(reaches))} | vendors
    done = subprocess.run(
        [sys.executable, REACHING],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | chosen,
    )
    answer, reason = done.stdout.splitlines()
    assert answer == str(reaches)
    assert reason.startswith(
        "" if reaches else "the device reaches only memory that its driver has"
    )


def test_a_region_after_memory_ran_out_runs_on_the_device(
    program: Path, vendors: dict[str, str]
) -> None:
    assert _run(program, "memory_then_right", vendors).stdout == "device 7\n"


def test_a_kernel_that_never_ends_is_named(program: Path, vendors: dict[str, str]) -> None:
    done = _run(program, "endless", vendors | {"OMPTOOL_KERNEL_TIMEOUT": "1"})
    assert (done.returncode, done.stdout) == (-signal.SIGABRT, "")
    assert "fatal error: region endless on device 0 has not ended within 1 s" in done.stderr


@pytest.mark.parametrize("memory", ["usm", "device"])
def test_a_kernel_that_has_failed_is_named_and_ends_the_program(
    program: Path, loader: Path, vendors: dict[str, str], memory: str
) -> None:
    """The loader reports it like a GPU's driver (decision 23); Intel's driver gets a signal."""
    chosen = {"OMPTOOL_OPENCL_MEMORY": memory, "FAKE_CL_FAULT": "1"} | vendors
    done = _run(program, "right", chosen, loader)
    assert (done.returncode, done.stdout) == (-signal.SIGABRT, "")
    what = "clEnqueueNDRangeKernel of right: CL_OUT_OF_RESOURCES (-5)"
    line = f"omptarget fatal error: region right failed on device 0 (opencl) with error 1 ({what})"
    assert done.stderr.splitlines()[0] == line


@pytest.mark.parametrize("case", ["fault", "fault_later"])
@pytest.mark.parametrize("plugins", ["opencl", "host,opencl"])
def test_a_kernel_that_faults_is_named_and_the_signal_ends_the_program(
    program: Path, vendors: dict[str, str], case: str, plugins: str
) -> None:
    done = _run(program, case, {"OMPTOOL_PLUGINS": plugins} | vendors)
    assert (done.returncode, done.stdout) == (-signal.SIGSEGV, "")
    first, *drivers = done.stderr.splitlines()
    assert first == "omptarget: kernel fault ends by SIGSEGV at 0x10, on a CPU of OpenCL"
    assert all(line.startswith("PLEASE submit a bug report") for line in drivers)


def test_a_native_binary_runs_and_a_broken_one_does_not(
    program: Path, vendors: dict[str, str], tmp_path: Path
) -> None:
    """Intel's driver for CPUs makes the image, for clCreateProgramWithBinary."""
    binary = tmp_path / "native"
    make = [sys.executable, str(NATIVE), str(program.parent / "k.spv"), str(binary)]
    subprocess.run(make, check=True, env=os.environ | vendors)
    done = _run(_program(tmp_path, binary), "right", vendors)
    assert (done.stdout, done.stderr) == ("device 7\n", "")
    broken = tmp_path / "broken"
    broken.write_bytes(binary.read_bytes()[:-2000])
    done = _run(_program(tmp_path, broken), "right", vendors)
    assert (done.returncode, done.stdout) == (0, "host 7\n")
    reason = r"\(the image cannot be loaded: clCreateProgramWithBinary: CL_INVALID_BINARY \(-42\)\)"
    assert re.search(reason, done.stderr)


def _ends_well(done: subprocess.CompletedProcess[str]) -> bool:
    """Return whether the result is right, on either side, or a line and SIGABRT end the program."""
    if done.returncode == -signal.SIGABRT:
        return "omptarget fatal error: " in done.stderr
    return (done.returncode, done.stdout) in [(0, "device 7\n"), (0, "host 7\n")]


@pytest.mark.parametrize("function", sorted(set(FUNCTIONS) - NOT_CALLED))
def test_a_device_is_lost_at_any_function(
    program: Path, loader: Path, vendors: dict[str, str], function: str
) -> None:
    """Later calls return CL_DEVICE_NOT_AVAILABLE."""
    lost = {"FAKE_CL_FAIL_WITH": "-2", "FAKE_CL_FAIL_AT": "1", "FAKE_CL_FAIL_ON": "1"}
    chosen = lost | DEVICE | {"FAKE_CL_FAIL_IN": function} | vendors
    done = _run(program, "right", chosen, loader)
    assert _ends_well(done), done
    if function not in FOR_SLOW_ONES:
        assert f"FAKE: call 1, {function}" in done.stderr


@pytest.mark.exhaustive
@pytest.mark.parametrize("stay", ["0", "1"])
@pytest.mark.parametrize("memory", ["usm", "device", "svm", "shared"])
def test_each_call_fails_once(
    program: Path, loader: Path, vendors: dict[str, str], memory: str, stay: str
) -> None:
    for call_number in range(1, 400):
        chosen = {"FAKE_CL_FAIL_AT": str(call_number), "FAKE_CL_FAIL_ON": stay} | vendors
        done = _run(program, "right", chosen | {"OMPTOOL_OPENCL_MEMORY": memory}, loader)
        assert _ends_well(done), (call_number, done)
        if "FAKE: call" not in done.stderr:
            break
    assert 40 < call_number < 399
