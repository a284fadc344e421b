# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The compiled helper for reading images (runtime/inspect), if it was built.

The helper reads common images. Its equivalents in Python (lz4_block, device_elf and ptx) read all
others, and replace a missing helper. Their results are equal.
"""

from __future__ import annotations

import threading
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import packager
from packager.files.reader import Reader
from packager.look import Look
from packager.records import NamedTuple

if TYPE_CHECKING:
    import ctypes
    from collections.abc import Iterator
    from mmap import mmap

LIBRARY = Path("_compiled", "libomptool_inspect.so")
FUNCTIONS = ("omptool_inspect_cubin", "omptool_lz4_image", "omptool_ptx_lines")
ROOM = 1 << 22  # buffer for an answer
IMAGE_ROOM = 1 << 23  # buffer for an image, or for both ends of a larger one
WORD = 8
# Depth to which a cubin is read. Each depth includes the search for damage and undefined names.
DAMAGE, SYMBOLS, RESOURCES = range(3)


def is_answered(data: Reader) -> bool:
    """Return whether the helper has read the image, which it does for cubins only."""
    image = data.inflated()
    return image is not None and image.facts is not None


def answer(data: Reader, depth: int) -> bytes | None:
    """Return the helper's records of an image, if it has been inflated and read so far."""
    image = data.inflated()
    return image.facts[1] if image and image.facts and image.facts[0] == depth else None


class Memory:
    """Output buffer of the helper; the kernel allocates its pages at first use."""

    def __init__(self, size: int) -> None:
        from ctypes import addressof, c_char
        from mmap import MAP_ANONYMOUS, MAP_PRIVATE, mmap

        self.bytes: mmap = mmap(-1, size, MAP_PRIVATE | MAP_ANONYMOUS)
        self.size = size
        self.address = addressof(c_char.from_buffer(self.bytes))


class Image(NamedTuple):
    """An image in memory, or both ends of one that exceeds the memory.

    Then its end is in the last eighth of the memory, and the bytes between pass through the eighth
    before it, as runtime/inspect/image.h expects.
    """

    memory: bytes | mmap
    place: bytes | int  # the stored bytes, or their address
    room: int
    size: int

    def places(self) -> Iterator[memoryview]:
        """Yield the memory that the image's bytes are written to, in their order."""
        view = memoryview(self.memory)
        if self.size <= self.room:
            yield view[: self.size]
            return
        end = self.room // 8
        head = self.room - 2 * end
        yield view[:head]
        passing = self.size - head - end
        for at in range(0, passing, end):
            yield view[head:][: min(end, passing - at)]
        yield view[self.room - end :]

    def head(self, size: int) -> bytes:
        """Return the first `size` bytes, or fewer if the image is shorter."""
        return self.memory[: min(size, self.size)]

    def tail(self, size: int) -> bytes:
        """Return the last `size` bytes, or fewer if the image is shorter."""
        end = min(self.size, self.room)
        return self.memory[max(0, end - size) : end]


def whole(content: bytes) -> Image:
    """Return an image of which all bytes are in memory."""
    return Image(content, content, len(content), len(content))


class _Own(threading.local):
    """A thread's buffer, reused: allocating takes longer than inflating into it.

    The thread reads the results before its next call.
    """

    answer: Memory | None = None
    image: Memory | None = None


class Helper:
    """The library's functions, for any thread."""

    def __init__(self, library: ctypes.CDLL) -> None:
        import ctypes

        size, number, place = ctypes.c_uint64, ctypes.c_int32, ctypes.c_void_p
        self._cubin = library.omptool_inspect_cubin
        self._cubin.argtypes = (place, size, size, number, place, size)
        self._lines = library.omptool_ptx_lines
        self._lines.argtypes = (place, size, place, size)
        self._lz4 = library.omptool_lz4_image
        self._lz4.argtypes = (place, size, place, size, size, number)
        for function in (self._cubin, self._lines, self._lz4):
            function.restype = ctypes.c_int64
        self._own = _Own()

    def beginning(self, block: bytes, size: int) -> bytes | None:
        """Return the first bytes of a block of LZ4, of which `block` has enough for them."""
        out, size = self._out(), min(size, ROOM)
        found = self._lz4(block, len(block), out.address, ROOM, size, True)
        return out.bytes[:size] if found == size else None

    def image(self, size: int) -> Image:
        """Return memory for an image, which is the thread's until its next call."""
        memory = self._own.image = self._own.image or Memory(IMAGE_ROOM)
        return Image(memory.bytes, memory.address, memory.size, size)

    def inflate(self, block: bytes | int, stored: int, image: Image) -> bool:
        """Inflate an LZ4 block of `stored` bytes, passed as bytes or as an address.

        Returns False for a damaged or unusual block.
        """
        found: int = self._lz4(block, stored, image.place, image.room, image.size, False)
        return found == image.size

    def cubin(self, image: Image, depth: int) -> bytes | None:
        """Return the helper's records of a cubin."""
        out = self._out()
        found = self._cubin(image.place, image.room, image.size, depth, out.address, ROOM)
        return out.bytes[:found] if found >= 0 else None

    def lines(self, text: bytes) -> tuple[int, ...] | None:
        """Return where lines begin that may have a directive."""
        out = self._out()
        count = self._lines(text, len(text), out.address, ROOM // WORD)
        return None if count < 0 else tuple(memoryview(out.bytes)[: WORD * count].cast("Q"))

    def _out(self) -> Memory:
        own = self._own
        own.answer = own.answer or Memory(ROOM)
        return own.answer


def depth(look: Look) -> int:
    """Return the depth to which cubins are read."""
    if not look.symbols:
        return DAMAGE
    return RESOURCES if look.resources else SYMBOLS


@cache
def built() -> Helper | None:
    """Return the helper; None where it was not built, or cannot be loaded."""
    for place in packager.__path__:  # an editable install has two: sources and build
        try:
            import ctypes

            library = ctypes.CDLL(str(Path(place) / LIBRARY))
            if all(hasattr(library, name) for name in FUNCTIONS):  # not that of another release
                return Helper(library)
        except (ImportError, OSError):  # ctypes or the library is missing
            continue
    return None
