# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CUDA fat binaries. tests/support/data has nvcc 13's of one small kernel (nvcc is rarely at hand):
`nvcc -fatbin --compress-mode=none|size|speed`, for sm_80, sm_90a and PTX, and NVVM code; in
family.fatbin for the families of sm_100 and sm_103.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from documents import dumped_images
from places import DATA
from toolchain import compile_c, omptool

from packager.errors import FormatError
from packager.files.reader import Reader
from packager.formats.containers import cuda_fatbin
from packager.hosts.load import load

CUDA = "nvptx64-nvidia-cuda"


@pytest.mark.parametrize(
    ("name", "compression"), [("none", None), ("zstd", "zstd"), ("lz4", "lz4")]
)
def test_cubins_and_ptx(name: str, compression: str | None) -> None:
    found = dumped_images(DATA / f"{name}.fatbin")
    expected = [("cubin", "sm_80"), ("cubin", "sm_90a"), ("ptx", "sm_90")]
    if name != "none":
        del expected[1]
    assert [(i["kind"], i["arch"]) for i in found] == expected
    assert all((i["triple"], i["compression"]) == (CUDA, compression) for i in found)
    assert all(i["kernels"] == ["first"] for i in found)


def test_code_for_a_family_of_processors() -> None:
    found = dumped_images(DATA / "family.fatbin")
    assert [(i["kind"], i["arch"]) for i in found] == [("cubin", "sm_100f"), ("ptx", "sm_103f")]


@pytest.mark.parametrize("name", ["lto-none", "lto-zstd"])
def test_nvvm_code_is_listed(name: str) -> None:
    (image,) = dumped_images(DATA / f"{name}.fatbin")
    assert (image["kind"], image["arch"], image["triple"]) == ("bitcode", "sm_90", CUDA)


@pytest.mark.parametrize("section", [".nv_fatbin", "__nv_relfatbin"])
def test_sections_of_host_objects(tmp_path: Path, section: str) -> None:
    one, two = DATA / "none.fatbin", DATA / "zstd.fatbin"
    source = (
        f'__asm__(".pushsection {section},\\"a\\"; .balign 8; .incbin \\"{one}\\";'
        f' .balign 8; .incbin \\"{two}\\"; .popsection");\nint x;'
    )
    found = dumped_images(compile_c(source, tmp_path / "host.o", "-c"))
    assert [i["arch"] for i in found] == ["sm_80", "sm_90a", "sm_90", "sm_80", "sm_90"]
    assert all(i["container"] == "cuda-fatbin" for i in found)


@pytest.mark.parametrize(
    ("at", "patch", "message"),
    [
        pytest.param(0, b"x", "CUDA fatbin at 0x0 has no magic", id="magic"),
        pytest.param(4, b"\7", "has version 7; only version 1 is read", id="version"),
        pytest.param(6, b"\1", "header size 1 is too small", id="header"),
        pytest.param(8, b"\xff\xff\xff", "runs past the end", id="size"),
        pytest.param(16, b"\x63", "fatbin entry at 0x10 has the unknown kind 99", id="kind"),
        pytest.param(20, b"\1", "header size 1 is too small", id="entry-header"),
        pytest.param(24, b"\xff\xff\xff", "runs past the end", id="entry-size"),
        pytest.param(32, b"\xff\xff\xff", "runs past the end", id="packed"),
        pytest.param(72, b"\1\0", "inflates to more than the 1 bytes", id="inflated"),
        pytest.param(79, b"\x7f", "the limit is 1073741824", id="inflated-huge"),
    ],
)
def test_one_wrong_field(at: int, patch: bytes, message: str) -> None:
    wrong = bytearray((DATA / "zstd.fatbin").read_bytes())
    wrong[at : at + len(patch)] = patch
    with pytest.raises(FormatError, match=re.escape(message)):
        list(cuda_fatbin.parse(Reader(wrong)))


def test_a_damaged_lz4_block() -> None:
    wrong = bytearray((DATA / "lz4.fatbin").read_bytes())
    wrong[0x50:0x60] = b"\xff" * 16
    with pytest.raises(FormatError, match="is not an LZ4 block"):
        list(cuda_fatbin.parse(Reader(wrong)))


def test_ptx_ends_where_its_text_does(tmp_path: Path) -> None:
    for name in ("none", "zstd", "lz4"):
        omptool("extract", DATA / f"{name}.fatbin", "--kind", "ptx", "-o", tmp_path)
    one, *others = [path.read_text() for path in tmp_path.iterdir()]
    assert one.rstrip().endswith("}")
    assert "\0" not in one
    assert all(other == one for other in others)


@pytest.mark.parametrize(("name", "registers"), [("none", 8), ("zstd", 8), ("lz4", 8)])
def test_what_kernels_need(name: str, registers: int) -> None:
    (image, *_) = dumped_images(DATA / f"{name}.fatbin")
    (needs,) = image["resources"]
    needs_only = {"registers": registers, "shared": 0, "stack": 0, "code": 384}
    assert needs == {"kernel": "first", **needs_only}


def test_kernels_of_one_name_in_two_objects_of_cuda(tmp_path: Path) -> None:
    """Each object's images are loaded by themselves: no linker has to choose between them."""
    whole = bytearray((DATA / "none.fatbin").read_bytes())
    objects = []
    for name in ("one", "two"):
        (tmp_path / f"{name}.fatbin").write_bytes(whole)
        section = f'.pushsection .nv_fatbin,\\"a\\"; .incbin \\"{tmp_path / name}.fatbin\\"'
        objects.append(tmp_path / f"{name}.o")
        compile_c(f'__asm__("{section}; .popsection");\nint x;', objects[-1], "-c")
        (place, size), *_ = (
            symbol.code
            for image in load(objects[-1]).images
            for symbol in image.symbols
            if symbol.code
        )
        start = place - objects[-1].read_bytes().index(whole[:64])
        whole[start + size // 2] ^= 1  # of the second object's kernel
    assert omptool("verify", "--select", "OMP108", *objects).exit_code == 0
