# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small files by real tools with one field changed: each message names the fault and the place."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest
from places import CORPUS
from toolchain import omptool

from packager.elf import headers
from packager.files.reader import Reader
from packager.hosts.load import load

HUGE = (1 << 63) - 8


def said(data: bytes, tmp_path: Path) -> str:
    """Return the one line with which dump fails."""
    path = tmp_path / "changed"
    path.write_bytes(data)
    result = omptool("dump", path)
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    return line.removeprefix(f"Error: {path}: ")


def expect(data: bytes, message: str, tmp_path: Path) -> None:
    assert re.fullmatch(f".*{message}.*", said(data, tmp_path))


def changed(data: bytes, at: int, patch: bytes) -> bytes:
    return data[:at] + patch + data[at + len(patch) :]


@pytest.mark.parametrize(
    ("seed", "at", "patch", "message"),
    [
        pytest.param(
            "hip-section.o", 0, b"x", "HIP fat binary at 0x.* is not a bundle", id="magic"
        ),
        pytest.param("hip-section.o", 24, b"\xff\xff", "claims 65535 targets", id="count"),
        pytest.param("hip-section.o", 39, b"\x7f", "image of .* runs past the end", id="offset"),
        pytest.param("hip-section.o", 47, b"\x7f", "image of .* runs past the end", id="size"),
        pytest.param("hip-packed-section.o", 4, b"\0", "has version 0", id="version"),
        pytest.param("hip-packed-section.o", 8, b"\xff" * 3, "runs past the end", id="packed"),
    ],
)
def test_hip_fat_binaries(tmp_path: Path, seed: str, at: int, patch: bytes, message: str) -> None:
    data = (CORPUS / f"seed-{seed}").read_bytes()
    (section,) = headers.read(Reader(data)).named(".hip_fatbin")
    expect(changed(data, section.offset + at, patch), message, tmp_path)


@pytest.mark.parametrize(
    ("seed", "field", "patch", "message"),
    [
        pytest.param("gnu.a", b"/0 ", b"/99", "name of the archive member at", id="gnu"),
        pytest.param("gnu.a", b"/0 ", b"/x ", "is 'x', not a number", id="gnu-letter"),
        pytest.param("bsd.a", b"#1/", b"#1/9999 ", "claims 99", id="bsd"),
        pytest.param("bsd.a", b"#1/", b"#1/x ", "is 'x.*not a number", id="bsd-letter"),
    ],
)
def test_long_names_in_archives(
    tmp_path: Path, seed: str, field: bytes, patch: bytes, message: str
) -> None:
    data = (CORPUS / f"seed-{seed}").read_bytes()
    expect(changed(data, data.index(field), patch), message, tmp_path)


def value_of(data: bytes, tag: int) -> int:
    """Return where in the file the value of a dynamic tag is."""
    (dynamic,) = (s for s in headers.read(Reader(data)).segments if s.type == headers.PT_DYNAMIC)
    for at in range(dynamic.offset, dynamic.offset + dynamic.file_size, headers.DYNAMIC.size):
        if headers.DYNAMIC.unpack_from(data, at)[0] == tag:
            return at + 8
    raise AssertionError(f"no tag {tag:#x}")


