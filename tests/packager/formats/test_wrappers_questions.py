# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ask omptool the questions of LLVM's test of its linker wrapper's output.

The test is `linker-wrapper-image.c`, of `clang/test/OffloadTools/clang-linker-wrapper` and before
LLVM 22 of `clang/test/Driver`. The output of LLVM 19's wrapper for a program of each kind, and of
LLVM 22's for SYCL, is linked and read. A dry run gives each image no bytes.
"""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest
from clangs import tool
from documents import dumped
from host_bytes import (
    CUDA,
    HIP_OF_19,
    OBJECT,
    OPENMP,
    RELOCATABLE,
    SYCL,
    Image,
    Section,
    elf,
    offload_binary,
)
from toolchain import NVPTX, omptool, run

AMD = "amdgcn-amd-amdhsa"
SPIRV = "spirv64-unknown-unknown"
MODULE = struct.pack("<5I", 0x07230203, 0x10000, 0, 1, 0)
KINDS = {
    "openmp": Image(OBJECT, OPENMP, NVPTX, "sm_70", elf(RELOCATABLE, [])),
    "cuda": Image(OBJECT, CUDA, NVPTX, "sm_70", elf(RELOCATABLE, [])),
    "hip": Image(OBJECT, HIP_OF_19, AMD, "gfx908", elf(RELOCATABLE, [])),
    "sycl": Image(OBJECT, SYCL, SPIRV, "", MODULE),
}


def wrapped(folder: Path, kind: str, system: str) -> Path:
    """Compile the output of the linker wrapper to an object."""
    version = "22" if kind == "sycl" else "19"
    (folder / "w.ll").write_text(with_bytes(module(folder, kind, system, version)))
    out = folder / "wrapped.o"
    made = ("-filetype=obj", "-relocation-model=pic", folder / "w.ll", "-o", out)
    run(*tool(version, "llc"), *made)
    return out


def module(folder: Path, kind: str, system: str, version: str) -> str:
    """Return the module that an LLVM release's linker wrapper writes in a dry run."""
    packed = offload_binary(KINDS[kind])
    (folder / "in.o").write_bytes(elf(RELOCATABLE, [Section(".llvm.offloading", packed)]))
    command = (
        *tool(version, "clang-linker-wrapper"), "--print-wrapped-module", "--dry-run",
        f"--host-triple=x86_64-unknown-{system}-gnu", "--linker-path=/usr/bin/ld", "--",
        str(folder / "in.o"), "-o", "a.out",
    )  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    text = done.stdout + done.stderr
    lines = text[text.index("; ModuleID") :].splitlines()
    # The output includes the commands that the wrapper would run.
    return "\n".join(line for line in lines if not line.startswith(' "'))


def with_bytes(text: str) -> str:
    """Fill in the bytes of a module for SYCL, whose images only addresses refer to."""
    size = len(MODULE)
    array = "".join(f"\\{byte:02x}" for byte in MODULE)
    data = "@.sycl_offloading.0.data"
    text = text.replace(
        '[0 x i8] zeroinitializer, section ".ll', f'[{size} x i8] c"{array}", section ".ll'
    )
    end = f"getelementptr ([{size} x i8], ptr {data}, i64 0, i64 {size})"
    return text.replace(f"ptr {data}, ptr {data}", f"ptr {data}, ptr {end}")


def linked(folder: Path, kind: str) -> dict[str, Any]:
    run("gcc", "-shared", wrapped(folder, kind, "linux"), "-o", folder / "lib.so")
    return dumped(folder / "lib.so")


def test_openmp(tmp_path: Path) -> None:
    """A descriptor of one image, without entries, that a constructor registers."""
    file = linked(tmp_path, "openmp")
    (image,) = file["images"]
    assert (image["container"], image["triple"], image["arch"]) == (
        "offload-binary",
        NVPTX,
        "sm_70",
    )
    (descriptor,) = file["descriptors"]
    assert descriptor["images"] == [0]
    assert descriptor["entries"]["begin"] == descriptor["entries"]["end"]
    assert descriptor["registered_by"] == ".omp_offloading.descriptor_reg"


@pytest.mark.parametrize("kind", ["cuda", "hip"])
def test_cuda_and_hip(tmp_path: Path, kind: str) -> None:
    """A fat binary that is empty here, and the constructor that registers it."""
    file = linked(tmp_path, kind)
    assert (file["images"], file["descriptors"]) == ([], [])
    (row,) = file["registrations"]
    assert (row["runtime"], row["images"]) == (kind, [])
    assert row["registered_by"] == f".{kind}.fatbin_reg"


def test_sycl(tmp_path: Path) -> None:
    """An image of the descriptor, and the constructor that registers it; entries are SYCL's."""
    file = linked(tmp_path, "sycl")
    (image,) = file["images"]
    assert (image["container"], image["kind"], image["size"]) == ("sycl", "spirv", len(MODULE))
    (row,) = file["registrations"]
    assert (row["runtime"], row["images"]) == ("sycl", [0])
    assert row["registered_by"] == "sycl.descriptor_reg"
    assert [(entry["name"], entry["model"]) for entry in file["entries"]] == [("stub", "sycl")]


@pytest.mark.parametrize(("kind", "section"), [("cuda", ".nvFatBin"), ("hip", ".hipFatBin")])
def test_cuda_and_hip_of_windows(tmp_path: Path, kind: str, section: str) -> None:
    """The registration of the fat binary, which is empty here, is named: it is not read there."""
    done = omptool("dump", wrapped(tmp_path, kind, "windows"))
    assert done.exit_code == 2
    assert f"section {section}Segment has registrations of images in a COFF file" in done.stderr


def test_openmp_of_windows(tmp_path: Path) -> None:
    """The file is a COFF object, in which registrations are not read."""
    file = dumped(wrapped(tmp_path, "openmp", "windows"))
    assert [(image["triple"], image["arch"]) for image in file["images"]] == [(NVPTX, "sm_70")]
    assert file["descriptors"] == []
