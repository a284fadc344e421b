# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Images are read only as deep as requested: the list is the same, and the rest is not read."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from fatbins import entry, fatbin
from host_bytes import ALLOCATED, PROGBITS, RELOCATABLE, Section, elf
from places import DATA, ROOT
from toolchain import omptool

from packager.elf import headers
from packager.elf.headers import HEADER, SECTION_HEADER, SHT_SYMTAB
from packager.files import sources
from packager.files.reader import Reader
from packager.hosts.load import load_all
from packager.look import Look
from packager.model import Contents, DeviceImage

GLANCE = Look(symbols=False, resources=False)
CORPUS = ROOT / "tests" / "packager" / "fuzz" / "corpus"
FILES = sorted((*DATA.glob("*"), *CORPUS.glob("seed-*")))


def listed(path: Path, look: Look) -> list[DeviceImage]:
    """Return the images without their contents."""
    return [
        image._replace(contents=Contents(image.kind, image.contents.machine, image.contents.arch))
        for loaded in load_all(path, look)
        for image in loaded.binary.images
    ]


@pytest.mark.parametrize("path", [path for path in FILES if path.is_file()], ids=lambda p: p.name)
def test_the_list_does_not_depend_on_the_depth(path: Path) -> None:
    assert listed(path, GLANCE) == listed(path, Look())


@pytest.mark.parametrize("path", [path for path in FILES if path.is_file()], ids=lambda p: p.name)
def test_where_there_are_entries_symbols_are_read(path: Path) -> None:
    brief, whole = load_all(path, Look(for_entries=True)), load_all(path)
    for one, other in zip(brief, whole, strict=True):
        if one.binary.tables or one.binary.machine is None:
            assert one.binary == other.binary
        else:
            known = {image.index: image.contents for image in one.binary.images}
            images = (i._replace(contents=known[i.index]) for i in other.binary.images)
            assert one.binary == other.binary._replace(images=tuple(images))


def test_where_there_are_none_they_are_not(tmp_path: Path) -> None:
    content = fatbin(entry(2, damaged_symbols()))
    path = tmp_path / "host.o"
    path.write_bytes(elf(RELOCATABLE, [Section(".nv_fatbin", content, PROGBITS, ALLOCATED)]))
    for options in ((), ("--wide",), ("--images", "--entries")):
        assert "is truncated" not in omptool("dump", *options, path).stdout
    assert "is truncated" in omptool("verify", path).stdout


def damaged_symbols() -> bytes:
    """Return a cubin whose symbol table has an offset outside of the file."""
    cubin = bytearray((DATA / "compiled.cubin").read_bytes())
    at = HEADER.unpack_from(cubin)[6]
    for section in headers.read(Reader(cubin)).of_type(SHT_SYMTAB):
        row = list(SECTION_HEADER.unpack_from(cubin, at + section.number * SECTION_HEADER.size))
        row[4] = 1 << 40
        SECTION_HEADER.pack_into(cubin, at + section.number * SECTION_HEADER.size, *row)
    return bytes(cubin)


def test_damaged_symbols_are_not_looked_at(tmp_path: Path) -> None:
    whole, damaged = (DATA / "compiled.cubin").read_bytes(), damaged_symbols()
    path = tmp_path / "one.fatbin"
    path.write_bytes(fatbin(entry(2, whole), entry(2, damaged)))
    shown = omptool("dump", "--images", path).stdout
    assert shown.count("cubin") == 2
    assert "image 1:" not in shown
    assert "image 1: is truncated" in omptool("dump", path).stdout


def test_an_image_is_not_inflated_for_its_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only zstd's first block is inflated: the last one is damaged, and nothing goes to a file."""
    noise = random.Random(3).randbytes(1 << 19)
    image = (DATA / "compiled.cubin").read_bytes() + noise
    good = entry(2, image)
    path = tmp_path / "one.fatbin"
    path.write_bytes(fatbin(good[:-40] + b"\xff" * 40))
    monkeypatch.setattr(sources, "nameless", None)
    (found,) = listed(path, GLANCE)
    assert (found.kind, found.size, found.contents.arch) == ("cubin", len(image), "sm_75")


PTX = b".version 8.5\n.target sm_90a\n.address_size 64\n"


@pytest.mark.parametrize(
    "head",
    [
        pytest.param(b"", id="at-once"),
        pytest.param(b"// text\n" * 2000, id="long-comment"),
        pytest.param(b"/* .target sm_10\n" + b"-" * 3000 + b"*/ ", id="block-comment"),
    ],
)
@pytest.mark.parametrize("end", [b"\0", b"\0" * 8, b""])
def test_text_is_as_long_as_without_its_padding(tmp_path: Path, head: bytes, end: bytes) -> None:
    text = head + PTX + b".visible .entry k()\n{\n}\n" + b"// filler\n" * 100_000
    path = tmp_path / "one.fatbin"
    path.write_bytes(fatbin(entry(1, text + end)))
    (found,) = listed(path, GLANCE)
    assert (found.kind, found.size, found.contents.arch) == ("ptx", len(text), "sm_90a")
    assert [found] == listed(path, Look())
