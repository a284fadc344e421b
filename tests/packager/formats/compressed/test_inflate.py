# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inflate compressed parts: zstd's frames, and room for the results."""

from __future__ import annotations

import random
import struct
import zlib

import pytest
import zstandard

from packager.errors import FormatError, LimitError
from packager.files import sources
from packager.files.reader import Reader
from packager.formats.compressed import inflate as module
from packager.formats.compressed.inflate import inflate

TEXT = b"what is inflated " * 1000
FRAME = zstandard.compress(TEXT)
UNSIZED = zstandard.ZstdCompressor(write_content_size=False)


def skipped(content: bytes, number: int = 0) -> bytes:
    """Return a skippable frame."""
    return struct.pack("<II", 0x184D2A50 + number, len(content)) + content


@pytest.mark.parametrize(
    ("data", "count"),
    [
        pytest.param(FRAME, 1, id="one"),
        pytest.param(UNSIZED.compress(TEXT), 1, id="without-its-size"),
        pytest.param(skipped(b"pad") + FRAME, 1, id="skipped-first"),
        pytest.param(FRAME + skipped(b"") + skipped(b"x" * 9000, 15), 1, id="skipped-last"),
        pytest.param(skipped(b"pad") + FRAME + skipped(b"pad") + FRAME, 2, id="as-pzstd-does"),
        pytest.param(FRAME * 3, 3, id="three"),
        pytest.param(FRAME + bytes(64), 1, id="padded"),
        pytest.param(FRAME + b"\x50", 1, id="one-byte-more"),
    ],
)
@pytest.mark.parametrize("piece", [1, 3, 4096])
def test_frames_of_zstd(
    monkeypatch: pytest.MonkeyPatch, data: bytes, count: int, piece: int
) -> None:
    monkeypatch.setattr(module, "SMALL_PIECE", piece)
    assert inflate(Reader(data), "zstd", len(TEXT) * count, "part").bytes() == TEXT * count
    assert module.is_zstd(Reader(data))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(FRAME[:-1], "is cut off", id="frame"),
        pytest.param(FRAME[:5] + b"\x50" + FRAME[6:], "is not a zstd stream", id="another-size"),
        pytest.param(UNSIZED.compress(TEXT + b"!"), "inflates to more than", id="unsized-more"),
        pytest.param(FRAME + skipped(b"pad")[:-1], "is cut off", id="skipped"),
        pytest.param(FRAME + FRAME[:9], "is cut off", id="second"),
        pytest.param(b"none" * 9, "inflates to 0 bytes", id="none"),
        pytest.param(FRAME * 2, "inflates to more than", id="more"),
    ],
)
def test_frames_that_are_damaged(data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        inflate(Reader(data), "zstd", len(TEXT), "part")


def test_streams_that_are_read_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has an inflater of its own; that of an abandoned one is used again."""
    monkeypatch.setattr(module, "SMALL_PIECE", 16)
    content = [random.Random(seed).randbytes(5000) for seed in range(3)]
    streams = [module.zstd_pieces(Reader(zstandard.compress(one)), "part") for one in content]
    first = [next(stream) for stream in streams]
    streams.pop().close()
    pairs = zip(*streams, strict=True)
    found = [b"".join(pieces) for pieces in zip(first[:2], *pairs, strict=True)]
    assert found == content[:2]
    assert b"".join(module.zstd_pieces(Reader(FRAME), "part")) == TEXT


def test_parts_that_have_given_way_are_inflated_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compared with the bytes themselves, in the order of a fixed seed."""
    monkeypatch.setattr(sources, "ROOM", 20_000)
    monkeypatch.setattr(module, "IN_MEMORY", 0)
    rng = random.Random(3)
    originals = [rng.randbytes(rng.choice((1, 100, 3000, 9000, 30_000))) for _ in range(40)]
    whole = b"".join(zlib.compress(original) for original in originals)
    data = Reader(whole)
    parts: list[Reader] = []
    at = 0
    for original in originals:
        size = len(zlib.compress(original))
        part = data.slice(at, size, "part")
        parts.append(inflate(part, "zlib", len(original), "part"))
        at += size
        for number in rng.choices(range(len(parts)), k=3):
            start = rng.randrange(len(originals[number]))
            assert parts[number].bytes(start) == originals[number][start:]
    # The outer part is dropped from memory while the inner one is inflated.
    outer = inflate(Reader(zlib.compress(whole), context=data.context), "zlib", len(whole), "outer")
    at = 0
    for original in originals:
        size = len(zlib.compress(original))
        part = outer.slice(at, size, "part")
        inner = inflate(part, "zlib", len(original), "part")
        assert inner.bytes() == original
        at += size
    data.context.close()


def test_all_parts_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_INFLATED", 3 * len(TEXT))
    monkeypatch.setattr(module, "MAX_TIMES", 0)
    data = Reader(FRAME)
    for _ in range(3):
        inflate(data, "zstd", len(TEXT), "part")
    with pytest.raises(LimitError, match="the file inflates to more than the limit of 51000 bytes"):
        inflate(data, "zstd", len(TEXT), "part")
