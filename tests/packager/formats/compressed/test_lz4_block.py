# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The helper inflates the same LZ4 blocks as the lz4 package, and no others."""

from __future__ import annotations

import random
from collections.abc import Iterator

import lz4.block
import pytest

from packager.errors import FormatError
from packager.files.reader import Reader
from packager.formats.compressed import helper, lz4_block
from packager.formats.compressed.inflate import inflate

SIZES = (1, 4, 5, 12, 13, 16, 17, 64, 255, 270, 1024, 5000, 70_000)


def contents() -> Iterator[bytes]:
    """Yield random bytes, runs of one and of some bytes, text, and mixtures, of each size."""
    rng = random.Random(4)
    for size in SIZES:
        yield rng.randbytes(size)
        for period in (1, 2, 3, 7, 8, 15, 16, 17, 40):
            yield (rng.randbytes(period) * (size // period + 1))[:size]
        words = [rng.randbytes(rng.randrange(1, 30)) for _ in range(12)]
        yield b"".join(rng.choice(words) for _ in range(size // 10 + 1))[:size]


def compressed(content: bytes) -> bytes:
    """Return a block of `content`."""
    return bytes(lz4.block.compress(content, store_size=False))


def by_package(block: bytes, size: int) -> bytes | None:
    """Return what lz4 inflates a block to, if that has `size` bytes."""
    try:
        return lz4_block.inflated(block, size, "block")
    except FormatError:
        return None


def by_helper(block: bytes, size: int) -> bytes | None:
    """Inflate a block by the helper."""
    built = helper.built()
    assert built
    image = built.image(size)
    return image.memory[:size] if built.inflate(block, len(block), image) else None


def test_sound_blocks() -> None:
    for content in contents():
        block = compressed(content)
        assert by_helper(block, len(content)) == by_package(block, len(content)) == content
        for size in (len(content) + 1, len(content) - 1):
            assert by_helper(block, size) is None


def test_a_block_of_nothing() -> None:
    """Only the package knows which of these blocks are sound."""
    assert by_helper(compressed(b""), 0) is None
    assert inflate(Reader(compressed(b"")), "lz4", 0, "block").bytes() == b""


def test_damaged_blocks() -> None:
    rng = random.Random(5)
    answered = 0
    for content in contents():
        block = compressed(content)
        for _ in range(20):
            copy = bytearray(block)
            for _ in range(rng.choice((1, 1, 4))):
                copy[rng.randrange(len(copy))] = rng.choice((0, 1, 0xF0, 0xFF, rng.randrange(256)))
            damaged = bytes(copy[: rng.choice((len(copy), rng.randrange(len(copy) + 1)))])
            found = by_helper(damaged, len(content))
            assert found is None or found == by_package(damaged, len(content))
            answered += found is not None
    assert answered > 100


@pytest.mark.parametrize("stored", [1 << 30, 40])
def test_beginnings(stored: int) -> None:
    """The helper and Python agree on sound and damaged blocks."""
    rng = random.Random(6)
    for content in contents():
        block = compressed(content)[:stored]
        for size in (1, len(content) // 2 or 1, len(content)):
            found = lz4_block.beginning(block, size)
            assert found == lz4_block._beginning(block, size)
            assert found is None or found == content[:size]
            assert found or stored == 40 or not 0 < size <= len(content)
        copy = bytearray(block)
        copy[rng.randrange(len(copy))] = rng.randrange(256)
        for size in (1, 20, len(content)):
            assert lz4_block.beginning(bytes(copy), size) == lz4_block._beginning(bytes(copy), size)
