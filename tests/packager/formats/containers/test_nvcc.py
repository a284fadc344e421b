# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files of CUDA 13.5's nvcc, which scripts/compilers.sh unpacks, beside its own cuobjdump."""

from __future__ import annotations

from pathlib import Path

import cuda
import pytest
from documents import dumped_files, dumped_images
from toolchain import omptool, run
from verifying import findings

pytestmark = pytest.mark.slow

# Two classes of processors; nvcc groups the images of each.
MIXED = ("sm_80", "sm_90", "sm_100", "sm_103a")
NAMES = ("k", "eight888", "k.ninety9")
FLAGS = ("--compress-mode=size", "--compress-mode=speed", "-G")
# `make test` takes each name and each flag once.
NAMES_AND_FLAGS = [
    pytest.param(name, flag, marks=() if at == turn else pytest.mark.exhaustive)
    for at, name in enumerate(NAMES)
    for turn, flag in enumerate(FLAGS)
]
TILE = "__tile_global__ void tiled(float *p) {}"


def digests(path: Path) -> dict[str, str]:
    """Return the architectures of the images of a file, by their digests."""
    (file,) = dumped_files("--hash", path)
    return {image["sha256"]: image["arch"] for image in file["images"]}


@pytest.mark.parametrize(("name", "flag"), NAMES_AND_FLAGS)
def test_images_that_are_compressed_as_one(tmp_path: Path, name: str, flag: str) -> None:
    """Names of sources and options of any size follow the headers of the members."""
    options = ("--concat", flag, *cuda.code_for(*MIXED), "-fatbin")
    made = cuda.compiled(tmp_path / f"{name}.cu", tmp_path / "k.fatbin", *options)
    theirs = cuda.extracted(made, tmp_path / "theirs")
    assert digests(made).keys() == theirs.keys()
    assert sorted(digests(made).values()) == sorted(MIXED)
    assert findings(made) == []


def test_extracted_members(tmp_path: Path) -> None:
    """The object is the issue's: its two cubins are stored as one."""
    options = ("--concat", *cuda.code_for("sm_80", "sm_90"), "-c")
    made = cuda.compiled(tmp_path / "k.cu", tmp_path / "k.o", *options)
    listed = run(cuda.tool("cuobjdump"), "-lelf", made)
    assert [line.split(".")[-2] for line in listed.splitlines()] == ["sm_80", "sm_90"]
    images = dumped_images(made)
    assert [(i["arch"], i["kernels"]) for i in images] == [
        ("sm_80", ["_Z5firstPf"]),
        ("sm_90", ["_Z5firstPf"]),
    ]
    assert omptool("extract", "--all", made, "-o", tmp_path / "ours").exit_code == 0
    theirs = cuda.extracted(made, tmp_path / "theirs")
    assert digests(made).keys() == theirs.keys()


@pytest.mark.parametrize("arch", cuda.SPECIFIC)
def test_code_for_one_architecture_alone(tmp_path: Path, arch: str) -> None:
    """The summary has a row "natively" for it, and cuobjdump names the same architecture."""
    options = (*cuda.code_for(arch), "-fatbin")
    made = cuda.compiled(tmp_path / "k.cu", tmp_path / "k.fatbin", *options)
    ((digest, name),) = cuda.extracted(made, tmp_path / "theirs").items()
    assert name.split(".")[-2] == arch
    assert digests(made) == {digest: arch}
    cubin = tmp_path / "theirs" / name
    assert digests(cubin) == {digest: arch}
    rows = " ".join(omptool("dump", "--summary", cubin).stdout.split())
    assert f"{arch.removesuffix('a')} natively" in rows


def test_an_uncompressed_cubin_without_padding(tmp_path: Path) -> None:
    options = ("--compress-mode=none", *cuda.code_for("sm_100"), "-fatbin")
    made = cuda.compiled(tmp_path / "k.cu", tmp_path / "k.fatbin", *options)
    assert digests(made).keys() == cuda.extracted(made, tmp_path / "theirs").keys()
    assert findings(made) == []


@pytest.mark.parametrize("output", ["--tilefatbin", "--tilebc"])
def test_bytecode_of_cuda_tile(tmp_path: Path, output: str) -> None:
    """The bytecode is in a fat binary and bare. Code for sm_100 would need tileiras."""
    virtual = ("-gencode", "arch=compute_100,code=compute_100")
    target = virtual if output == "--tilefatbin" else ("-arch=sm_100",)
    options = ("--enable-tile", "-std=c++20", *target, output)
    made = cuda.compiled(tmp_path / "k.cu", tmp_path / "k.made", *options, text=TILE)
    (image,) = dumped_images(made)
    assert (image["kind"], image["arch"]) == (
        ("tileir", "sm_100") if output == "--tilefatbin" else ("tileir", None)
    )
    assert findings(made) == []
    (found,) = findings(made, "--select", "OMP116")
    assert "is tileir: compiled when loaded" in found["message"]
