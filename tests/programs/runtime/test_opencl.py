# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs on OpenCL: one executable for every device, kinds of memory, and faults."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import opencl
import pytest
from fixture_programs import OMPTOOL, call, compile_host, lower, run, runtime_flags
from linking import link
from places import FIXTURES, TESTS
from portable import EXPECTED, SPIRV, four_images, images_of, with_images
from products import Products

BOTH = {"OMPTOOL_PLUGINS": "host,opencl"}


@pytest.fixture(scope="module")
def vendors(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return opencl.vendors(tmp_path_factory.mktemp("vendors"))


@pytest.fixture(scope="module")
def portable(products: Products) -> Path:
    """Provide one executable with images of the same kernels for CPU, NVIDIA, AMD and OpenCL."""
    return four_images(products)


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


@pytest.fixture(scope="module")
def meeting(products: Products) -> Path:
    """Provide an executable whose kernel ends after kernels on all named devices have begun."""
    source = TESTS / "programs" / "runtime" / "meeting.c"

    def build(folder: Path) -> Path:
        images = images_of(folder, source.with_suffix(".ll"))
        return with_images(folder, source, images, "-pthread")

    return products.made("meeting-four-images", build)


@pytest.mark.parametrize("devices", [["0"], ["1"], ["0", "1"], ["1", "0", "1"]])
def test_one_executable_runs_on_either_plugin_and_on_both_at_once(
    meeting: Path, vendors: dict[str, str], devices: list[str]
) -> None:
    environment = {"OMPTOOL_OPENCL_MEMORY": "shared", "OMP_TARGET_OFFLOAD": "MANDATORY"}
    done = subprocess.run(
        [OMPTOOL, "run", meeting, *devices],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=os.environ | BOTH | vendors | environment,
    )
    assert (done.stdout, done.stderr) == (f"{len(devices)}\n", "")


@pytest.mark.parametrize("memory", ["usm", "device", "svm", "shared"])
def test_each_kind_of_memory(portable: Path, vendors: dict[str, str], memory: str) -> None:
    chosen = {"OMPTOOL_PLUGINS": "opencl", "OMPTOOL_OPENCL_MEMORY": memory}
    done = run(portable, OMP_TARGET_OFFLOAD="MANDATORY", **chosen, **vendors)
    assert done.stderr == ""
    assert done.stdout == EXPECTED


def test_a_kind_of_memory_that_is_none_is_named(portable: Path, vendors: dict[str, str]) -> None:
    chosen = {"OMPTOOL_PLUGINS": "opencl", "OMPTOOL_OPENCL_MEMORY": "buffers"}
    done = run(portable, OMP_TARGET_OFFLOAD="MANDATORY", **chosen, **vendors)
    known = "usm, device, svm, shared"
    assert f"ignores OMPTOOL_OPENCL_MEMORY=buffers; known values: {known}\n" in done.stderr
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
