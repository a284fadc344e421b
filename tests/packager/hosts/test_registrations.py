# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Images registered with CUDA's and HIP's runtimes, wrapped by LLVM's own tool."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest
from containers import AMD, Containers
from documents import document
from places import TESTS
from toolchain import omptool, run
from wrapped import wrapped

DATA = TESTS / "support" / "data"
CUBIN, FATBIN = DATA / "relocatable.cubin", DATA / "zstd.fatbin"
NVPTX = "nvptx64-nvidia-cuda"
MAGICS = {"cuda": 0x466243B1, "hip": 0x48495046}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Containers:
    return Containers(tmp_path_factory.mktemp("wrapped"))


def packed(folder: Path, image: Path, triple: str, arch: str, kind: str) -> Path:
    out = folder / "packed"
    words = f"file={image},triple={triple},arch={arch},kind={kind}"
    run("clang-offload-packager-19", "-o", out, f"--image={words}")
    return out


def dumped(path: Path) -> dict[str, Any]:
    result = omptool("dump", "--json", path)
    assert result.exit_code == 0, result.output
    return dict(document("dump", result.stdout)["files"][0])


@pytest.mark.parametrize("form", ["bundle", "alone", "packed"])
@pytest.mark.parametrize("kind", ["cuda", "hip"])
def test_what_the_wrapper_was_given(tmp_path: Path, made: Containers, kind: str, form: str) -> None:
    alone = CUBIN if kind == "cuda" else made.images[0]
    if form == "bundle":
        image = FATBIN if kind == "cuda" else made.bundle("b", *made.images, kind="o")
    elif form == "packed":
        triple, arch = (NVPTX, "sm_80") if kind == "cuda" else (AMD, "gfx90a")
        image = packed(tmp_path, alone, triple, arch, kind)
    else:
        image = alone
    path = wrapped(tmp_path, kind, image)
    file = dumped(path)
    expected = {"cuda": ("cubin", "sm_80"), "hip": ("amdgcn", "gfx90a")}[kind]
    assert (file["images"][0]["kind"], file["images"][0]["arch"]) == expected
    assert len(file["images"]) == (2 if form == "bundle" else 1)
    (row,) = file["registrations"]
    assert row["runtime"] == kind
    assert row["images"] == [i["index"] for i in file["images"]]
    assert row["registered_by"] == f".{kind}.fatbin_reg"
    assert omptool("verify", path).exit_code == 0


def test_each_wrapper_has_its_own_images(tmp_path: Path, made: Containers) -> None:
    """The library is linked and stripped."""
    first = wrapped(tmp_path, "hip", made.bundle("two", *made.images, kind="o"), "first.o")
    second = wrapped(tmp_path, "hip", made.bundle("one", made.images[0], kind="o"), "second.o")
    third = wrapped(tmp_path, "cuda", FATBIN, "third.o")
    out = tmp_path / "lib.so"
    run("gcc", "-shared", "-s", first, second, third, "-o", out)
    rows = dumped(out)["registrations"]
    assert sorted((row["runtime"], len(row["images"])) for row in rows) == [
        ("cuda", 2),
        ("hip", 1),
        ("hip", 2),
    ]
    assert sorted(number for row in rows for number in row["images"]) == [0, 1, 2, 3, 4]
    assert all(row["registered_by"].startswith(".init_array[") for row in rows)
    text = omptool("dump", "--descriptors", out).stdout
    assert text.count(".init_array[") == 3


def test_a_second_compressed_bundle_is_not_registered(tmp_path: Path, made: Containers) -> None:
    """HIP's runtime reads one, and no wrapper points to what follows it."""
    one = made.bundle("packed", *made.images, packed=True)
    path = wrapped(tmp_path, "hip", made.joined("both", one, one), "k.o")
    file = dumped(path)
    (row,) = file["registrations"]
    assert len(file["images"]) == 4
    assert row["images"] == [0, 1]


@pytest.mark.parametrize(
    ("kind", "section", "message"),
    [
        ("cuda", ".nv_fatbin", "CUDA fatbin at 0x"),
        ("hip", ".hip_fatbin", "HIP fat binary at 0x"),
        ("hip", ".hipFatBinSegment", "section .hipFatBinSegment: wrapper 0 has no magic"),
    ],
)
def test_damage_is_still_found(
    tmp_path: Path, made: Containers, kind: str, section: str, message: str
) -> None:
    image = FATBIN if kind == "cuda" else made.bundle("b", *made.images, kind="o")
    path = wrapped(tmp_path, kind, image)
    data = bytearray(path.read_bytes())
    run("objcopy", "-O", "binary", "--only-section", section, path, tmp_path / "content")
    at = data.index((tmp_path / "content").read_bytes()[:16].ljust(16, b"\0"))
    struct.pack_into("<I", data, at, 0 if section == ".hipFatBinSegment" else 0x12345678)
    path.write_bytes(data)
    result = omptool("verify", path)
    assert result.exit_code == 1
    assert "OMP111 error" in result.stdout
    assert message in result.stdout


@pytest.mark.parametrize("section", [".hipFatBinSegment", ".nvFatBinSegment"])
def test_a_wrapper_of_a_newer_format(tmp_path: Path, made: Containers, section: str) -> None:
    """Only the magic is unknown. Images count as registered, like those of other wrappers."""
    kind = "hip" if section.startswith(".hip") else "cuda"
    image = FATBIN if kind == "cuda" else made.bundle("b", *made.images, kind="o")
    path = wrapped(tmp_path, kind, image)
    data = bytearray(path.read_bytes())
    at = data.index(struct.pack("<II", MAGICS[kind], 1))
    struct.pack_into("<I", data, at, 0x4C504948)
    path.write_bytes(data)
    result = omptool("verify", path)
    assert result.exit_code == 0
    message = f"of a newer format: section {section}: wrapper 0 has the unknown magic 0x4c504948"
    assert f"OMP131 warning: a part of the file is {message}" in result.stdout
    assert omptool("verify", "--strict", path).exit_code == 1
    (row,) = dumped(path)["registrations"]
    assert (row["runtime"], bool(row["images"])) == (kind, True)


def test_doctor_names_a_wrapper_of_a_newer_format(tmp_path: Path, made: Containers) -> None:
    part = wrapped(tmp_path, "hip", made.bundle("b", *made.images, kind="o"))
    path = tmp_path / "lib.so"
    run("gcc", "-shared", part, "-o", path)
    data = bytearray(path.read_bytes())
    struct.pack_into("<I", data, data.index(struct.pack("<II", MAGICS["hip"], 1)), 0x4C504948)
    path.write_bytes(data)
    said = omptool("doctor", path).stdout
    message = "section .hipFatBinSegment: wrapper 0 has the unknown magic 0x4c504948"
    assert f"OMP202 warning: a part of the program is of a newer format: {message}" in said
