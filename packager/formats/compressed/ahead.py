# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inflate and inspect compressed images in a second thread, ahead of their readers.

An image is in memory only while the helper reads it. Then only its two ends and the helper's answer
are kept.
"""

from __future__ import annotations

from queue import SimpleQueue
from threading import Lock, Thread

from packager.files.portable import cores
from packager.files.reader import Reader
from packager.formats.compressed import helper
from packager.formats.compressed.helper import Memory
from packager.formats.compressed.inflate import MARK, zstd_image
from packager.records import NamedTuple

HEAD = 1 << 10  # the headers of an image, and the first directives of PTX
TAIL = 1 << 4  # last bytes of PTX, which is padded
LARGEST = 1 << 23  # stored bytes; larger ones wait for their reader, who reads one at a time
MOST = 12  # images that have been read and are not inflated yet
SMALLEST = 1 << 18  # inflated bytes; handing over a smaller image costs as much as inflating it
FEW = 4  # images, which are not worth a thread
ELF = b"\x7fELF"


class Answer(NamedTuple):
    """Keeps the beginning and the end of an image, and the helper's records of a cubin."""

    head: bytes
    tail: bytes
    code: bytes | None


class Free:
    """Memory for compressed bytes, used again: for many images, and for one large one at a time."""

    def __init__(self) -> None:
        self._memory = [Memory(LARGEST) for _ in range(MOST)]
        self._large: Memory | None = None

    def __len__(self) -> int:
        return len(self._memory)

    def take(self, size: int) -> Memory:
        """Return memory that has room for `size` bytes."""
        if size <= LARGEST:
            return self._memory.pop()
        large, self._large = self._large, None
        return large if large and large.size >= size else Memory(size)

    def give_back(self, memory: Memory) -> None:
        """Leave memory to the next image."""
        if memory.size > LARGEST:
            self._large = memory
        else:
            self._memory.append(memory)


class Job:
    """An image to inflate, by the background thread or by the reader, whichever comes first."""

    def __init__(
        self, free: Free, stored: Reader, method: str, size: int, depth: int | None
    ) -> None:
        self._free = free
        self._stored = stored
        self._method = method
        self._size = size
        self._depth = depth  # depth of reading a cubin; None: it is not read
        self._lock = Lock()
        self._is_done = False
        self._answer: Answer | None = None
        self.memory: Memory | None = None  # memory with the compressed bytes, until it is done
        self.is_begun = False
        self.is_large = len(stored) + len(MARK) > LARGEST

    def read(self) -> None:
        """Read the compressed bytes: the second thread opens and reads no file."""
        stored = len(self._stored)
        self.memory = self._free.take(stored + len(MARK))
        with memoryview(self.memory.bytes) as view, view[:stored] as part:
            self._stored.read_into(part)
            view[stored : stored + len(MARK)] = MARK

    def answer(self) -> Answer | None:
        """Return the helper's answer; None if Python must read the image (damaged or unusual)."""
        with self._lock:
            if not self._is_done:
                self._answer = self._answered()
                self._is_done = True
                self.give_back()
            return self._answer

    def give_back(self) -> None:
        """Leave the memory to the next image."""
        memory, self.memory = self.memory, None
        if memory:
            self._free.give_back(memory)

    def _answered(self) -> Answer | None:
        compiled, memory = helper.built(), self.memory
        if compiled is None or memory is None:
            return None
        image, stored = compiled.image(self._size), len(self._stored)
        if self._method == "lz4":
            is_sound = compiled.inflate(memory.address, stored, image)
        else:
            with memoryview(memory.bytes) as view, view[: stored + len(MARK)] as frames:
                is_sound = zstd_image(frames, image)
        return self._looked_into(compiled, image) if is_sound else None

    def _looked_into(self, compiled: helper.Helper, image: helper.Image) -> Answer | None:
        code, head = None, image.head(HEAD)
        if self._depth is not None and head.startswith(ELF):
            code = compiled.cubin(image, self._depth)
            if code is None:
                return None
        return Answer(head, image.tail(TAIL), code)


class Ahead:
    """The background thread, and its pending images."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[Job | None] = SimpleQueue()
        self._thread: Thread | None = None
        self._begun = 0
        self._free = Free()
        self._is_closed = cores() < 2

    def begin(self, stored: Reader, method: str, size: int, depth: int | None) -> Job:
        """Have an image inflated, if there is room; otherwise its reader does it."""
        job = Job(self._free, stored, method, size, depth)
        if size < SMALLEST or job.is_large or self._is_closed:
            return job
        self._begun += 1
        if self._begun <= FEW or len(self._free) < 2:  # the reader needs a free one
            return job
        if self._thread is None:
            self._thread = Thread(target=self._run)
            self._thread.start()
        job.read()
        job.is_begun = True
        self._queue.put(job)
        return job

    def finished(self, job: Job) -> Answer | None:
        """Return the answer of an image; an error of the second thread is raised here."""
        if not job.is_begun:
            job.read()
        try:
            return job.answer()
        finally:
            job.give_back()  # after an error, too

    def close(self) -> None:
        """End the thread. Images that are still in the queue are not inflated."""
        self._is_closed = True
        if self._thread:
            self._queue.put(None)
            self._thread.join()

    def _run(self) -> None:
        while (job := self._queue.get()) is not None and not self._is_closed:
            try:
                job.answer()
            except Exception:  # noqa: BLE001, S112 - the reader gets the same exception
                continue
