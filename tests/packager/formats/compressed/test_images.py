# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compressed images: the same with two threads, with one, and without the helper."""

from __future__ import annotations

import random
import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import lz4.block
import pytest
import zstandard
from places import DATA

from packager.errors import FormatError, LimitError
from packager.files.context import Context
from packager.files.reader import Reader, open_reader
from packager.formats.compressed import ahead, helper, images, inflate
from packager.formats.compressed.ahead import Ahead, Answer, Job
from packager.formats.compressed.images import Begun
from packager.formats.containers import cuda_fatbin
from packager.formats.device_images import device_elf
from packager.look import Look

CUBIN = (DATA / "driver.cubin").read_bytes()
PTX = (DATA / "driver.ptx").read_bytes()
DAMAGE = Look(symbols=False, damage=True)
LOOKS = {"all": Look(), "damage": DAMAGE, "beginning": Look(symbols=False)}
WAYS = ("two threads", "one thread", "no helper")
Compress = Callable[[bytes], bytes]


def packed(content: bytes) -> bytes:
    """Return a block of LZ4 with `content`."""
    return bytes(lz4.block.compress(content, store_size=False))


def contents() -> Iterator[tuple[bytes, bool]]:
    """Yield images, and whether they are texts: sound ones, unusual ones and bytes of none."""
    rng = random.Random(29)
    for number in range(12):
        yield CUBIN, False
        yield PTX + bytes(number % 3), True
        yield CUBIN[: len(CUBIN) - number * 40], False
        yield rng.randbytes(rng.choice((1, 7, 1000, 30_000))), False


