# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The ELF reader: agrees with pyelftools, and one wrong field is named, not believed."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection
from toolchain import HOST, MAIN, compile_c, fake_runtime, linked, run

from packager.elf import headers
from packager.elf.address_space import read_window
from packager.elf.headers import MAX_SECTIONS, Elf
from packager.elf.imports import libraries, offload_imports
from packager.elf.relocated import Range
from packager.elf.space_of import space
from packager.errors import FormatError, LimitError
from packager.files.reader import Reader

SECTIONS_AT, SEGMENTS_AT = 40, 32  # offsets in the file header
PH_SIZE, PH_COUNT, SH_SIZE, SH_COUNT, SH_NAMES = 54, 56, 58, 60, 62


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("elf")
    host = compile_c(HOST + MAIN, folder / "host.o", "-c", "-fPIC")
    return linked([host], folder / "program", "-pie", runtime=fake_runtime(folder))


def read(path: Path) -> Elf:
    return headers.read(Reader(path.read_bytes()))


def test_headers_are_those_of_pyelftools(program: Path) -> None:
    ours = read(program)
    with program.open("rb") as file:
        theirs = ELFFile(file)
        assert [(s.name, s.offset, s.size, s.address) for s in ours.sections] == [
            (s.name, s["sh_offset"], s["sh_size"], s["sh_addr"]) for s in theirs.iter_sections()
        ]
        assert [(s.offset, s.address, s.file_size) for s in ours.segments] == [
            (s["p_offset"], s["p_vaddr"], s["p_filesz"]) for s in theirs.iter_segments()
        ]
        symbols = theirs.get_section_by_name(".symtab")
        assert isinstance(symbols, SymbolTableSection)
        (table,) = ours.named(".symtab")
        names = ours.strings(table.link, "names")
        assert [(names[s.name_at], s.value) for s in ours.symbols(table) if s.type != 3] == [
            (s.name, s["st_value"])
            for s in symbols.iter_symbols()
            if s["st_info"]["type"] != "STT_SECTION"
        ]


def test_machine_and_imports(program: Path) -> None:
    ours = read(program)
    assert ours.machine == "x86_64"
    assert "libomptarget.so" in libraries(ours).needed
    assert offload_imports(ours).names == ("__tgt_target@OMPTARGET_4.5",)


@pytest.mark.slow
def test_more_sections_than_the_header_can_count(tmp_path: Path) -> None:
    """Beyond 0xff00 sections, their number and their names' place are in section 0."""
    lines = [f'.section .text.f{n},"ax"\nf{n}: ret\n.globl f{n}' for n in range(66000)]
    source = tmp_path / "many.s"
    source.write_text("\n".join(lines) + "\n")
    run("gcc", "-c", source, "-o", tmp_path / "many.o")
    ours = read(tmp_path / "many.o")
    assert len(ours.sections) > 66000
    (table,) = ours.named(".symtab")
    names = ours.strings(table.link, "names")
    (last,) = [s for s in ours.symbols(table) if names[s.name_at] == "f65999"]
    assert ours.sections[last.section].name == ".text.f65999"


@pytest.mark.parametrize(
    ("at", "layout", "value", "message"),
    [
        pytest.param(4, "B", 1, "is not 64-bit little-endian", id="class"),
        pytest.param(5, "B", 2, "is not 64-bit little-endian", id="data"),
        pytest.param(SECTIONS_AT, "Q", 1 << 40, "ELF section header 0 at", id="sections-at"),
        pytest.param(SEGMENTS_AT, "Q", 1 << 40, "ELF program headers at", id="segments-at"),
        pytest.param(SH_SIZE, "H", 63, "section headers have 63 bytes each", id="section-size"),
        pytest.param(PH_SIZE, "H", 57, "program headers have 57 bytes each", id="segment-size"),
        pytest.param(SH_COUNT, "H", 0xFFF0, "ELF section headers at", id="section-count"),
        pytest.param(PH_COUNT, "H", 0xFFF0, "claims 65520 program headers", id="segment-count"),
        pytest.param(SH_NAMES, "H", 0xFF, "ELF section names are in section 255 of", id="names"),
    ],
)
def test_one_wrong_field_is_named(
    program: Path, at: int, layout: str, value: int, message: str
) -> None:
    data = bytearray(program.read_bytes())
    struct.pack_into(f"<{layout}", data, at, value)
    with pytest.raises(FormatError, match=re.escape(message)):
        headers.read(Reader(data))


def test_a_section_count_of_billions(program: Path) -> None:
    data = bytearray(program.read_bytes())
    (first,) = struct.unpack_from("<Q", data, SECTIONS_AT)
    struct.pack_into("<H", data, SH_COUNT, 0)
    struct.pack_into("<Q", data, first + 32, MAX_SECTIONS + 1)
    with pytest.raises(FormatError, match=f"claims {MAX_SECTIONS + 1} sections"):
        headers.read(Reader(data))


@pytest.mark.parametrize("size", [15, 63, 64, 1000, -1])
def test_truncated(program: Path, size: int) -> None:
    with pytest.raises(FormatError):
        headers.read(Reader(program.read_bytes()[:size]))


def test_a_range_outside_the_file_is_named(program: Path) -> None:
    memory = space(read(program))
    with pytest.raises(FormatError, match="the table is not in the file"):
        read_window(memory, Range(1 << 40, 8, "the table"))
    with pytest.raises(FormatError, match="is too large to be real"):
        read_window(memory, Range(0, 1 << 40, "the table"))


def test_tables_of_too_many_rows_are_refused(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = read(program)
    monkeypatch.setattr(headers, "MAX_ROWS", 3)
    (table,) = ours.named(".symtab")
    with pytest.raises(LimitError, match="tables of more than 3 rows"):
        list(ours.symbols(table))
