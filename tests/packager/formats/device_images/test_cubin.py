# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Read cubins made by CUDA's own tools, as tests/support/data/driver.ptx describes.

Their contents cover those of shipped libraries: bitsandbytes, jaxlib, cuBLAS, XGBoost, CuPy.
"""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from cubins import without_code
from places import DATA
from toolchain import omptool
from verifying import findings

from packager.elf import headers
from packager.files.reader import Reader
from packager.formats.compressed import helper
from packager.hosts.load import load
from packager.model import DeviceImage

SECTIONS_AT, TYPE_AT = 40, 4  # offsets in the ELF header, and in a section header
LINKED, COMPILED = DATA / "driver.cubin", DATA / "compiled.cubin"


def image(path: Path) -> DeviceImage:
    (found,) = load(path).images
    return found


MADE = without_code(".visible .entry f(\n.param .u64 a\n)\n{\n}\n", "sm_90")
OF_CUDA_13 = 8  # the ABI's version, which says where the flags are


def flagged(content: bytes, version: int, flags: int) -> bytes:
    copy = bytearray(content)
    copy[8] = version
    struct.pack_into("<I", copy, 48, flags)
    return bytes(copy)


@pytest.mark.parametrize(
    ("content", "arch"),
    [
        pytest.param(MADE, "sm_90", id="plain"),
        pytest.param(flagged(MADE, 7, 0x5A0D5A), "sm_90a", id="ptxas-12"),
        pytest.param(flagged(MADE, 7, 0x3C0D3D), "sm_61", id="cublas-11"),
        pytest.param(flagged(MADE, OF_CUDA_13, 0x06005A04), "sm_90", id="plain-8"),
        pytest.param(flagged(MADE, OF_CUDA_13, 0x0600640A), "sm_100a", id="ptxas-12.8"),
        pytest.param((DATA / "specific.cubin").read_bytes(), "sm_103a", id="ptxas-13"),
        pytest.param((DATA / "family.cubin").read_bytes(), "sm_100", id="ptxas-13-family"),
    ],
)
@pytest.mark.parametrize("is_helped", [True, False])
def test_code_for_one_architecture_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, arch: str, is_helped: bool
) -> None:
    """The last two are by `nvcc -cubin` of CUDA 13.5."""
    if not is_helped:
        monkeypatch.setattr(helper, "built", lambda: None)
    (tmp_path / "k.cubin").write_bytes(content)
    assert image(tmp_path / "k.cubin").processor == arch


def test_where_it_runs() -> None:
    rows = omptool("dump", "--summary", DATA / "specific.cubin").stdout
    assert "sm_103 natively" in " ".join(rows.split()), rows


def test_a_declaration_that_leaves_it_out(tmp_path: Path) -> None:
    for declared, expected in (("sm_103", 1), ("sm_103a", 0)):
        made = tmp_path / f"{declared}.bin"
        target = f"nvptx64-nvidia-cuda:{declared}={DATA / 'specific.cubin'}"
        done = omptool("emit", "--image", target, "--format", "offload-binary", "-o", made)
        assert done.exit_code == expected, done.output
        assert ("but holds code for sm_103a" in done.output) == bool(expected)


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
    """NVIDIA's sections without bytes are not faults, nor are names that the driver resolves."""
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
