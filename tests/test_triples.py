# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Spellings of triples: what clang accepts for one target becomes one name."""

from __future__ import annotations

import pytest

from packager.errors import UsageError
from packager.triples import is_known, likely_meant, normalise, processor_in

X86_64 = "x86_64-pc-linux-gnu"
NVPTX = "nvptx64-nvidia-cuda"


@pytest.mark.parametrize(
    ("spelling", "normal"),
    [
        *[
            (spelling, X86_64)
            for spelling in (
                "x86_64",
                "x86_64-linux",
                "x86_64-linux-gnu",
                "x86_64--linux-gnu",
                "x86_64-pc-linux",
                "x86_64-pc-linux-gnu",
                "x86_64-unknown-linux-gnu",
                "x86_64-unknown-linux-gnu-",
                "amd64-linux-gnu",
                "X86_64-linux-gnu",
                "X86_64-PC-Linux-GNU",
            )
        ],
        *[
            (spelling, NVPTX)
            for spelling in (
                "nvptx64",
                "nvptx64-cuda",
                "nvptx64-nvidia",
                "nvptx64-nvidia-cuda",
                "nvptx64-nvidia-cuda-unknown",
                "nvptx64-unknown-cuda",
            )
        ],
        ("x86_64-redhat-linux", "x86_64-redhat-linux-gnu"),
        ("x86_64-linux-musl", "x86_64-pc-linux-musl"),
        ("x86_64-linux-gnux32", "x86_64-pc-linux-gnux32"),
        ("x86_64-elf", "x86_64-pc-unknown-elf"),
        ("aarch64-linux-gnu", "aarch64-unknown-linux-gnu"),
        ("arm64-none-elf", "aarch64-unknown-none-elf"),
        ("amdgcn", "amdgcn-amd-amdhsa"),
        ("amdgcn-amd-amdhsa--", "amdgcn-amd-amdhsa"),
        ("amdgpu9.0a", "amdgpu9.0a-amd-amdhsa"),
        ("strange-thing", "strange-thing-unknown"),
    ],
)
def test_spellings(spelling: str, normal: str) -> None:
    assert normalise(spelling) == normal
    assert normalise(normal) == normal


@pytest.mark.parametrize("triple", ["", "two words", "a/b", "x86_64=file", "nvptx64:sm_70", "a\nb"])
def test_what_is_no_triple_is_refused(triple: str) -> None:
    with pytest.raises(UsageError, match="is not a target triple"):
        normalise(triple)


@pytest.mark.parametrize(
    "arch",
    [
        *(
            "x86_64",
            "i586",
            "aarch64_be",
            "armv7a",
            "thumbv7",
            "powerpc64le",
            "mips64el",
            "riscv64",
        ),
        *("nvptx64", "amdgcn", "amdgpu9.0a", "spirv", "spirv32", "spirv64", "spirv64v1.2"),
        *("spir64", "spir64_gen", "spir64_x86_64", "spir64_fpga", "native_cpu"),
    ],
)
def test_what_compilers_name_is_known(arch: str) -> None:
    """SYCL's, too: an image for one of these that is in no format is damaged."""
    triple = normalise(arch)
    assert is_known(triple)
    assert likely_meant(triple) is None


@pytest.mark.parametrize("arch", ["fpga", "npu", "spin64", "x86_46", "nvptx46", "amdgnc"])
def test_what_no_compiler_names_is_not(arch: str) -> None:
    assert not is_known(normalise(arch))


@pytest.mark.parametrize(
    ("triple", "meant"),
    [
        ("x86_46-pc-linux-gnu", "x86_64-pc-linux-gnu"),
        ("amdgnc-amd-amdhsa", "amdgcn-amd-amdhsa"),
        ("nvptx64-nvidai-cuda", "nvptx64-nvidia-cuda"),
        ("nvptx64-nvidia-cuda-sm_90", "nvptx64-nvidia-cuda:sm_90"),
        ("fpga-acme-none", None),
    ],
)
def test_what_is_likely_meant(triple: str, meant: str | None) -> None:
    assert likely_meant(triple) == meant


@pytest.mark.parametrize(
    ("triple", "processor"),
    [
        ("amdgpu9.0a-amd-amdhsa", "gfx90a"),
        ("amdgpu11.00-amd-amdhsa", "gfx1100"),
        ("amdgpu12.01", "gfx1201"),
        ("amdgpu9-amd-amdhsa", ""),
        ("amdgpu-amd-amdhsa", ""),
        ("amdgcn-amd-amdhsa", ""),
        ("nvptx64-nvidia-cuda", ""),
    ],
)
def test_a_triple_that_names_its_processor(triple: str, processor: str) -> None:
    assert processor_in(triple) == processor
