# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cubins of CUDA's own tools. tests/support/data/driver.ptx says how they were made; by what is in
them they stand for libraries that ship: bitsandbytes, jaxlib, cuBLAS, XGBoost, CuPy.
"""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from places import DATA
from verifying import findings

from packager.elf import headers
from packager.files.reader import Reader
from packager.hosts.load import load
from packager.model import DeviceImage

SECTIONS_AT, TYPE_AT = 40, 4  # in the ELF header, in a section's
LINKED, COMPILED = DATA / "driver.cubin", DATA / "compiled.cubin"


def image(path: Path) -> DeviceImage:
    (found,) = load(path).images
    return found


def damaged(folder: Path, content: bytes | bytearray) -> list[tuple[str, str, str]]:
    (folder / "damaged.cubin").write_bytes(content)
    found = findings(folder / "damaged.cubin")
    return [(finding["code"], finding["severity"], finding["message"]) for finding in found]


@pytest.mark.parametrize("path", [LINKED, COMPILED, DATA / "driver.ptx"])
def test_static_kernels_are_kernels(path: Path) -> None:
    kernels = [symbol.name for symbol in image(path).symbols if symbol.kind == "kernel"]
    assert sorted(kernels) == ["hidden", "shown"]


def test_what_a_static_kernel_needs() -> None:
    needs = {s.name: s.resources for s in image(LINKED).symbols if s.kind == "kernel"}
    assert all(needs.values())


@pytest.mark.parametrize("path", [LINKED, COMPILED, DATA / "driver.ptx"])
def test_they_are_sound(path: Path) -> None:
    """NVIDIA's sections without bytes are not missing, nor is what the driver resolves."""
    assert findings(path) == []


@pytest.mark.parametrize(
    ("path", "section"), [(LINKED, ".nv.shared.shown"), (COMPILED, ".nv_debug.shared")]
)
def test_a_section_with_bytes_that_are_not_there(tmp_path: Path, path: Path, section: str) -> None:
    content = bytearray(path.read_bytes())
    elf = headers.read(Reader(content))
    (number,) = (one.number for one in elf.named(section))
    (table,) = struct.unpack_from("<Q", content, SECTIONS_AT)
    place = table + number * headers.SECTION_HEADER.size + TYPE_AT
    struct.pack_into("<I", content, place, headers.SHT_PROGBITS)
    ((code, severity, message),) = damaged(tmp_path, content)
    assert (code, severity) == ("OMP110", "error")
    assert "is truncated" in message


@pytest.mark.parametrize(
    ("name", "other"),
    [
        pytest.param(b"vprintf", b"vprintg", id="function"),
        pytest.param(b"__cuda_syscall_cp_async", b"our_device_functions_as", id="system-call"),
        pytest.param(b".nv.reservedSmem.cap", b"our_reservedSmem_cap", id="reserved"),
    ],
)
def test_a_name_that_nothing_defines(tmp_path: Path, name: bytes, other: bytes) -> None:
    content = LINKED.read_bytes()
    assert name in content
    ((code, severity, message),) = damaged(tmp_path, content.replace(name, other))
    assert (code, severity) == ("OMP114", "error")
    assert f"needs {other.decode()}" in message