@pytest.mark.parametrize(
    ("tag", "value", "message"),
    [
        pytest.param(5, HUGE, "of the dynamic segment is not in the file", id="strings"),
        pytest.param(10, HUGE, ".dynstr of .* bytes at address .* is not", id="strings-size"),
        pytest.param(6, HUGE, "of the dynamic segment is not in the file", id="symbols"),
        pytest.param(0x6FFFFEF5, HUGE, "of the dynamic segment is not in the file", id="hash"),
        pytest.param(0x6FFFFEF5, 8, "", id="hash-elsewhere"),
        pytest.param(25, HUGE, "of the dynamic segment is not in the file", id="constructors"),
        pytest.param(27, HUGE, ".init_array of .* bytes .* is not", id="constructors-size"),
        pytest.param(7, HUGE, "of the dynamic segment is not in the file", id="relocations"),
        pytest.param(8, HUGE, "dynamic relocations at .* runs past the end", id="relocations-size"),
        pytest.param(0x6FFFFFFE, HUGE, "of the dynamic segment is not", id="versions"),
        pytest.param(0x6FFFFFFF, HUGE, "", id="versions-count"),
    ],
)
def test_a_program_without_section_headers(
    tmp_path: Path, tag: int, value: int, message: str
) -> None:
    data = (CORPUS / "seed-program-headless").read_bytes()
    wrong = changed(data, value_of(data, tag), struct.pack("<Q", value))
    if message:
        expect(wrong, message, tmp_path)
        return
    (tmp_path / "changed").write_bytes(wrong)
    assert omptool("dump", tmp_path / "changed").exit_code in (0, 2)


def gcc_fields(data: bytes) -> dict[str, int]:
    """Return where in the seed of GCC the fields are of what its constructor registers."""
    (image,) = load(CORPUS / "seed-gcc-program").images
    module = data.index(struct.pack("<QQ", image.address or 0, image.size))
    (section,) = (s for s in headers.read(Reader(data)).sections if s.name == ".data.rel.ro")
    address = section.address + module - section.offset
    start = data.index(struct.pack("<QQ", address, 1))
    names = (
        "modules",
        "module-count",
        "variables",
        "variable-count",
        "functions",
        "function-count",
    )
    fields = {name: start + 8 * number for number, name in enumerate(names)}
    return {**fields, "text": module, "text-size": module + 8}


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        pytest.param("modules", HUGE, "its list of 1 modules at 0x.* is not in", id="modules"),
        pytest.param("module-count", 1 << 17, "its list of 131072 modules at", id="modules-count"),
        pytest.param("module-count", 0, "it has no modules", id="no-modules"),
        pytest.param("text", HUGE, "module 0 of 1578 bytes at 0x.* is not in", id="text"),
        pytest.param("text-size", HUGE, "module 0 of 9223.* bytes at 0x.* is not in", id="size"),
        pytest.param("variables", HUGE, "its list of 1 variables at 0x.* is not", id="variables"),
        pytest.param("functions", HUGE, "its list of 1 functions at 0x.* is not", id="functions"),
        pytest.param(
            "function-count", 1 << 20, "its list of 1048576 functions", id="functions-count"
        ),
        pytest.param("function-count", 9, "the name of item . of its functions is", id="name"),
    ],
)
def test_what_gcc_registers(tmp_path: Path, field: str, value: int, message: str) -> None:
    data = (CORPUS / "seed-gcc-program").read_bytes()
    at = gcc_fields(data)[field]
    size = 4 if field.endswith("count") else 8
    wrong = changed(data, at, value.to_bytes(size, "little"))
    expect(wrong, f"GCC's data of a device at 0x.*: {message}", tmp_path)
    result = omptool("verify", tmp_path / "changed")
    assert result.exit_code == 1
    assert re.search(f"OMP111 error: GCC's data of a device at .*{message}", result.stdout)


def test_devices_of_gcc_that_are_not_read_are_said(tmp_path: Path) -> None:
    """The constructor registers a device of another kind, Intel's MIC."""
    data = (CORPUS / "seed-gcc-program").read_bytes()
    wrong = data.replace(b"\xba\5\0\0\0", b"\xba\x06\0\0\0", 1)
    assert wrong != data
    expect(wrong, "data of a device of kind 6, for libgomp, which this version does not", tmp_path)


def test_segments_that_are_everywhere(tmp_path: Path) -> None:
    data = (CORPUS / "seed-program-headless").read_bytes()
    wrong = bytearray(data)
    for at in range(64, 64 + 56 * data[56], 56):
        struct.pack_into("<IIQQQQ", wrong, at, 1, 6, 0, 0, 0, len(data))
    expect(bytes(wrong), "ELF segments overlap: .* bytes in .* of the file", tmp_path)
