# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool doctor` predicts each plugin's choice: CPU, OpenCL and the fake CUDA driver at once.

A program's regions run where it says. The loader of OpenCL's fails at launches (FAKE_CL_*), and the
fake CUDA driver keeps a log: that shows which plugin had them.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import failing_opencl
import nvptx
import opencl
import portable
import pytest
from doctoring import diagnosis
from products import Products

from omptool.installation import libdir

ALL = "cuda,host,opencl"
NO_DRIVER = {"OCL_ICD_VENDORS": "/nowhere"}


@pytest.fixture
def environment(
    products: Products, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, str]:
    """Provide an environment in which all three plugins have devices, for doctor and programs."""
    folders = (failing_opencl.loader(products), nvptx.fake_driver(products))
    monkeypatch.setenv("LD_LIBRARY_PATH", ":".join(map(str, folders)))
    return {
        "OMPTOOL_PLUGINS": ALL,
        "OMPTOOL_CACHE_DIR": str(tmp_path / "cache"),
        "FAKE_CL_FAIL_IN": "clEnqueueNDRangeKernel",
        "FAKE_CL_FAIL_AT": "1",
        "FAKE_CL_FAIL_ON": "1",
        **opencl.vendors(tmp_path / "vendors"),
    }


def _where_it_ran(program: Path, log: Path, environment: dict[str, str]) -> str:
    """Return where the program ran, in doctor's words."""
    path = f"{libdir()}:{os.environ['LD_LIBRARY_PATH']}"
    done = subprocess.run(
        [program],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=os.environ | environment | {"LD_LIBRARY_PATH": path, "FAKE_CUDA_LOG": str(log)},
    )
    device = environment.get("OMP_DEFAULT_DEVICE", "0")
    if refused := re.search(r"device (\d+) \(opencl\) did not start the kernel", done.stderr):
        return f"device {refused[1]} (opencl)"
    if log.exists() and "cuLaunchKernel" in log.read_text():
        return f"device {device} (cuda)"
    return "host" if "ran on the host" in done.stdout else f"device {device} (host)"


def _predicted(said: dict[str, Any]) -> str:
    (place,) = {entry["runs_on"] for entry in said["entries"] if entry["kind"] == "kernel"}
    assert isinstance(place, str)
    return place


def _choices(said: dict[str, Any]) -> list[str]:
    """Return the device numbers and the rule of each image."""
    return [f"{image['devices']} {image['rule']}" for image in said["images"]]


NONE_FOR_AMD = (
    "[] cuda: it is no PTX, no cubin and no CUDA fat binary; "
    "host: it is for a machine other than x86-64; "
    "opencl: it does not begin as a SPIR-V module does"
)


@pytest.mark.slow
def test_each_image_has_its_plugin(products: Products, environment: dict[str, str]) -> None:
    said = diagnosis(portable.four_images(products), **environment)
    assert _choices(said) == [
        "[0] plugin host accepts it",
        "[1] plugin cuda accepts it",
        NONE_FOR_AMD,
        "[2] plugin opencl accepts it",
    ]


@pytest.mark.slow
def test_each_bitcode_has_its_plugin(products: Products, environment: dict[str, str]) -> None:
    said = diagnosis(portable.left_as_bitcode(products), FAKE_CUDA_DEVICES="2", **environment)
    assert _choices(said) == [
        "[0] plugin host accepts it",
        "[1, 2] plugin cuda accepts it",
        "[3] plugin opencl accepts it",
    ]


def test_a_plugin_that_counts_no_device_says_why(
    products: Products, environment: dict[str, str]
) -> None:
    said = diagnosis(
        portable.four_images(products), **environment | {"FAKE_CUDA_DEVICES": "0"} | NO_DRIVER
    )
    no_device = "cuInit: CUDA_ERROR_NO_DEVICE, no CUDA-capable device is detected"
    cuda, _, spirv = _choices(said)[1:]
    assert cuda == f"[] plugin cuda accepts it, but has no device ({no_device})"
    reason = "(OpenCL's loader finds no driver)"
    assert spirv == f"[] plugin opencl accepts it, but has no device {reason}"
    messages = [finding["message"] for finding in said["findings"]]
    what = f"image 3 ({portable.SPIRV} SPIR-V 1.2) has no device"
    assert f"{what}: plugin opencl has none {reason}" in messages


def test_an_image_that_no_gpu_here_runs_is_refused_by_name(
    products: Products, environment: dict[str, str]
) -> None:
    said = diagnosis(portable.four_images(products), **environment | {"FAKE_CUDA_ARCH": "60"})
    _, cuda, _, spirv = _choices(said)
    assert cuda.startswith("[] cuda: the image is for PTX for sm_75, the GPU is sm_60; ")
    assert spirv == "[1] plugin opencl accepts it"


SETTINGS = [
    ({}, "device 0 (host)"),
    ({"OMP_DEFAULT_DEVICE": "1"}, "device 1 (cuda)"),
    ({"OMP_DEFAULT_DEVICE": "2"}, "device 2 (opencl)"),
    ({"OMP_DEFAULT_DEVICE": "3"}, "host"),
    ({"OMP_DEFAULT_DEVICE": "3", "FAKE_CUDA_DEVICES": "2"}, "device 3 (opencl)"),
    ({"OMP_DEFAULT_DEVICE": "1", "FAKE_CUDA_DEVICES": "0"}, "device 1 (opencl)"),
    ({"OMPTOOL_PLUGINS": "opencl"}, "device 0 (opencl)"),
    ({"OMPTOOL_PLUGINS": "opencl"} | NO_DRIVER, "host"),
    ({"OMPTOOL_PLUGINS": "cuda", "FAKE_CUDA_DEVICES": "0"}, "host"),
]
OF_IMAGES = [
    *SETTINGS,
    ({"OMP_DEFAULT_DEVICE": "1", "FAKE_CUDA_ARCH": "60"}, "device 1 (opencl)"),
    ({"OMPTOOL_PLUGINS": "cuda", "FAKE_CUDA_ARCH": "60"}, "host"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("setting", "place"), OF_IMAGES, ids=str)
def test_regions_run_where_it_says(
    products: Products,
    environment: dict[str, str],
    tmp_path: Path,
    setting: dict[str, str],
    place: str,
) -> None:
    program = portable.four_images(products)
    chosen = environment | setting
    assert _predicted(diagnosis(program, **chosen)) == place
    assert _where_it_ran(program, tmp_path / "log", chosen) == place


@pytest.mark.slow
@pytest.mark.parametrize(("setting", "place"), SETTINGS[:3], ids=str)
def test_regions_left_as_bitcode_run_where_it_says(
    products: Products,
    environment: dict[str, str],
    tmp_path: Path,
    setting: dict[str, str],
    place: str,
) -> None:
    program = portable.left_as_bitcode(products)
    chosen = environment | setting
    assert _predicted(diagnosis(program, **chosen)) == place
    assert _where_it_ran(program, tmp_path / "log", chosen) == place