def use(monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    monkeypatch.setattr(inflate, "IN_MEMORY", 0)
    monkeypatch.setattr(images, "IN_MEMORY", 0)
    monkeypatch.setattr(ahead, "SMALLEST", 0)
    cores = {0, 1} if way == "two threads" else {0}
    monkeypatch.setattr("os.sched_getaffinity", lambda _: cores)
    if way == "no helper":
        monkeypatch.setattr(helper, "built", lambda: None)


def begun(data: Reader, parts: list[tuple[bytes, bool]], blocks: list[bytes]) -> list[Begun]:
    found, at = [], 0
    method = "zstd" if blocks[0].startswith(b"\x28\xb5\x2f\xfd") else "lz4"
    for (content, is_text), block in zip(parts, blocks, strict=True):
        part = data.slice(at, len(block), "image")
        found.append(Begun(part, method, len(content), "image", is_text=is_text))
        at += len(block)
    return found


@pytest.mark.parametrize("compress", [packed, zstandard.compress], ids=["lz4", "zstd"])
@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
@pytest.mark.parametrize("way", WAYS)
def test_images(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, way: str, look: Look, compress: Compress
) -> None:
    """Each can be read when it is finished, and later, in any order."""
    threads = threading.active_count()  # other tests may have some
    use(monkeypatch, way)
    parts = list(contents())
    blocks = [compress(content) for content, _ in parts]
    file = tmp_path / "file"
    file.write_bytes(b"".join(blocks))
    with open_reader(file, look) as data:
        found: list[Reader] = []
        for image, (content, _) in zip(begun(data, parts, blocks), parts, strict=True):
            found.append(image.finished())
            assert found[-1].bytes(0, min(9, len(content))) == content[:9]
            assert found[-1].bytes(len(content) - 1) == content[-1:]
        for again, (content, _) in reversed(list(zip(found, parts, strict=True))):
            assert again.bytes(len(content) - 1) == content[-1:]
            assert again.bytes() == content
        has_answer = way != "no helper" and look.is_inside
        depth = helper.depth(look)
        assert [helper.answer(one, depth) is not None for one in found] == [
            has_answer and content == CUBIN for content, _ in parts
        ]
        assert helper.answer(found[0].slice(1, 9, "part"), depth) is None
    assert threading.active_count() == threads


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("look", [Look(), DAMAGE], ids=["all", "damage"])
def test_images_that_are_damaged(monkeypatch: pytest.MonkeyPatch, way: str, look: Look) -> None:
    """The sentence is the same, at the image's own place, and those behind it are read."""
    use(monkeypatch, way)
    parts = list(contents())
    blocks = [packed(content) for content, _ in parts]
    blocks[20] = packed(CUBIN + b"!")
    blocks[24] = b"\xff" + blocks[24][1:]
    blocks[28] = blocks[28][:-3]
    data = Reader(b"".join(blocks))
    data.context.look = look
    faults = {}
    for number, image in enumerate(begun(data, parts, blocks)):
        try:
            image.finished()
        except FormatError as error:
            faults[number] = str(error)
    data.context.close()
    assert list(faults) == [20, 24, 28]
    assert all("is not an LZ4 block" in fault for fault in faults.values())


def test_an_error_of_the_second_thread_is_the_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = threading.active_count()
    use(monkeypatch, "two threads")

    def failing(*_: object) -> Answer | None:
        raise MemoryError

    monkeypatch.setattr(Job, "_answered", failing)
    parts = list(contents())
    blocks = [packed(content) for content, _ in parts]
    data = Reader(b"".join(blocks))
    data.context.look = DAMAGE
    for image in begun(data, parts, blocks):
        with pytest.raises(MemoryError):
            image.finished()
    data.context.close()
    assert threading.active_count() == threads


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many are begun, and whether or not their readers come."""
    use(monkeypatch, "two threads")
    made: list[int] = []

    class Memory(helper.Memory):
        def __init__(self, size: int) -> None:
            made.append(size)
            super().__init__(size)

    monkeypatch.setattr(ahead, "Memory", Memory)
    parts = list(contents()) * 5
    blocks = [packed(content) for content, _ in parts]
    data = Reader(b"".join(blocks))
    for image in begun(data, parts, blocks)[len(parts) // 2 :]:
        image.finished()
    data.context.close()
    assert made == [ahead.LARGEST] * ahead.MOST


def test_large_images_are_inflated_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, "two threads")
    monkeypatch.setattr(ahead, "LARGEST", len(packed(CUBIN)))
    waiting: list[Job] = []
    monkeypatch.setattr(Ahead, "_run", lambda ahead: waiting.extend(iter(ahead._queue.get, None)))
    parts = [(CUBIN, False)] * 9 + [(PTX[:500], True)] * 9
    blocks = [packed(content) for content, _ in parts]
    data = Reader(b"".join(blocks))
    data.context.look = DAMAGE
    found = begun(data, parts, blocks)
    for image in found:
        image.finished()
    data.context.close()
    assert waiting
    assert not any(job.is_large for job in waiting)


def stretched(count: int) -> bytes:
    """Return a cubin with so many bytes in front of its tables of headers, which end it."""
    programs, sections = struct.unpack_from("<QQ", CUBIN, 32)
    middle = min(programs, sections)
    content = bytearray(CUBIN[:middle] + random.Random(3).randbytes(count) + CUBIN[middle:])
    struct.pack_into("<QQ", content, 32, programs + count, sections + count)
    return bytes(content)


@pytest.mark.parametrize("compress", [packed, zstandard.compress], ids=["lz4", "zstd"])
@pytest.mark.parametrize("extra", [-1, 0, 1, 5_000_000])
def test_images_larger_than_the_memory(
    monkeypatch: pytest.MonkeyPatch, compress: Compress, extra: int
) -> None:
    """The two ends suffice if they contain a cubin's tables."""
    monkeypatch.setattr(helper, "IMAGE_ROOM", 1 << 20)
    compiled = helper.built.__wrapped__()
    assert compiled
    monkeypatch.setattr(helper, "built", lambda: compiled)
    content = stretched((1 << 20) - len(CUBIN) + extra)
    block = compress(content)
    data = Reader(block, context=Context(look=DAMAGE))
    [image] = begun(data, [(content, False)], [block])
    found = image.finished()
    depth = helper.depth(DAMAGE)
    assert helper.answer(found, depth) == compiled.cubin(helper.whole(content), depth)
    assert helper.answer(found, depth) is not None
    assert found.bytes() == content
    data.context.close()


@pytest.mark.parametrize("compress", [packed, zstandard.compress], ids=["lz4", "zstd"])
def test_cubins_whose_tables_are_in_the_middle(
    monkeypatch: pytest.MonkeyPatch, compress: Compress
) -> None:
    """The twin reads them."""
    monkeypatch.setattr(helper, "IMAGE_ROOM", 1 << 20)
    compiled = helper.built.__wrapped__()
    assert compiled
    monkeypatch.setattr(helper, "built", lambda: compiled)
    content = stretched(1 << 20) + bytes(1 << 20)
    block = compress(content)
    data = Reader(block, context=Context(look=DAMAGE))
    [image] = begun(data, [(content, False)], [block])
    found = image.finished()
    assert helper.answer(found, helper.depth(DAMAGE)) is None
    assert device_elf.inspect(found) == device_elf.inspect(
        Reader(content, context=Context(look=DAMAGE))
    )
    data.context.close()


@pytest.mark.parametrize("size", [1 << 10, 3 << 20])
@pytest.mark.parametrize("behind", [b"", b"!", zstandard.compress(b""), inflate.MARK])
def test_frames(monkeypatch: pytest.MonkeyPatch, size: int, behind: bytes) -> None:
    """Frames accepted at once inflate to the same bytes as in pieces."""
    monkeypatch.setattr(helper, "IMAGE_ROOM", 1 << 20)
    compiled = helper.built.__wrapped__()
    assert compiled
    content = random.Random(7).randbytes(size // 2) * 2
    frame = zstandard.ZstdCompressor(write_checksum=True).compress(content)
    whole = frame + behind
    for end in (len(whole), *range(len(frame) - 6, len(whole))):
        frames = whole[:end]
        try:
            inflated = sum(map(len, inflate.zstd_pieces(Reader(frames), "frame")))
        except FormatError:
            inflated = -1
        accepted = [
            length
            for length in (size - 1, size, size + 1)
            if inflate.zstd_image(memoryview(frames + inflate.MARK), compiled.image(length))
        ]
        assert accepted in ([], [inflated])
        assert accepted or frames not in (frame, frame + zstandard.compress(b""))


def test_a_limit_is_met_behind_what_is_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next fatbin has been started when the limit is reached."""
    fatbin = (DATA / "lz4.fatbin").read_bytes()
    sizes = [len(payload.stored or "") for payload in cuda_fatbin.parse(Reader(fatbin))]
    data = Reader(fatbin * 3)
    most = Reader(fatbin)
    list(cuda_fatbin.parse(most))
    monkeypatch.setattr(inflate, "MAX_INFLATED", 2 * most.context.inflated)
    monkeypatch.setattr(inflate, "MAX_TIMES", 0)
    payloads = cuda_fatbin.parse(data)
    for size in sizes * 2:
        assert len(next(payloads).stored or "") == size
    with pytest.raises(LimitError):
        next(payloads)
