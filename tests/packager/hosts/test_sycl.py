# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""SYCL's libraries: many images end to end, compressed ones, native ones in archives.

Each of these is a fault that shipped libraries showed: dpnp 0.20.0, bitsandbytes 0.50.2's XPU
libraries, onemkl-sycl-blas 2026.2.0.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import sycl
from documents import document
from sycl import Part
from toolchain import omptool, run

FIRST, SECOND = sycl.spirv("first", "second"), sycl.spirv("third", version=0x10400)


def dumped(path: Path, exit_code: int = 0) -> dict[str, Any]:
    result = omptool("dump", "--json", path)
    assert result.exit_code == exit_code, result.output
    (file,) = document("dump", result.stdout)["files"]
    return dict(file)


def rows(file: dict[str, Any]) -> list[tuple[str | None, ...]]:
    return [(i["kind"], i["triple"], i["arch"], *i["kernels"]) for i in file["images"]]


@pytest.mark.parametrize("version", [1, 2, 3])
def test_images_end_to_end_are_each_one(tmp_path: Path, version: int) -> None:
    path = sycl.library(tmp_path, [Part(FIRST, form=2), Part(SECOND), Part(FIRST)], version=version)
    file = dumped(path)
    spir64 = "spir64-unknown-unknown"
    assert rows(file) == [
        ("spirv", spir64, "SPIR-V 1.0", "first", "second"),
        ("spirv", spir64, "SPIR-V 1.4", "third"),
        ("spirv", spir64, "SPIR-V 1.0", "first", "second"),
    ]
    assert [i["container"] for i in file["images"]] == ["sycl"] * 3
    assert [i["declared_kind"] for i in file["images"]] == ["spirv", None, None]
    (row,) = file["registrations"]
    assert row["runtime"] == "sycl"
    assert row["images"] == [0, 1, 2]
    assert row["registered_by"] == "sycl_descriptor_reg"
    result = omptool("verify", path)
    assert result.exit_code == 0
    assert "OMP116 info: image 0-2 (spir64-unknown-unknown) is spirv" in result.stdout
    run("strip", "-s", path)
    stripped = dumped(path)
    assert rows(stripped) == rows(file)
    assert stripped["registrations"][0]["registered_by"].startswith(".init_array[")
    located = omptool("dump", "--address", hex(row["address"]), path).stdout
    assert "registration 0 of images 0-2 with sycl's runtime" in located
    text = omptool("dump", "--descriptors", path).stdout
    assert "0-2" in text
    assert "no descriptors" not in text


def test_images_that_are_only_listed(tmp_path: Path) -> None:
    """Without a descriptor, the section's name has the target of its images."""
    path = sycl.library(tmp_path, [Part(FIRST), sycl.packed(SECOND)], version=9, registers=False)
    file = dumped(path)
    assert [i["container"] for i in file["images"]] == ["tgtimg", "tgtimg"]
    assert {i["triple"] for i in file["images"]} == {"spir64-unknown-unknown"}
    assert [i["kernels"] for i in file["images"]] == [["first", "second"], ["third"]]
    assert file["registrations"] == []


def test_an_address_from_the_global_offset_table(tmp_path: Path) -> None:
    """nvcc's constructors load such addresses for relocatable device code (bitsandbytes)."""
    path = sycl.library(tmp_path, [Part(FIRST)], exported=True)
    assert "R_X86_64_GLOB_DAT" in run("readelf", "-rW", path)
    (row,) = dumped(path)["registrations"]
    assert row["registered_by"] == "sycl_descriptor_reg"


def test_what_nobody_registers_is_said(tmp_path: Path) -> None:
    (row,) = dumped(sycl.library(tmp_path, [Part(FIRST)], registers=False))["registrations"]
    assert (row["images"], row["registered_by"]) == ([0], None)


