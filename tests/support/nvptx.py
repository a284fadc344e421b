"""OpenMP programs for NVIDIA's GPUs by Debian's clangs, and the fake driver that they run on.

Needs neither CUDA nor ptxas: what clang leaves is PTX, which the driver compiles. Clang takes a
folder that looks like CUDA's, with a library of mathematical functions in which there is nothing.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from clangs import INSTALLED, libraries, tool
from fixture_programs import NVPTX, call
from places import ROOT, TESTS
from products import Products

from omptool.installation import libdir

ARCHITECTURE = "sm_75"
REGISTERED = TESTS / "support" / "sources" / "registered_image.c"
VERSIONS = ("16", INSTALLED)
# The device's code by itself.
ALONE = (f"--target={NVPTX}", "-nogpulib", f"-march={ARCHITECTURE}", "--cuda-path=/nowhere")


def fake_driver(products: Products) -> Path:
    """The folder of the fake libcuda.so.1 of runtime/tests, which runs no kernel."""
    return products.made("fake-cuda-driver", _build_driver)


def _build_driver(folder: Path) -> Path:
    call("cmake", "-S", ROOT / "runtime", "-B", folder, "-G", "Ninja", "-DOMPTOOL_TESTS=ON")
    call("cmake", "--build", folder, "--target", "fake_cuda_driver")
    return folder / "tests" / "plugins" / "fake_cuda"


def device_library(version: str) -> Path:
    """A clang's OpenMP library for the device."""
    folders = libraries(version).split(":")
    return Path(folders[-1]) / f"libomptarget-nvptx-{ARCHITECTURE}.bc"


def offloading(version: str) -> list[str]:
    """The flags with which a clang compiles for the device."""
    return [
        "-fopenmp",
        f"-fopenmp-targets={NVPTX}",
        "-Xopenmp-target",
        f"-march={ARCHITECTURE}",
        f"--libomptarget-nvptx-bc-path={device_library(version)}",
    ]


def linked_by_clang(version: str, source: Path, folder: Path, *flags: str) -> Path:
    """The program as users make it, with a cubin of the ptxas that is here."""
    call(*tool(version), *offloading(version), *flags, source, "-o", folder / "app")
    return folder / "app"


def with_ptx(version: str, source: Path, folder: Path, *flags: str) -> Path:
    """The program with PTX as its image, registered as this clang's linker wrapper does it."""
    name = "clang++" if source.suffix == ".cpp" else "clang"
    clang = [*tool(version, name), *flags]
    host = ["-fopenmp", f"-fopenmp-targets={NVPTX}", "--offload-host-only", "-c"]
    call(*clang, *host, source, "-o", folder / "host.o")
    image = _ptx(version, clang, flags, source, folder)
    call("gcc", f'-DIMAGE="{image}"', "-c", REGISTERED, "-o", folder / "image.o")
    libraries_of_all = (f"-L{libdir()}", "-lomptarget", f"-L{libraries(INSTALLED)}", "-lomp", "-lm")
    call("g++", folder / "host.o", folder / "image.o", *libraries_of_all, "-o", folder / "app")
    return folder / "app"


def looks_like_cuda(version: str, folder: Path) -> Path:
    """A folder in it that clang takes for CUDA's."""
    cuda = folder / "cuda"
    for part in ("bin", "include", "nvvm/libdevice"):
        (cuda / part).mkdir(parents=True)
    empty = ["-emit-llvm", "-x", "c", "-c", os.devnull]
    call(*tool(version), *ALONE, *empty, "-o", cuda / "nvvm" / "libdevice" / "libdevice.10.bc")
    return cuda


def _ptx(version: str, clang: list[str], flags: Sequence[str], source: Path, folder: Path) -> Path:
    cuda = looks_like_cuda(version, folder)
    device = [f"--cuda-path={cuda}", "--offload-device-only", "-emit-llvm", "-c"]
    call(*clang, *offloading(version), *device, source, "-o", folder / "device.bc")
    ptx = folder / "device.ptx"
    call(*tool(version), *ALONE, *flags, "-x", "ir", "-S", folder / "device.bc", "-o", ptx)
    if version == INSTALLED:
        return ptx
    packed = folder / "device.packed"  # clang 16's programs register it so
    image = f"--image=file={ptx},triple={NVPTX},arch={ARCHITECTURE},kind=openmp"
    call(*tool(version, "clang-offload-packager"), "-o", packed, image)
    return packed


def run(program: Path, driver: Path | None, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program on the bundled runtime, with this driver for its GPU."""
    folders = [str(folder) for folder in (libdir(), driver) if folder]
    fixed = {
        "LD_LIBRARY_PATH": ":".join(folders),
        "OMPTOOL_PLUGINS": "cuda",
        "FAKE_CUDA_ARCH": ARCHITECTURE.removeprefix("sm_"),
    }
    return subprocess.run(
        [str(program)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=os.environ | fixed | environment,
    )
