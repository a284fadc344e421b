# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The GPU kit without a GPU: on the fake CUDA driver up to its launches, on OpenCL for real."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import made
import make
import nvptx
import opencl
import pytest
from fixture_programs import call
from made import Tools
from places import TESTS
from products import Products

WITHOUT = {"version": "0", "llvm": False, "why no llvm": "", "programs": [], "not built": []}


def _small(folder: Path) -> Path:
    """Make a kit of the parts that are quick to build: no cubins, no programs by clang."""
    kit, tools = folder / "kit", Tools(None, None)
    for part in ("lib", "images", "programs", "faults"):
        (kit / part).mkdir(parents=True)
    make.copy_fixed(kit)
    programs, _ = made.all_programs(kit, tools, "portable kernels")
    made.faults_by_hand(kit, tools)
    make.check_libraries(kit)
    (kit / "manifest.json").write_text(json.dumps(WITHOUT | {"programs": programs}))
    return kit


@pytest.fixture(scope="module")
def kit(products: Products) -> Path:
    return products.made("gpu-kit-small", _small)


def _started(
    kit: Path, folder: Path, *options: object, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run it where there is a shell and Python, and nothing else."""
    bare = folder / "bin"
    bare.mkdir()
    python = Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}"
    for name, path in {"python3": python, "dirname": shutil.which("dirname")}.items():
        assert path
        (bare / name).symlink_to(path)
    return subprocess.run(
        [kit / "test-gpu", *map(str, options)],
        cwd=folder,
        env={"PATH": str(bare), "OCL_ICD_VENDORS": str(bare)} | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )


def _verdicts(folder: Path) -> dict[str, str]:
    record: dict[str, Any] = json.loads((folder / "gpu-results" / "results.json").read_text())
    return {one["name"]: one["verdict"] for one in record["tests"]}


def test_without_a_gpu_it_says_so_in_a_line(kit: Path, tmp_path: Path) -> None:
    (tmp_path / "libcuda.so.1").write_text("this is no library, and comes before one that is\n")
    done = _started(kit, tmp_path, "--driver", tmp_path)
    assert (done.returncode, done.stderr) == (77, "")
    assert len(done.stdout.splitlines()) == 1
    assert "there is no GPU here: no NVIDIA driver" in done.stdout


def test_through_liboffload_it_says_why_there_is_no_gpu(kit: Path, tmp_path: Path) -> None:
    done = _started(kit, tmp_path, "--plugin", "liboffload", OMPTOOL_LIBOFFLOAD="amd")
    assert (done.returncode, done.stderr) == (77, "")
    assert "there is no GPU here: no device of liboffload: no AMD GPU: there is no" in done.stdout


def test_on_the_fake_driver_it_gets_to_its_launches(
    kit: Path, tmp_path: Path, products: Products
) -> None:
    parts = ("--part", "programs", "--part", "observing", "--part", "faults")
    done = _started(kit, tmp_path, "--driver", nvptx.fake_driver(products), *parts)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "A FAKE DRIVER" in done.stdout.splitlines()[0]
    assert re.search("portable kernels, PTX, cuda: 35 launches on the fake driver", done.stdout)
    verdicts = _verdicts(tmp_path)
    skipped = [name for name, verdict in verdicts.items() if verdict == "skipped"]
    assert len(skipped) == 3  # a cubin, clang's, and 1,000 arguments
    assert {verdicts[name] for name in verdicts if name not in skipped} == {"passed"}


def test_a_failure_is_counted(kit: Path, tmp_path: Path, products: Products) -> None:
    own = tmp_path / "kit"
    shutil.copytree(kit, own)
    (own / "faults" / "faults").write_bytes(b"no program")
    options = ("--part", "faults", "--only", "threads")
    done = _started(own, tmp_path, "--driver", nvptx.fake_driver(products), *options)
    assert done.returncode == 1
    assert "0 passed, 1 failed" in done.stdout.splitlines()[-1]


def test_on_opencl_it_runs(kit: Path, tmp_path: Path) -> None:
    """The kit runs on Intel's driver for CPUs, because no test machine has a GPU."""
    vendors = opencl.vendors(tmp_path / "vendors")
    nowhere = ("--driver", tmp_path)
    done = _started(kit, tmp_path, "--part", "programs", *nowhere, **vendors)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert _verdicts(tmp_path) == {"portable kernels, PTX, opencl": "passed"}


@pytest.mark.exhaustive
def test_the_whole_kit(tmp_path: Path, products: Products) -> None:
    """The kit lacks LLVM's runtime, which takes minutes to pack."""
    call(sys.executable, TESTS / "gpu" / "make.py", "--without-llvm", "--out", tmp_path)
    (packed,) = tmp_path.glob("*.tar.gz")
    assert packed.stat().st_size < make.MOST
    with tarfile.open(packed) as archive:
        archive.extractall(tmp_path)
    kit = tmp_path / packed.name.removesuffix(".tar.gz")
    driver = nvptx.fake_driver(products)
    vendors = opencl.vendors(tmp_path / "vendors")
    fake = {"FAKE_CUDA_KERNELS": str(nvptx.fake_kernels(products))}
    done = _started(kit, tmp_path, "--driver", driver, **fake, **vendors)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
