# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compressed images: the same with two threads, with one, and without the helper."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import lz4.block
import pytest
import zstandard
from places import DATA

from packager.errors import FormatError, LimitError
from packager.files import ahead, helper, images, inflate
from packager.files.ahead import Ahead, Answer, Job
from packager.files.images import Begun
from packager.files.reader import Reader, open_reader
from packager.formats.containers import cuda_fatbin
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
        assert [one.answer(depth) is not None for one in found] == [
            has_answer and content == CUBIN for content, _ in parts
        ]
        assert found[0].slice(1, 9, "part").answer(depth) is None
    assert threading.active_count() == 1


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
    assert threading.active_count() == 1


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
    monkeypatch.setattr(ahead, "LARGEST", len(CUBIN) - 1)
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


def test_a_limit_is_met_behind_what_is_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of fatbins, of which the next one has been begun."""
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
