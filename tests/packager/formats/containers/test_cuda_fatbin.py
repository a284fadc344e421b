# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Read CUDA fat binaries by nvcc, in tests/support/data.

Most are nvcc 13's of one small kernel (test_nvcc.py runs nvcc): `nvcc -fatbin
--compress-mode=none|size|speed`, for sm_80, sm_90a and PTX, and NVVM code; family.fatbin is for the
families of sm_100 and sm_103. CUDA 13.5's `nvcc --concat` made group*.fatbin for sm_80, sm_90a,
sm_100, sm_103a and PTX, and unaligned.fatbin, uncompressed, for sm_100. tile.fatbin has CUDA Tile's
bytecode by cicc of CUDA 13.5.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

import pytest
import zstandard
from documents import dumped_files, dumped_images
from fatbins import fatbin, group
from places import DATA
from toolchain import compile_c, omptool
from verifying import findings

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


def test_bytecode_of_cuda_tile(tmp_path: Path) -> None:
    """cicc and fatbinary of CUDA 13.5 made the bytecode, in their container and bare."""
    path = DATA / "tile.fatbin"
    (image,) = dumped_images(path)
    assert (image["kind"], image["arch"], image["compression"]) == ("tileir", "sm_100", "zstd")
    assert omptool("extract", path, "-o", tmp_path).exit_code == 0
    (file,) = tmp_path.iterdir()
    assert file.name.endswith("sm_100.tilebc")
    assert file.read_bytes().startswith(b"\x7fTileIR\0")
    for one in (path, file):
        assert findings(one) == []
        (found,) = findings(one, "--select", "OMP116")
        assert found["severity"] == "info"
        assert "is tileir: compiled when loaded" in found["message"]
    (bare,) = dumped_images(file)
    assert (bare["kind"], bare["container"]) == ("tileir", "bare")


@pytest.mark.parametrize("name", ["lto-none", "lto-zstd"])
def test_nvvm_code_is_listed(name: str) -> None:
    (image,) = dumped_images(DATA / f"{name}.fatbin")
    assert (image["kind"], image["arch"], image["triple"]) == ("bitcode", "sm_90", CUDA)


def hashed(path: Path) -> list[dict[str, Any]]:
    """Return the images of a file, with digests."""
    (file,) = dumped_files("--hash", path)
    return list(file["images"])


# Digests of the files that CUDA 13.5's `cuobjdump -xelf all` extracts.
GROUPED = {
    "sm_80": "766bc0ceb74cc790689968a0a6c080be59e6e201418542ea311885661fdc2d45",
    "sm_90a": "06e7567d855d6e4f7cc550b585ece3964e5ce32baa64c51ce8c652f5f2e7274c",
    "sm_100": "29f13d14e2815236bb359a96e7275fdc7366ac2611772c2f4ec04293a5bfdad0",
    "sm_103a": "57ac84903a9b88428f2dbfed73dbb7ca86303ebe0092c3f4abb3dffbb0f6fc9e",
}


@pytest.mark.parametrize(("name", "method"), [("group", "zstd"), ("group-lz4", "lz4")])
def test_images_that_are_compressed_as_one(name: str, method: str) -> None:
    """`nvcc --concat`: two groups, one by the class of processors, and PTX beside them."""
    path = DATA / f"{name}.fatbin"
    ptx, *cubins = hashed(path)
    assert (ptx["kind"], ptx["arch"]) == ("ptx", "sm_90")
    assert {image["arch"]: image["sha256"] for image in cubins} == GROUPED
    assert all(image["compression"] == method for image in cubins)
    assert all(image["kernels"] == ["_Z5firstPf"] for image in cubins)
    assert findings(path) == []


def test_a_cubin_without_the_bytes_that_align_the_next_one() -> None:
    (image,) = hashed(DATA / "unaligned.fatbin")
    assert (image["arch"], image["sha256"]) == ("sm_100", GROUPED["sm_100"])


@pytest.mark.parametrize(
    ("at", "patch", "message"),
    [
        pytest.param(0x40, b"\x7f", "headers of 127 images|runs past the end", id="count"),
        pytest.param(0x44, b"\xff\xff", "runs past the end", id="table"),
        pytest.param(0x44, b"\x80", "do not fill 128 bytes|runs past the end", id="small-table"),
        pytest.param(0x4C, b"\xff\xff", "is outside of", id="offset"),
        pytest.param(0x50, b"\xff" * 8, "is outside of", id="size"),
        pytest.param(0x5C, b"\xff\xff", "runs past the end", id="options"),
        pytest.param(0x68, b"\xff" * 8, "runs past the end", id="name"),
        pytest.param(0x38, b"\x01\0", "inflates to more|is outside of", id="inflated"),
    ],
)
def test_one_wrong_field_of_a_group(at: int, patch: bytes, message: str) -> None:
    whole = (DATA / "group.fatbin").read_bytes()
    start = whole.index(b"\0\1\1\1")
    wrong = bytearray(whole)
    wrong[start + at : start + at + len(patch)] = patch
    with pytest.raises(FormatError, match=message):
        list(cuda_fatbin.parse(Reader(wrong)))


def test_a_member_of_unknown_kind(tmp_path: Path) -> None:
    path = tmp_path / "newer.fatbin"
    members = [(2, 80, b"\x7fELF" + bytes(60)), (0x77, 90, b"unknown")]
    path.write_bytes(fatbin(group(*members)))
    images = dumped_images(path)
    assert [(i["kind"], i["arch"], i["size"]) for i in images][1:] == [("unknown", "sm_90", 7)]
    (found,) = findings(path, "--select", "OMP131")
    assert found["severity"] == "warning"
    assert "has the unknown kind 0x77" in found["message"]


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
        pytest.param(4, b"\7", "has version 7; only version 1 is read", id="newer"),
        pytest.param(6, b"\1", "header size 1 is too small", id="header"),
        pytest.param(8, b"\xff\xff\xff", "runs past the end", id="size"),
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
        whole[start + size // 2] ^= 1  # damages the second object's kernel
    assert omptool("verify", "--select", "OMP108", *objects).exit_code == 0


def test_cubins_in_large_data(tmp_path: Path) -> None:
    """As in cuBLASLt, frames of zstd lie among data and frames of other kinds."""
    cubins = [(DATA / name).read_bytes() for name in ("driver.cubin", "specific.cubin")]
    first, second = map(zstandard.compress, cubins)
    other = zstandard.compress(b"text" * 100)
    parts = (b"x" * 13, first, b"\x28\xb5\x2f\xfd", b"\xff" * 9, other, second, bytes(5))
    (tmp_path / "data").write_bytes(b"".join(parts))
    text = f'__asm__(".section .ldata,\\"aw\\"; .incbin \\"{tmp_path / "data"}\\"; .previous");'
    path = compile_c(text, tmp_path / "k.so", "-shared", "-fPIC")
    (file,) = dumped_files("--hash", path)
    images = [(i["arch"], i["compression"], i["sha256"]) for i in file["images"]]
    digests = [hashlib.sha256(cubin).hexdigest() for cubin in cubins]
    archs = [load(DATA / name).images[0].processor for name in ("driver.cubin", "specific.cubin")]
    assert images == [(a, "zstd", d) for a, d in zip(archs, digests, strict=True)]
    assert omptool("verify", path).exit_code == 0


def test_large_data_of_other_programs(tmp_path: Path) -> None:
    text = '__attribute__((section(".ldata"))) char table[4096] = {0x28, 0xb5, 0x2f, 0xfd};'
    path = compile_c(text, tmp_path / "k.so", "-shared", "-fPIC")
    assert omptool("dump", path).stdout == f"{path}: no offload code\n"
