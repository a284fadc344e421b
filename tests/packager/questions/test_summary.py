# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sums of images that are compressed together, and of containers that lack some."""

from __future__ import annotations

import pytest

from packager.model import Contents, DeviceImage, FatBinary
from packager.questions.summary import summary


def image(index: int, arch: str, size: int, stored: int | None, unit: int) -> DeviceImage:
    known = Contents("amdgcn", "amdgcn", arch)
    bare = DeviceImage(index, "hip-fatbin", "amdgcn-amd-amdhsa", arch, 64, size, None, known)
    return bare._replace(stored_size=stored, unit=unit)


def file(*images: DeviceImage) -> FatBinary:
    return FatBinary("f", "x86_64", "shared", None, images, (), ())


def test_what_is_compressed_together_is_counted_once() -> None:
    found = file(image(0, "gfx90a", 1000, 100, 64), image(1, "gfx942", 2000, 100, 64))
    sums = summary([(found, found.images)])
    assert (sums.total.stored, sums.total.inflated) == (100, 3000)
    assert [one.stored for one in sums.targets.values()] == [33, 67]


def test_code_for_intel_and_whatever_compiles_spirv() -> None:
    native = image(0, "bmg", 8, None, 0)._replace(contents=Contents("zebin", None, "bmg"))
    portable = image(1, "", 8, None, 1)._replace(contents=Contents("spirv", "spir64"))
    found = file(native, portable._replace(triple="spir64"))
    rows = summary([(found, found.images)]).coverage
    said = [(row.vendor, row.gpus, row.reach, row.covered) for row in rows if row.vendor != "AMD"]
    assert said == [("Intel", ("bmg",), "natively", 1), ("any", (), "by JIT", 1)]


def test_a_container_without_code_for_a_gpu() -> None:
    found = file(
        image(0, "gfx90a", 8, None, 0),
        image(1, "gfx942", 8, None, 0),
        image(2, "gfx90a", 8, None, 9),
    )
    fates = {row.gpus: row for row in summary([(found, found.images)]).coverage}
    assert fates["gfx90a",].reach == "natively"
    assert (fates["gfx942",].reach, fates["gfx942",].covered) == ("in part", 1)
    assert fates["gfx942",].containers == 2


@pytest.mark.parametrize(
    ("arch", "gpu"), [("sm_107", "sm_107"), ("sm_107a", "sm_107"), ("sm_145f", "sm_145")]
)
def test_a_file_has_a_row_for_its_own_architecture(arch: str, gpu: str) -> None:
    """The architecture may be newer than this omptool."""
    code = Contents("cubin", "nvptx64", arch)
    triple = "nvptx64-nvidia-cuda"
    found = file(image(0, arch, 8, None, 0)._replace(triple=triple, contents=code))
    (row,) = [row for row in summary([(found, found.images)]).coverage if gpu in row.gpus]
    assert (row.vendor, row.reach, row.covered) == ("NVIDIA", "natively", 1)
