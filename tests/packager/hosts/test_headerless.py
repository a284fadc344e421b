# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs without section headers whose parts overlap or end outside of the file."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest
from documents import document
from toolchain import OPENMP, clang_offload, omptool, run

from packager.elf import headers
from packager.files.reader import Reader
from packager.hosts.load import load
from packager.look import Look
from packager.model import Descriptor

PROGRAM_HEADER = 56
ADDRESS, FILE_SIZE = 16, 32  # fields of a program header


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("headerless")
    clang_offload(OPENMP, folder / "whole")
    run("llvm-strip-19", "--strip-sections", folder / "whole", "-o", folder / "program")
    return folder / "program"


def loads(data: bytes) -> list[int]:
    """Return the offsets of the program headers of loaded segments."""
    (start,) = struct.unpack_from("<Q", data, 32)
    (count,) = struct.unpack_from("<H", data, 56)
    places = range(start, start + count * PROGRAM_HEADER, PROGRAM_HEADER)
    return [at for at in places if struct.unpack_from("<I", data, at)[0] == headers.PT_LOAD]


def patched(program: Path, at: int, value: int) -> Path:
    data = bytearray(program.read_bytes())
    struct.pack_into("<Q", data, at, value)
    path = program.with_name("patched")
    path.write_bytes(data)
    return path


def field(data: bytes, header: int, offset: int) -> int:
    (value,) = struct.unpack_from("<Q", data, header + offset)
    return int(value)


@pytest.mark.slow
def test_segments_that_overlap_are_named(program: Path) -> None:
    """The loader would put one over the other."""
    data = program.read_bytes()
    *_, before, last = loads(data)
    inside = field(data, before, ADDRESS) + 0x10
    path = patched(program, last + ADDRESS, inside)
    for command in ("dump", "verify"):
        result = omptool(command, path)
        assert result.exit_code == 2
        assert re.search(rf"ELF segments \d+ and \d+ overlap at address {inside:#x}", result.stderr)


def test_symbols_for_entries_that_a_descriptor_tells_of(program: Path) -> None:
    found = load(program, Look(for_entries=True))
    assert found.tables
    assert found == load(program)


def test_segments_that_share_a_page_of_the_file_do_not_overlap(program: Path) -> None:
    assert omptool("verify", "--strict", program).exit_code == 0


def addends(data: bytes, value: int) -> list[int]:
    """Return the offsets of relocations' addends that equal an address."""
    file = headers.read(Reader(data))
    dynamic = file.dynamic()
    start, size = dynamic[7][0], dynamic[8][0]  # DT_RELA, in the first segment, and DT_RELASZ
    return [
        at + 16
        for at in range(start, start + size, headers.RELA.size)
        if headers.RELA.unpack_from(data, at)[2] == value
    ]


def moved(program: Path, begin: int | None, end: int | None) -> Path:
    """Return the program with other bounds of the entries."""
    data = bytearray(program.read_bytes())
    known = descriptor(program)
    for old, new in ((known.entries_begin, begin), (known.entries_end, end)):
        assert old is not None
        for at in addends(bytes(data), old) if new is not None else ():
            struct.pack_into("<q", data, at, new)
    path = program.with_name("moved")
    path.write_bytes(data)
    return path


def descriptor(program: Path) -> Descriptor:
    (found,) = load(program).descriptors
    return found


@pytest.mark.parametrize("whole", [False, True], ids=["beyond", "elsewhere"])
def test_entries_beyond_the_file(program: Path, whole: bool) -> None:
    """The descriptor refers to a range outside the file, wholly or in part."""
    known = descriptor(program)
    assert known.entries_begin is not None
    assert known.entries_end is not None
    far = 0x10000
    begin = known.entries_begin + far if whole else None
    path = moved(program, begin, known.entries_end + far)
    result = omptool("verify", path)
    assert result.exit_code == 1
    where = f"spans {begin or known.entries_begin:#x}..{known.entries_end + far:#x}"
    assert f"{where}, which is not in the file" in result.stdout
    (file,) = document("dump", omptool("dump", "--json", path).stdout)["files"]
    assert (len(file["images"]), file["entries"]) == (1, [])


def test_entries_cut_off_with_their_segment(program: Path) -> None:
    """All bytes after the entries are gone."""
    data = program.read_bytes()
    known = descriptor(program)
    assert known.entries_end is not None
    *_, last = loads(data)
    size = known.entries_end - 8 - field(data, last, ADDRESS)
    result = omptool("verify", patched(program, last + FILE_SIZE, size))
    assert result.exit_code == 1
    assert "OMP103 error" in result.stdout


def test_entries_in_an_image(program: Path) -> None:
    """The words of an image are no entries."""
    (image,) = load(program).images
    assert image.address is not None
    begin = image.address + 8
    result = omptool("verify", moved(program, begin, begin + 32))
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert re.search(r"record 0 of the table of entries at 0x\w+ is not in the file", line)
