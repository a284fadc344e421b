# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compressed images that a second thread inflates and looks into, ahead of their readers.

An image is in memory for as long as the helper looks into it. All that stays is its two ends, and
the helper's answer.
"""

from __future__ import annotations

import os
from queue import SimpleQueue
from threading import Lock, Thread
from typing import TYPE_CHECKING, NamedTuple

from packager.files import helper
from packager.files.helper import Memory
from packager.files.inflate import zstd_frame
from packager.files.reader import Reader

if TYPE_CHECKING:
    from mmap import mmap

HEAD = 1 << 10  # the headers of an image, and the first directives of PTX
TAIL = 1 << 4  # of PTX, behind which there is padding
LARGEST = 1 << 23  # larger ones wait for their reader, so that one at a time is in memory
MOST = 12  # images that have been read and are not inflated yet
FEW = 4  # images, which are not worth a thread
ELF = b"\x7fELF"


class Answer(NamedTuple):
    """Keeps of an image its beginning, its end, and of a cubin what the helper writes."""

    head: bytes
    tail: bytes
    code: bytes | None


class Job:
    """An image to be inflated by whoever comes first, the second thread or the reader."""

    def __init__(
        self, free: list[Memory], stored: Reader, method: str, size: int, depth: int | None
    ) -> None:
        self._free = free  # memory for the compressed bytes
        self._stored = stored
        self._method = method
        self._size = size
        self._depth = depth  # of the look into a cubin, if there is to be one
        self._lock = Lock()
        self._is_done = False
        self._answer: Answer | None = None
        self.memory: Memory | None = None  # with the compressed bytes, until it is done
        self.is_begun = False
        self.is_large = max(size, len(stored)) > LARGEST

    def read(self) -> None:
        """Read the compressed bytes: the second thread opens and reads no file."""
        self.memory = Memory(max(1, len(self._stored))) if self.is_large else self._free.pop()
        with memoryview(self.memory.bytes) as view, view[: len(self._stored)] as part:
            self._stored.read_into(part)

    def answer(self) -> Answer | None:
        """Return the helper's answer; None: it is damaged, or unusual, and for the twins."""
        with self._lock:
            if not self._is_done:
                self._answer = self._answered()
                self._is_done = True
                self.give_back()
            return self._answer

    def give_back(self) -> None:
        """Leave the memory to the next image."""
        memory, self.memory = self.memory, None
        if memory and not self.is_large:
            self._free.append(memory)

    def _answered(self) -> Answer | None:
        compiled, memory = helper.built(), self.memory
        if compiled is None or memory is None:
            return None
        if self._method == "lz4":
            found = compiled.inflated(memory.address, len(self._stored), self._size)
            return self._looked_into(compiled, found.bytes, found.address) if found else None
        with memoryview(memory.bytes) as view, view[: len(self._stored)] as frame:
            whole = zstd_frame(frame, self._size)
        return self._looked_into(compiled, whole, whole) if whole is not None else None

    def _looked_into(
        self, compiled: helper.Helper, content: bytes | mmap, place: bytes | int
    ) -> Answer | None:
        size, code = self._size, None
        head, tail = content[: min(HEAD, size)], content[max(0, size - TAIL) : size]
        if self._depth is not None and head.startswith(ELF):
            code = compiled.cubin(place, size, self._depth)
            if code is None:
                return None
        return Answer(head, tail, code)


class Ahead:
    """The second thread, and the images that it has yet to inflate."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[Job | None] = SimpleQueue()
        self._thread: Thread | None = None
        self._begun = 0
        self._free = [Memory(LARGEST) for _ in range(MOST)]
        self._is_closed = len(os.sched_getaffinity(0)) < 2

    def begin(self, stored: Reader, method: str, size: int, depth: int | None) -> Job:
        """Have an image inflated, if there is room; otherwise its reader does it."""
        job = Job(self._free, stored, method, size, depth)
        self._begun += 1
        is_wanted = self._begun > FEW and not job.is_large and not self._is_closed
        if not is_wanted or len(self._free) < 2:  # its reader needs one
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
        """End the thread; images that nobody has asked for are left as they are."""
        self._is_closed = True
        if self._thread:
            self._queue.put(None)
            self._thread.join()

    def _run(self) -> None:
        while (job := self._queue.get()) is not None and not self._is_closed:
            try:
                job.answer()
            except Exception:  # its reader comes to the same, and gets it
                continue
