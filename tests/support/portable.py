# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of fixtures/portable: one executable with images of the same kernels for all targets."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fixture_programs import NVPTX, OMPTOOL, X86_64, call, compile_host, lower, runtime_flags
from linking import link
from places import FIXTURES
from products import Products

SPIRV = "spirv64-unknown-unknown"
AMDGCN = "amdgcn-amd-amdhsa"
SOURCE = FIXTURES / "portable" / "host.c"
KERNELS = FIXTURES / "portable" / "kernels.ll"
EXPECTED = (FIXTURES / "portable" / "expected.txt").read_text()


def four_images(products: Products) -> Path:
    """Build a program with images for CPU, NVIDIA, AMD and OpenCL."""

    def build(folder: Path) -> Path:
        return with_images(folder, SOURCE, images_of(folder, KERNELS))

    return products.made("portable-four-images", build)


def left_as_bitcode(products: Products) -> Path:
    """Build a program with bitcode for CPU, NVIDIA and OpenCL."""

    def build(folder: Path) -> Path:
        triples = (X86_64, NVPTX, SPIRV)
        return with_images(folder, SOURCE, {one: bitcode(folder, one) for one in triples})

    return products.made("portable-bitcode", build)


def bitcode(folder: Path, triple: str) -> Path:
    """Lower the kernels to bitcode."""
    return lower(KERNELS, folder / f"{triple}.bc", "--emit", "bc", triple=triple)


def images_of(folder: Path, ir: Path) -> dict[str, Path]:
    """Lower portable kernels; return the images by target and processor."""
    return {
        X86_64: lower(ir, folder / "kernels.so"),
        f"{NVPTX}:sm_75": lower(ir, folder / "kernels.ptx", "--cpu", "sm_75", triple=NVPTX),
        f"{AMDGCN}:gfx90a": lower(ir, folder / "kernels.co", "--cpu", "gfx90a", triple=AMDGCN),
        SPIRV: lower(ir, folder / "kernels.spv", triple=SPIRV),
    }


def with_images(folder: Path, source: Path, images: Mapping[str, Path], *flags: str) -> Path:
    """Build the program of a host source with these images."""
    host = compile_host(source, folder / "host.o", *flags)
    given = [f"--image={where}={path}" for where, path in images.items()]
    call(OMPTOOL, "bundle", host, *given, "-o", folder / "bundled.o")
    return link(folder / "app", folder / "bundled.o", flags=(*runtime_flags(), *flags))
