"""What LLVM's test of its linker wrapper's output asks, asked of omptool.

`linker-wrapper-image.c`, of `clang/test/OffloadTools/clang-linker-wrapper` and before LLVM 22 of
`clang/test/Driver`: what the wrapper of LLVM 19 writes for a program of each kind is linked, and
read. A dry run gives each image no bytes.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from documents import dumped
from host_bytes import (
    CUDA,
    HIP_OF_19,
    OBJECT,
    OPENMP,
    RELOCATABLE,
    Image,
    Section,
    elf,
    offload_binary,
)
from toolchain import NVPTX, run

AMD = "amdgcn-amd-amdhsa"
KINDS = {
    "openmp": Image(OBJECT, OPENMP, NVPTX, "sm_70", elf(RELOCATABLE, [])),
    "cuda": Image(OBJECT, CUDA, NVPTX, "sm_70", elf(RELOCATABLE, [])),
    "hip": Image(OBJECT, HIP_OF_19, AMD, "gfx908", elf(RELOCATABLE, [])),
}


def wrapped(folder: Path, kind: str, system: str) -> Path:
    """An object of what the linker wrapper writes."""
    packed = offload_binary(KINDS[kind])
    (folder / "in.o").write_bytes(elf(RELOCATABLE, [Section(".llvm.offloading", packed)]))
    command = (
        "clang-linker-wrapper-19", "--print-wrapped-module", "--dry-run",
        f"--host-triple=x86_64-unknown-{system}-gnu", "--linker-path=/usr/bin/ld", "--",
        str(folder / "in.o"), "-o", "a.out",
    )  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    text = done.stdout + done.stderr
    module = text[text.index("; ModuleID") :].splitlines()
    # The commands that it would run are among the lines.
    (folder / "w.ll").write_text("\n".join(line for line in module if not line.startswith(' "')))
    out = folder / "wrapped.o"
    run("llc-19", "-filetype=obj", "-relocation-model=pic", folder / "w.ll", "-o", out)
    return out


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


def test_openmp_of_windows(tmp_path: Path) -> None:
    """The image of an object file of Windows'; who registers it is not read there."""
    file = dumped(wrapped(tmp_path, "openmp", "windows"))
    assert [(image["triple"], image["arch"]) for image in file["images"]] == [(NVPTX, "sm_70")]
    assert file["descriptors"] == []
