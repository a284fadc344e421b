# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PTX: kernels, globals and target, without being misled by comments or long lines."""

from __future__ import annotations

import pytest
from toolchain import PTX

from packager.files.reader import Reader
from packager.formats.device_images import ptx
from packager.model import Contents

HEAD = ".version 8.5\n.target sm_90a\n.address_size 64\n"


def inspect(text: str) -> Contents:
    return ptx.inspect(Reader(text.encode()))


def sizes(text: str) -> dict[str, int]:
    return {s.name: s.size for s in inspect(HEAD + text).symbols if s.kind == "global"}


def test_the_table_is_the_order_of_the_entries() -> None:
    contents = inspect(PTX)
    assert (contents.kind, contents.machine, contents.arch) == ("ptx", "nvptx64", "sm_70")
    assert [symbol.name for symbol in contents.table or ()] == ["first", "second"]
    assert [(symbol.name, symbol.size) for symbol in contents.symbols] == [
        ("table", 32),
        ("first", 0),
        ("second", 0),
    ]


@pytest.mark.parametrize(
    ("line", "size"),
    [
        (".visible .global .align 4 .u32 x;", 4),
        (".visible .global .align 8 .f64 x = 0d3FF0000000000000;", 8),
        (".weak .global .align 16 .b8 x[48] = {1, 2, 3};", 48),
        (".visible .global .align 4 .b32 x[2][3];", 24),
        (".visible .global .v4 .f32 x;", 16),
        (".visible .const .align 2 .u16 x[4];", 8),
        (".visible .global .attribute(.managed) .align 4 .b32 x;", 4),
        ("  .visible\t.global .u8 x;", 1),
    ],
)
def test_sizes_of_globals(line: str, size: int) -> None:
    assert sizes(line + "\n") == {"x": size}


@pytest.mark.parametrize(
    "text",
    [
        "// .visible .global .u32 x;\n",
        "/* .visible .global .u32 x; */\n",
        "/*\n.visible .global .u32 x;\n*/\n",
        ".extern .global .u32 x;\n",  # defined elsewhere
        ".global .u32 x;\n",  # not for others
        "\tld.global.b32 %r1, [x];\n",
    ],
)
def test_what_is_not_a_definition_for_the_host(text: str) -> None:
    assert sizes(text) == {}


def test_comments_end() -> None:
    text = "/* a */ /* b\n */\n.visible .global .u32 x; // /* not a comment\n"
    assert sizes(text + ".visible .global .u32 y;\n") == {"x": 4, "y": 4}


@pytest.mark.parametrize("start", ["", "\n\n", "// text\n", "/* .target */ ", "\t// a\n /* b */\n"])
def test_probe_skips_comments(start: str) -> None:
    assert ptx.probe(Reader((start + HEAD).encode()))
    assert not ptx.probe(Reader((start + "version 8.5").encode()))


def test_lines_longer_than_a_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ptx, "PIECE", 64)
    monkeypatch.setattr(ptx, "LONG_LINE", 48)
    data = ", ".join("1" for _ in range(1000))
    text = f".visible .global .align 1 .b8 data[1000] = {{{data}}};\n.visible .entry last()\n{{}}\n"
    contents = inspect(HEAD + "// filler\n" * 20 + text)
    assert [(s.name, s.size) for s in contents.symbols] == [("data", 1000), ("last", 0)]
    assert contents.arch == "sm_90a"


def test_without_a_target() -> None:
    assert "no .target" in (inspect(".version 8.5\n").problem or "")


BODY = "(\n\t.param .u64 p // ; {\n)\n.maxntid 1, 1, 1\n"


@pytest.mark.parametrize("piece", [64, 1 << 20])
def test_a_declaration_is_no_kernel(monkeypatch: pytest.MonkeyPatch, piece: int) -> None:
    """CUDA's device runtime declares its kernels in front of their definitions."""
    monkeypatch.setattr(ptx, "PIECE", piece)
    declared = f".entry one{BODY};\n.visible .entry two{BODY} ;\n.entry never{BODY};\n"
    pragma = '.visible .entry three() .pragma "nounroll";\n{\n\tret;\n}\n'
    text = declared + f".entry two{BODY}{{\n\tret;\n}}\n.entry one{BODY}\n{{ ret; }}\n{pragma}"
    contents = inspect(HEAD + "// filler\n" * 9 + text)
    assert [symbol.name for symbol in contents.table or ()] == ["two", "one", "three"]


def test_a_kernel_that_is_defined_twice() -> None:
    contents = inspect(HEAD + f".entry one{BODY};\n" + f".entry one{BODY}{{\n\tret;\n}}\n" * 2)
    assert [symbol.name for symbol in contents.table or ()] == ["one", "one"]


def test_names_of_any_length() -> None:
    """Names of C++ templates have some thousand characters, and may differ only at the end."""
    names = [f"_Z{'4long' * 1000}{number}" for number in range(2)]
    text = "".join(f".visible .entry {name}(\n)\n{{\n}}\n" for name in names)
    assert [symbol.name for symbol in inspect(HEAD + text).symbols] == names
