# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables of strings: names are the same whether all of a table is plain text or not."""

from __future__ import annotations

import pytest

from packager.elf.strings import Strings
from packager.errors import FormatError, LimitError
from packager.files import context
from packager.files.names import text
from packager.files.reader import MAX_STRING, Reader
from packager.formats.host_records import entries

NAMES = [b"", b"first", b".nv.info._Z1kv", b"x" * 5000, b"last"]
OTHERS = [b"caf\xc3\xa9", b"\xff\xfe", b"bell\x07", b"line\nline", b"\x7f"]


@pytest.mark.parametrize("others", [[], *([name] for name in OTHERS), OTHERS], ids=repr)
def test_names(others: list[bytes]) -> None:
    table = b"\0".join([*NAMES, *others]) + b"\0"
    strings = Strings(Reader(table), "names")
    for name in (*NAMES, *others):
        assert strings[table.index(name + b"\0")] == text(name)
    assert strings[table.index(b"rst\0")] == "rst"
    places = [table.index(name + b"\0") for name in (*NAMES, *others, b"rst", b"first")]
    assert Strings(Reader(table), "names").each(places) == [strings[at] for at in places]


@pytest.mark.parametrize("other", [b"", b"\xff"])
def test_names_that_do_not_end(other: bytes) -> None:
    strings = Strings(Reader(other + b"\0whole\0cut"), "names")
    assert strings[len(other) + 1] == "whole"
    for offset in (len(other) + 7, 400, 1 << 32):
        with pytest.raises(FormatError, match="names: offset 0x"):
            strings[offset]
        with pytest.raises(FormatError, match="names: offset 0x"):
            strings.each([len(other) + 1, offset])
    long = Strings(Reader(other + b"\0" + b"x" * (MAX_STRING + 1) + b"\0"), "names")
    with pytest.raises(FormatError, match=f"is longer than {MAX_STRING} bytes"):
        long[len(other) + 1]
    with pytest.raises(FormatError, match=f"is longer than {MAX_STRING} bytes"):
        long.each([len(other) + 1])


def test_all_of_them_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of a small file may name one long string many times."""
    monkeypatch.setattr(context, "MAX_STRINGS", 100)
    strings = Strings(Reader(b"\0" + b"x" * 30 + b"\0"), "names")
    with pytest.raises(LimitError, match="strings of more than"):
        [strings[1] for _ in range(20)]
    with pytest.raises(LimitError, match="strings of more than"):
        Strings(Reader(b"\0" + b"x" * 30 + b"\0"), "names").each([1] * 20)


def test_sections_of_entries_are_known_by_a_word() -> None:
    assert all(entries.WORD in name for name in entries.SECTIONS)
