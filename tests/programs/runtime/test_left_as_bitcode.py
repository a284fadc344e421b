# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Images left as bitcode: plugins have them compiled at their first use, and keep the result."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import clangs
import nvptx
import opencl
import pytest
from fixture_programs import OMPTOOL, X86_64, call, lower, run
from places import FIXTURES, TESTS
from portable import EXPECTED, SOURCE, bitcode, left_as_bitcode, with_images
from products import Products

from omptool.installation import libdir

JIT_SOURCE = TESTS / "programs" / "openmp" / "scalars.c"
MANDATORY = {"OMP_TARGET_OFFLOAD": "MANDATORY"}
NO_HELPER = (
    "omptool, which would compile its bitcode, is neither installed beside the runtime nor on PATH"
)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Provide an empty cache for the programs that the test starts."""
    monkeypatch.setenv("OMPTOOL_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def _bundle(folder: Path, *images: str) -> Path:
    pairs = (image.split("=", 1) for image in images)
    return with_images(folder, SOURCE, {where: Path(path) for where, path in pairs})


@pytest.fixture(scope="module")
def portable(products: Products) -> Path:
    """Provide one executable with bitcode of the same kernels for CPU, NVIDIA and OpenCL."""
    return left_as_bitcode(products)


def _kept(cache: Path) -> dict[str, int]:
    """Return the cache's files with their inode numbers."""
    return {path.name: path.stat().st_ino for path in cache.iterdir()}


@pytest.mark.offloads
def test_a_cpus_bitcode_is_compiled_once(portable: Path, cache: Path) -> None:
    kept = []
    for _ in range(2):
        done = run(portable, **MANDATORY, OMPTOOL_PLUGINS="host")
        assert (done.stdout, done.stderr) == (EXPECTED, "")
        kept.append(_kept(cache))
    assert kept[0] == kept[1]
    assert len(kept[0]) == 1
    (entry,) = cache.iterdir()
    assert entry.stat().st_mode & 0o777 == 0o600
    entry.write_bytes(entry.read_bytes()[:-1] + b"?")  # damaged
    done = run(portable, **MANDATORY, OMPTOOL_PLUGINS="host")
    assert (done.stdout, done.stderr) == (EXPECTED, "")
    assert _kept(cache).keys() == kept[0].keys()


def test_opencl_and_the_cpu_have_theirs(portable: Path, cache: Path, tmp_path: Path) -> None:
    chosen = MANDATORY | opencl.vendors(tmp_path / "vendors") | {"OMPTOOL_PLUGINS": "host,opencl"}
    for device in ("0", "1"):
        done = run(portable, **chosen, OMP_DEFAULT_DEVICE=device)
        assert (done.stdout, done.stderr) == (EXPECTED, "")
    assert len(_kept(cache)) == 2


def test_cudas_bitcode_becomes_ptx_for_its_gpu(
    portable: Path, cache: Path, products: Products, tmp_path: Path
) -> None:
    """The fake driver runs no kernel, and its GPU is sm_90."""
    log = tmp_path / "log"
    environment = {"FAKE_CUDA_LOG": str(log), "OMPTOOL_PLUGINS": "cuda"}
    driver = nvptx.fake_driver(products)
    path = f"{libdir()}:{driver}"
    subprocess.run(
        [portable], env=os.environ | environment | {"LD_LIBRARY_PATH": path}, check=False
    )
    assert "cuModuleLoadDataEx" in log.read_text()
    (entry,) = cache.iterdir()
    assert b".target sm_90" in entry.read_bytes()


def test_clangs_bitcode_for_nvidia_is_launched(
    cache: Path, products: Products, tmp_path: Path
) -> None:
    """Clang's linker has linked the device library into the bitcode, for the fake driver."""
    cuda = nvptx.looks_like_cuda(clangs.INSTALLED, tmp_path)
    command = [*clangs.tool(clangs.INSTALLED), *nvptx.offloading(clangs.INSTALLED), "-O2"]
    call(*command, f"--cuda-path={cuda}", "-fopenmp-target-jit", JIT_SOURCE, "-o", tmp_path / "app")
    log = tmp_path / "log"
    environment = {"FAKE_CUDA_LOG": str(log), "OMPTOOL_PLUGINS": "cuda"}
    folders = (libdir(), nvptx.fake_driver(products), clangs.libraries(clangs.INSTALLED))
    environment["LD_LIBRARY_PATH"] = ":".join(map(str, folders))
    subprocess.run([tmp_path / "app"], env=os.environ | environment, check=False)
    assert "cuLaunchKernel __omp_offloading_" in log.read_text()
    assert len(_kept(cache)) == 1


@pytest.mark.offloads
@pytest.mark.parametrize("form", ["-fopenmp-target-jit", "-foffload-lto"])
def test_clangs_program_runs(form: str, cache: Path, tmp_path: Path) -> None:
    """One form leaves bitcode in the program; for the other, clang's linker compiles it."""
    source = TESTS / "programs" / "openmp" / "declare_target.c"
    done = clangs.run(clangs.compiled(source, tmp_path, "-O2", form))
    assert (done.returncode, done.stderr) == (0, "")
    assert cache.exists() == (form == "-fopenmp-target-jit")


def _alone(program: Path, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the program on a runtime that has no omptool beside it, nor on PATH."""
    for name in ("libomptarget.so", "libomptarget.rtl.host.so"):
        shutil.copy(libdir() / name, folder)
    local = {"PATH": "/usr/bin:/bin", "LD_LIBRARY_PATH": str(folder)}
    everything = {k: v for k, v in os.environ.items() if k != "OMPTOOL_PLUGINS"}
    return subprocess.run(
        [program],
        env=everything | local | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_without_omptool_it_is_the_next_images_turn(tmp_path: Path, cache: Path) -> None:
    code = lower(FIXTURES / "portable" / "kernels.ll", tmp_path / "kernels.so")
    both = (f"{X86_64}={bitcode(tmp_path, X86_64)}", f"{X86_64}:x86-64={code}")
    done = _alone(_bundle(tmp_path, *both), tmp_path, **MANDATORY)
    assert (done.stdout, done.stderr) == (EXPECTED, "")
    assert not cache.exists()


def test_without_omptool_and_another_image_it_is_the_hosts(
    portable: Path, tmp_path: Path, cache: Path
) -> None:
    done = _alone(portable, tmp_path)
    assert done.returncode == 0
    assert "ran on the host" in done.stdout
    assert f"host ({NO_HELPER})" in done.stderr


@pytest.mark.offloads
def test_what_omptool_says_is_the_reason(portable: Path, cache: Path) -> None:
    path = libdir()
    environment = os.environ | {"PATH": "/nowhere", "LD_LIBRARY_PATH": str(path)}
    done = subprocess.run(
        [portable],
        env=environment | {"OMPTOOL_PLUGINS": "host"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "ran on the host" in done.stdout
    reason = "its bitcode is not compiled: linking an image needs a linker: neither cc nor ld"
    assert reason in done.stderr
    assert _kept(cache) == {}


def test_doctor_predicts_the_choice(
    portable: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMPTOOL_PLUGINS", "host")

    def rule() -> tuple[bool, str]:
        done = subprocess.run(
            [OMPTOOL, "doctor", "--json", portable], capture_output=True, text=True, check=False
        )
        image = json.loads(done.stdout)["images"][0]
        return image["accepted"], image["rule"]

    assert rule() == (True, "plugin host accepts it")
    assert not cache.exists()  # nothing was compiled
    cache.mkdir()
    cache.chmod(0o777)
    assert rule() == (False, f"host: others may write to the folder {cache}")