def test_compressed_images(tmp_path: Path) -> None:
    parts = [sycl.packed(sycl.spirv(*map(str, range(500)))), sycl.packed(SECOND)]
    path = sycl.library(tmp_path, parts)
    file = dumped(path)
    assert [i["compression"] for i in file["images"]] == ["zstd", "zstd"]
    assert [i["size"] for i in file["images"]] == [part.size for part in parts]
    assert [i["stored_size"] for i in file["images"]] == [len(part.data) for part in parts]
    assert omptool("verify", path).exit_code == 0
    out = tmp_path / "out"
    assert omptool("extract", "--all", path, "-o", out).exit_code == 0
    assert SECOND in [file.read_bytes() for file in out.iterdir()]


def test_native_images_in_an_archive(tmp_path: Path) -> None:
    members = [("64.12.60.7", sycl.zebin(tmp_path)), ("generic_ir", sycl.opencl_elf(FIRST))]
    path = sycl.library(tmp_path, [sycl.packed(sycl.ocloc(members), "spir64_gen"), Part(SECOND)])
    file = dumped(path)
    gen = "spir64_gen-unknown-unknown"
    assert rows(file) == [
        ("zebin", gen, "12.60.7", "first", "second"),
        ("spirv", gen, "SPIR-V 1.0", "first", "second"),
        ("spirv", "spir64-unknown-unknown", "SPIR-V 1.4", "third"),
    ]
    assert [i["within"] for i in file["images"]] == [
        ["zstd", "archive(64.12.60.7)"],
        ["zstd", "archive(generic_ir)", "opencl-elf"],
        [],
    ]
    assert file["images"][0]["resources"] == [
        {"kernel": "first", "registers": 128, "shared": 1024, "stack": 576},
        {"kernel": "second", "registers": 256, "shared": 0, "stack": 0},
    ]
    assert omptool("verify", path).exit_code == 0
    assert [row["images"] for row in file["registrations"]] == [[0, 1, 2]]


def test_a_file_of_ocloc_by_itself(tmp_path: Path) -> None:
    path = tmp_path / "generic_ir"
    path.write_bytes(sycl.opencl_elf(FIRST))
    assert rows(dumped(path)) == [("spirv", None, "SPIR-V 1.0", "first", "second")]
    path.write_bytes(sycl.zebin(tmp_path))
    assert rows(dumped(path)) == [("zebin", None, "12.60.7", "first", "second")]


def test_native_code_without_kernels(tmp_path: Path) -> None:
    """The image has only variables: Intel's driver accepts it without the list of kernels."""
    native = sycl.zebin(tmp_path).replace(b".ze_info", b".comment")
    archive = sycl.ocloc([("64.12.60.7", native)])
    path = sycl.library(tmp_path, [sycl.packed(archive, "spir64_gen")])
    assert rows(dumped(path)) == [("zebin", "spir64_gen-unknown-unknown", "12.60.7")]
    assert omptool("verify", path).exit_code == 0


def damaged(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]


def test_damage_is_still_found(tmp_path: Path) -> None:
    """Each check that was made quiet for such files, on a damaged one."""
    archive = sycl.ocloc([("64.12.60.7", sycl.zebin(tmp_path)[:600])])
    small = sycl.packed(SECOND)
    wrong = sycl.packed(SECOND)._replace(size=4711)
    path = sycl.library(
        tmp_path,
        [
            Part(archive, "spir64_gen"),
            small._replace(data=damaged(small.data, 5)),
            Part(b"no SPIR-V at all"),
            Part(sycl.ocloc([("64.12.60.7", b"?" * 64)]), "spir64_gen"),
        ],
    )
    found = omptool("verify", path)
    assert found.exit_code == 1
    assert "OMP110 error: image 0 (spir64_gen-unknown-unknown) is damaged: " in found.stdout
    assert "OMP111 error: device image at" in found.stdout
    assert found.stdout.count("has an unknown format") == 3  # the frame as it is, too
    folder = tmp_path / "listed"
    folder.mkdir()
    found = omptool("verify", sycl.library(folder, [Part(FIRST), wrong], version=9))
    assert found.exit_code == 1
    assert "of 4711 bytes at 0x" in found.stdout
    assert f"it inflates to {len(SECOND)} bytes" in found.stdout
