# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The compiled helper agrees with its twins in Python, on sound and damaged files."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from cubins import without_code
from places import DATA
from twins import KINDS, both

from packager.elf.headers import SHT_SYMTAB
from packager.files.reader import Reader
from packager.formats.compressed import helper
from packager.formats.containers import cuda_fatbin
from packager.formats.device_images import compiled, device_elf, ptx
from packager.look import Look

PTX = (DATA / "driver.ptx").read_bytes()
CUBINS = {path.name: path.read_bytes() for path in sorted(DATA.glob("*.cubin"))}
CUBINS["made"] = without_code(
    ".visible .global .align 8 .b8 table[16];\n.visible .entry f(\n.param .u64 a\n)\n{\n}\n"
    ".weak .entry _Zg()\n{\n}\n",
    "sm_90",
)
ANSWERED = (
    "compiled.cubin",
    "debug.cubin",
    "driver.cubin",
    "family.cubin",
    "made",
    "relocatable.cubin",
    "specific.cubin",
)
LOOKS = (Look(), Look(resources=False), Look(symbols=False, damage=True))


def damaged(content: bytes, count: int, seed: int) -> Iterator[bytes]:
    """Yield copies with changed bytes or words, or cut off."""
    rng = random.Random(seed)
    for number in range(count):
        copy = bytearray(content)
        if number % 8 == 0:
            yield bytes(copy[: rng.randrange(len(copy))])
            continue
        for _ in range(rng.choice((1, 1, 3))):
            width = rng.choice((1, 1, 2, 4, 8))
            at = rng.randrange(len(copy) // width) * width
            value = rng.choice(
                (0, 1, (1 << 8 * width) - 1, rng.randrange(256), len(copy), copy[at])
            )
            flipped = value % (1 << 8 * width) ^ (rng.choice((0, 1 << rng.randrange(8))))
            copy[at : at + width] = flipped.to_bytes(width, "little")
        yield bytes(copy)


def answer(content: bytes) -> bytes | None:
    built = helper.built()
    assert built
    return built.cubin(helper.whole(content), helper.RESOURCES)


def test_it_is_there() -> None:
    """Tests use an installation, which includes the helper."""
    for name, content in CUBINS.items():
        assert (answer(content) is not None) == (name in ANSWERED)


@pytest.mark.parametrize("look", LOOKS, ids=["resources", "symbols", "damage"])
@pytest.mark.parametrize("name", CUBINS)
def test_cubins(name: str, look: Look) -> None:
    helped, alone = both(device_elf.inspect, CUBINS[name], look)
    assert helped == alone


def test_symbols_in_the_section_that_is_none() -> None:
    copy = bytearray(CUBINS["driver.cubin"])
    (table,) = struct.unpack_from("<Q", copy, 40)
    struct.pack_into("<I", copy, table + 4, SHT_SYMTAB)
    helped, alone = both(device_elf.inspect, bytes(copy))
    assert helped == alone


@pytest.mark.parametrize("name", CUBINS)
def test_damaged_cubins(name: str) -> None:
    compare_damaged(name, 400)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", CUBINS)
def test_many_damaged_cubins(name: str) -> None:
    compare_damaged(name, 40_000)


def compare_damaged(name: str, count: int) -> None:
    answered = 0
    for number, content in enumerate(damaged(CUBINS[name], count, seed=14)):
        helped, alone = both(device_elf.inspect, content, LOOKS[number % 2 * 2])
        assert helped == alone, content
        answered += answer(content) is not None
    assert name not in ANSWERED or answered > count / 8


@pytest.mark.parametrize("path", sorted(DATA.glob("*.fatbin")), ids=lambda path: path.name)
def test_images_of_fatbins(path: Path) -> None:
    payloads = list(cuda_fatbin.parse(Reader(path.read_bytes())))
    assert payloads
    for payload in payloads:
        inspect = KINDS.get(str(payload.declared_kind))
        if inspect:
            helped, alone = both(inspect, payload.image.bytes())
            assert helped == alone


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(PTX, id="compiled"),
        pytest.param(PTX.replace(b"\n", b"\r\n"), id="carriage-returns"),
        pytest.param(PTX.replace(b"\n.", b"\n \t ."), id="indented"),
        pytest.param(PTX.replace(b"(", b"// ; {\n("), id="comments-in-headers"),
        pytest.param(PTX.replace(b"(", b'\n.pragma "a; {";\n(') + b"\n.e", id="pragmas"),
        pytest.param(PTX.replace(b"\n.", b"\n/* .entry no() { */."), id="block-comments"),
        pytest.param(b".version 8\n.target sm_80\n" + b"\n" * 3000, id="blank"),
        pytest.param(b"\n.entry f(" * 3 + b"\n{ }\n.visible .entry g();\n", id="declared"),
    ],
)
@pytest.mark.parametrize("piece", [ptx.PIECE, 100])
def test_ptx(monkeypatch: pytest.MonkeyPatch, text: bytes, piece: int) -> None:
    monkeypatch.setattr(ptx, "PIECE", piece)
    helped, alone = both(ptx.inspect, text)
    assert helped == alone


def test_damaged_ptx() -> None:
    for text in damaged(PTX, 400, seed=41):
        helped, alone = both(ptx.inspect, text)
        assert helped == alone, text


def test_lines_of_which_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(helper, "ROOM", 80)
    text = b".version 8.0\n.target sm_80\n" + b".en\n" * 100
    built = helper.built()
    assert built
    assert built.lines(text) is None
    helped, alone = both(ptx.inspect, text)
    assert helped == alone


def test_strings_at_their_limit() -> None:
    """The helper leaves an image with too many strings to the twin, which reports it."""
    content = CUBINS["driver.cubin"]
    data = Reader(content)
    data.context.strings = 1 << 40
    assert compiled.cubin(data, helper.RESOURCES) is None
    assert data.context.strings == 1 << 40


@pytest.mark.parametrize("kind", ["missing", "text", "another"])
def test_without_it_the_twin_answers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str
) -> None:
    (tmp_path / "_compiled").mkdir()
    library = tmp_path / helper.LIBRARY
    if kind == "text":
        library.write_text("no library\n")
    elif kind == "another":
        library.symlink_to("/lib64/ld-linux-x86-64.so.2")
    monkeypatch.setattr("packager.__path__", [str(tmp_path)])
    uncached = helper.built.__wrapped__
    assert uncached() is None
    monkeypatch.setattr(helper, "built", uncached)
    found = device_elf.inspect(Reader(CUBINS["driver.cubin"]))
    assert {symbol.name for symbol in found.symbols if symbol.kind == "kernel"} == {
        "hidden",
        "shown",
    }
    assert ptx.inspect(Reader(PTX)).symbols
