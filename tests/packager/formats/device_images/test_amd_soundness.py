# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""AMD code objects that are judged by whole tables, and those that are left to a closer look."""

from __future__ import annotations

import struct

import pytest
from places import CORPUS

from packager.elf import headers
from packager.elf.headers import SHT_DYNSYM, SYMBOL
from packager.files.reader import Reader
from packager.formats.device_images import amd_soundness

IMAGE = (CORPUS / "seed-image.co").read_bytes()


def is_sound(content: bytes) -> bool:
    return amd_soundness.is_sound(headers.read(Reader(content)))


def test_a_sound_one() -> None:
    assert is_sound(IMAGE)


@pytest.mark.parametrize("number", [1, -1])
def test_a_symbol_whose_name_is_not_there(number: int) -> None:
    (table,) = headers.read(Reader(IMAGE)).of_type(SHT_DYNSYM)
    places = range(table.offset, table.offset + table.size, SYMBOL.size)
    wrong = bytearray(IMAGE)
    struct.pack_into("<I", wrong, places[number], 1 << 20)
    assert not is_sound(bytes(wrong))


def test_more_descriptors_than_the_metadata_has_kernels() -> None:
    file = headers.read(Reader(IMAGE))
    (table,) = file.of_type(SHT_DYNSYM)
    strings = file.sections[table.link]
    names = IMAGE[strings.offset : strings.offset + strings.size]
    other = next(name for name in names.split(b"\0") if len(name) > 3 and not name.endswith(b".kd"))
    wrong = IMAGE.replace(other + b"\0", other[:-3] + b".kd\0")
    assert wrong != IMAGE
    assert not is_sound(wrong)


@pytest.mark.parametrize(("longest", "expected"), [(3, False), (64, True)])
def test_a_name_that_is_too_long(
    monkeypatch: pytest.MonkeyPatch, longest: int, expected: bool
) -> None:
    monkeypatch.setattr(amd_soundness, "MAX_STRING", longest)
    assert is_sound(IMAGE) is expected
