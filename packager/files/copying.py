# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Copy bytes between files, inside the kernel if possible, without passing through this process."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator

from packager.files.portable import pread, pwrite

# Alignment of offsets at which the kernel copies a quarter faster: the size of page cache folios.
BLOCK = 1 << 16
AT_ONCE = 16 << 20  # then who watches hears of it
BY_HAND = 1 << 20
# Errors with which the kernel refuses to copy between two files, or at all.
NOT_HERE = {errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM}


def copy(
    source: int,
    start: int,
    size: int,
    out: int,
    at: int,
    copied: Callable[[int], None],
    at_once: int = AT_ONCE,
) -> int:
    """Copy `size` bytes of the open file `source`, from `start` on, to `at` in `out`.

    `out` has only zeros there, and holes stay holes. Calls `copied` with the number of bytes of
    each step, at most `at_once`. Returns the number of bytes copied, less than `size` if the file
    ends early.
    """
    end = start + size
    for begin, stop in _data(source, start, end):
        place = begin
        while place < stop:
            more = at + place - start
            done = _in_kernel(source, place, min(stop - place, at_once), out, more)
            done = done or _by_hand(source, place, min(stop - place, BY_HAND), out, more)
            if not done:
                return place - start
            place += done
            copied(done)
    # The end of a file looks like the beginning of a hole.
    return min(end, os.fstat(source).st_size) - start


def _in_kernel(source: int, start: int, size: int, out: int, at: int) -> int:
    """Copy inside the kernel; return the number of bytes, or 0 if the kernel cannot."""
    if not hasattr(os, "copy_file_range"):  # Linux alone has it
        return 0
    try:
        return os.copy_file_range(source, out, size, start, at)
    except OSError as error:
        if error.errno in NOT_HERE:
            return 0
        raise


def _by_hand(source: int, start: int, size: int, out: int, at: int) -> int:
    return put(out, memoryview(pread(source, size, start)), at)


def put(out: int, content: memoryview, at: int) -> int:
    """Write all of `content` to `at` in `out`; its size."""
    left = content
    while left:
        done = pwrite(out, left, at)
        left, at = left[done:], at + done
    return len(content)


def _data(source: int, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the parts of a range that are not holes, as pairs of start and end."""
    if not hasattr(os, "SEEK_DATA"):
        yield start, end
        return
    at = start
    while at < end:
        try:
            begin = min(max(os.lseek(source, at, os.SEEK_DATA), at), end)
            stop = min(os.lseek(source, begin, os.SEEK_HOLE), end) if begin < end else end
        except OSError as error:
            if error.errno == errno.ENXIO:  # only holes follow
                return
            begin, stop = at, end
        if begin < stop:
            yield begin, stop
        at = stop
