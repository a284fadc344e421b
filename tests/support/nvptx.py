# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""OpenMP programs for NVIDIA's GPUs by Debian's clangs, and the fake driver that they run on.

Needs neither CUDA nor ptxas: what clang leaves is PTX, which the driver compiles. Clang takes a
folder that looks like CUDA's, with a library of mathematical functions in which there is nothing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from clangs import INSTALLED, libraries, tool
from fixture_programs import NVPTX, call
from places import ROOT, TESTS
from products import Products

from omptool.installation import libdir

ARCHITECTURE = "sm_75"
REGISTERED = TESTS / "support" / "sources" / "registered_image.c"
VERSIONS = ("16", INSTALLED)
# Options that compile device code alone.
ALONE = (f"--target={NVPTX}", "-nogpulib", f"-march={ARCHITECTURE}", "--cuda-path=/nowhere")


def fake_driver(products: Products) -> Path:
    """Build the fake libcuda.so.1 of runtime/tests, which runs no kernel, and return its folder."""
    return products.made("fake-cuda-driver", lambda _: _built("fake_cuda_driver") / "fake_cuda")


def fake_kernels(products: Products) -> Path:
    """Return the image that the fake driver runs for the plugins' suite: the CPU's."""
    return products.made(
        "fake-kernels", lambda _: _built("image_conformance") / "image_conformance.so"
    )


def _built(target: str) -> Path:
    """Build a target of the runtime's tests where scripts/test.sh builds it, too."""
    folder = ROOT / "build" / "package"
    call("cmake", "-S", ROOT, "-B", folder, "-DOMPTOOL_TESTS=ON")
    call("cmake", "--build", folder, "--target", target)
    return folder / "runtime" / "tests" / "plugins"


def device_library(version: str) -> Path:
    """Return a clang's OpenMP library for the device."""
    folders = libraries(version).split(":")
    return Path(folders[-1]) / f"libomptarget-nvptx-{ARCHITECTURE}.bc"


def offloading(version: str) -> list[str]:
    """Return the flags with which a clang compiles for the device."""
    return [
        "-fopenmp",
        f"-fopenmp-targets={NVPTX}",
        "-Xopenmp-target",
        f"-march={ARCHITECTURE}",
        f"--libomptarget-nvptx-bc-path={device_library(version)}",
    ]


def linked_by_clang(version: str, source: Path, folder: Path, *flags: str) -> Path:
    """Build the program with clang's driver, which uses this machine's ptxas."""
    call(*tool(version), *offloading(version), *flags, source, "-o", folder / "app")
    return folder / "app"


def with_ptx(version: str, source: Path, folder: Path, *flags: str) -> Path:
    """Build the program with PTX as its image, registered like this clang's linker wrapper does."""
    host = host_object(version, source, folder, *flags)
    ptx = device_ptx(version, source, folder, *flags)
    return registered(version, host, {ARCHITECTURE: ptx}, folder / "app")


def host_object(version: str, source: Path, folder: Path, *flags: str) -> Path:
    """Compile the host part of a program."""
    host = ["-fopenmp", f"-fopenmp-targets={NVPTX}", "--offload-host-only", "-c"]
    call(*_clang(version, source), *flags, *host, source, "-o", folder / "host.o")
    return folder / "host.o"


def device_ptx(
    version: str, source: Path, folder: Path, *flags: str, libdevice: Path | None = None
) -> Path:
    """Compile the device part to PTX, with NVIDIA's libdevice if given."""
    cuda = looks_like_cuda(version, folder)
    if libdevice:
        shutil.copy(libdevice, cuda / "nvvm" / "libdevice" / "libdevice.10.bc")
    device = [f"--cuda-path={cuda}", "--offload-device-only", "-emit-llvm", "-c"]
    clang = [*_clang(version, source), *flags]
    call(*clang, *offloading(version), *device, source, "-o", folder / "device.bc")
    whole, ptx = _with_library(version, folder / "device.bc"), folder / "device.ptx"
    call(*tool(version), *ALONE, *flags, "-x", "ir", "-S", whole, "-o", ptx)
    return ptx


def _with_library(version: str, code: Path) -> Path:
    """Link the functions of the device library that clang 19's optimiser calls.

    Users get them from libomptarget.devicertl.a, by nvlink.
    """
    if version != INSTALLED:
        return code
    whole = code.with_suffix(".whole.bc")
    link = ("--internalize", "--only-needed", code, device_library(version))
    call(*tool(version, "llvm-link"), *link, "-o", whole)
    return whole


def registered(
    version: str,
    host: Path,
    images: Mapping[str, Path],
    program: Path,
    *flags: str,
    triple: str = NVPTX,
) -> Path:
    """Link a program with an image for each architecture, registered in this clang's form."""
    names = ["IMAGE", *(f"IMAGE_{number}" for number in range(2, len(images) + 1))]
    given = []
    for name, (architecture, image) in zip(names, images.items(), strict=True):
        path = image
        if version != INSTALLED:  # clang 16's programs register it so
            path = program.parent / f"{image.name}.packed"
            where = f"--image=file={image},triple={triple},arch={architecture},kind=openmp"
            call(*tool(version, "clang-offload-packager"), "-o", path, where)
        given.append(f'-D{name}="{path}"')
    call("gcc", *given, "-c", REGISTERED, "-o", program.parent / "image.o")
    libraries_of_all = (f"-L{libdir()}", "-lomptarget", f"-L{libraries(INSTALLED)}", "-lomp", "-lm")
    call("g++", host, program.parent / "image.o", *flags, *libraries_of_all, "-o", program)
    return program


def _clang(version: str, source: Path) -> list[str]:
    return tool(version, "clang++" if source.suffix == ".cpp" else "clang")


def looks_like_cuda(version: str, folder: Path) -> Path:
    """Make a folder that clang accepts as CUDA."""
    cuda = folder / "cuda"
    for part in ("bin", "include", "nvvm/libdevice"):
        (cuda / part).mkdir(parents=True)
    empty = ["-emit-llvm", "-x", "c", "-c", os.devnull]
    call(*tool(version), *ALONE, *empty, "-o", cuda / "nvvm" / "libdevice" / "libdevice.10.bc")
    return cuda


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
