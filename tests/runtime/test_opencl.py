"""Programs on OpenCL: one executable for every device, the memory they use, and what goes wrong."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import opencl
import pytest
from fixture_programs import (
    NVPTX,
    OMPTOOL,
    X86_64,
    call,
    compile_host,
    lower,
    run,
    runtime_flags,
)
from linking import link
from places import FIXTURES, TESTS
from products import Products

SPIRV = "spirv64-unknown-unknown"
AMDGCN = "amdgcn-amd-amdhsa"
BOTH = {"OMPTOOL_PLUGINS": "host,opencl"}
EXPECTED = (FIXTURES / "portable" / "expected.txt").read_text()


@pytest.fixture(scope="module")
def vendors(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return opencl.vendors(tmp_path_factory.mktemp("vendors"))


def _build(folder: Path) -> Path:
    ir = FIXTURES / "portable" / "kernels.ll"
    host = compile_host(FIXTURES / "portable" / "host.c", folder / "host.o")
    images = {
        X86_64: lower(ir, folder / "kernels.so"),
        f"{NVPTX}:sm_75": lower(ir, folder / "kernels.ptx", "--cpu", "sm_75", triple=NVPTX),
        f"{AMDGCN}:gfx90a": lower(ir, folder / "kernels.co", "--cpu", "gfx90a", triple=AMDGCN),
        SPIRV: lower(ir, folder / "kernels.spv", triple=SPIRV),
    }
    options = [word for where, path in images.items() for word in ("--image", f"{where}={path}")]
    call(OMPTOOL, "bundle", host, *options, "-o", folder / "bundled.o")
    return link(folder / "app", folder / "bundled.o", flags=runtime_flags())


@pytest.fixture(scope="module")
def portable(products: Products) -> Path:
    """One executable with images of the same kernels for CPU, NVIDIA, AMD and OpenCL."""
    return products.made("opencl-portable", _build)


@pytest.mark.parametrize("plugin", ["host", "opencl"])
def test_one_executable_runs_on_each_plugin(
    portable: Path, vendors: dict[str, str], plugin: str
) -> None:
    done = run(portable, OMP_TARGET_OFFLOAD="MANDATORY", OMPTOOL_PLUGINS=plugin, **vendors)
    assert done.stderr == ""
    assert done.stdout == EXPECTED


@pytest.mark.parametrize("device", ["0", "1"])
def test_both_plugins_have_devices_in_one_process(
    portable: Path, vendors: dict[str, str], device: str
) -> None:
    done = run(
        portable, OMP_TARGET_OFFLOAD="MANDATORY", OMP_DEFAULT_DEVICE=device, **BOTH, **vendors
    )
    assert done.stderr == ""
    assert done.stdout == EXPECTED


def test_both_plugins_work_at_once(tmp_path: Path, vendors: dict[str, str]) -> None:
    """Each kernel ends when the other has begun."""
    source = TESTS / "runtime" / "meeting.c"
    host = compile_host(source, tmp_path / "host.o", "-pthread")
    images = [
        f"--image={triple}={lower(source.with_suffix('.ll'), tmp_path / triple, triple=triple)}"
        for triple in (X86_64, SPIRV)
    ]
    call(OMPTOOL, "bundle", host, *images, "-o", tmp_path / "bundled.o")
    app = link(tmp_path / "app", tmp_path / "bundled.o", flags=(*runtime_flags(), "-pthread"))
    shared = {"OMPTOOL_OPENCL_MEMORY": "shared"}
    done = run(app, OMP_TARGET_OFFLOAD="MANDATORY", **BOTH, **shared, **vendors)
    assert (done.stdout, done.stderr) == ("2\n", "")


@pytest.mark.parametrize("memory", ["usm", "device", "svm", "shared"])
def test_each_kind_of_memory(portable: Path, vendors: dict[str, str], memory: str) -> None:
    chosen = {"OMPTOOL_PLUGINS": "opencl", "OMPTOOL_OPENCL_MEMORY": memory}
    done = run(portable, OMP_TARGET_OFFLOAD="MANDATORY", **chosen, **vendors)
    assert done.stderr == ""
    assert done.stdout == EXPECTED


def test_a_kind_of_memory_that_is_none_is_named(portable: Path, vendors: dict[str, str]) -> None:
    chosen = {"OMPTOOL_PLUGINS": "opencl", "OMPTOOL_OPENCL_MEMORY": "buffers"}
    done = run(portable, OMP_TARGET_OFFLOAD="MANDATORY", **chosen, **vendors)
    assert "OMPTOOL_OPENCL_MEMORY=buffers is not usm, device, svm or shared" in done.stderr
    assert done.stdout == EXPECTED


def test_without_a_driver_the_reason_is_said(portable: Path, tmp_path: Path) -> None:
    nowhere = {"OCL_ICD_VENDORS": str(tmp_path), "OMPTOOL_PLUGINS": "opencl"}
    done = run(portable, **nowhere)
    assert done.returncode == 0
    assert "ran on the host" in done.stdout
    assert (
        "there is no device: plugin opencl has none (OpenCL's loader finds no driver)"
        in done.stderr
    )


def test_broken_spirv_falls_back_with_the_reason(tmp_path: Path, vendors: dict[str, str]) -> None:
    good = lower(FIXTURES / "portable" / "kernels.ll", tmp_path / "good.spv", triple=SPIRV)
    (tmp_path / "bad.spv").write_bytes(good.read_bytes()[:400])
    host = compile_host(FIXTURES / "portable" / "host.c", tmp_path / "host.o")
    image = f"{SPIRV}={tmp_path / 'bad.spv'}"
    call(OMPTOOL, "bundle", host, "--force", "--image", image, "-o", tmp_path / "bundled.o")
    app = link(tmp_path / "app", tmp_path / "bundled.o", flags=runtime_flags())
    done = run(app, **BOTH, **vendors)
    assert done.returncode == 0
    assert "ran on the host" in done.stdout
    assert "its SPIR-V is cut off, or broken" in done.stderr


def test_devices_shows_them(vendors: dict[str, str]) -> None:
    environment = os.environ | BOTH | vendors
    done = subprocess.run(
        [OMPTOOL, "devices"], capture_output=True, text=True, env=environment, check=True
    )
    line = next(line for line in done.stdout.splitlines() if line.startswith("opencl"))
    assert line.split()[1] == "ready"
    assert "SPIR-V_1." in done.stdout
    assert "SPIR-V, native" in done.stdout


def test_doctor_predicts_the_choice(portable: Path, vendors: dict[str, str]) -> None:
    environment = os.environ | BOTH | vendors
    done = subprocess.run(
        [OMPTOOL, "doctor", str(portable)],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    images = [line.split() for line in done.stdout.splitlines() if " spirv " in line]
    assert images == [
        ["3", "spirv", SPIRV, "1", "plugin", "opencl", "accepts", "it"],
    ]
