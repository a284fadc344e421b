# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small files that are expensive to read: each is read, or refused with a line, at low cost."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from hashlib import md5
from pathlib import Path

import pytest
from target import check
from toolchain import PTX, omptool

from packager.elf.headers import HEADER, SECTION_HEADER
from packager.formats.containers.offload_binary import ENTRY
from packager.formats.containers.offload_binary import HEADER as BLOB

pytestmark = pytest.mark.slow

MIB = 1 << 20


def compressed_bundle() -> bytes:
    """Return a bundle that inflates from 256 KiB to 256 MiB."""
    bundle = b"__CLANG_OFFLOAD_BUNDLE__".ljust(256 * MIB, b"\0")
    packed = zlib.compress(bundle, 9)
    head = struct.pack("<4sHHII", b"CCOB", 2, 0, 24 + len(packed), len(bundle))
    return head + md5(bundle).digest()[:8] + packed


def overlapping_images() -> bytes:
    """Return an OffloadBinary of version 2 with 4000 entries that share one image."""
    count, image = 4000, PTX.encode() * 100
    start = BLOB.size + count * ENTRY.size
    head = BLOB.pack(b"\x10\xff\x10\xad", 2, start + len(image), BLOB.size, count)
    return head + ENTRY.pack(5, 1, 0, 0, 0, start, len(image)) * count + image


def shared_strings() -> bytes:
    """Return 4000 entries with 1000 strings each, all of them the same."""
    count, strings = 4000, 1000
    table = BLOB.size + count * ENTRY.size
    start = table + strings * 24
    keys = b"".join(struct.pack("<QQQ", start + n, start, 60000) for n in range(strings))
    text = b"a" * 60000 + b"\0"
    head = BLOB.pack(b"\x10\xff\x10\xad", 2, start + len(text), BLOB.size, count)
    return head + ENTRY.pack(5, 1, 0, table, strings, start, 0) * count + keys + text


def bundles_in_a_row() -> bytes:
    return (b"__CLANG_OFFLOAD_BUNDLE__" + bytes(8)) * 140_000


def fatbins_in_a_row() -> bytes:
    return struct.pack("<4sHHQ", b"\x50\xed\x55\xba", 1, 16, 0) * 140_000


def comments_in_a_line() -> bytes:
    return b".version 7.0 " + b"/**/" * 250_000 + b"\n.target sm_70\n"


def sections_everywhere() -> bytes:
    """Return a file with 1000 sections of entries that span the file and have long names."""
    count, names = 1000, 1000 * SECTION_HEADER.size + HEADER.size
    header = HEADER.pack(b"\x7fELF\2\1\1".ljust(16, b"\0"), 3, 62, 1, 0, 0, HEADER.size, 0,
                         HEADER.size, 56, 0, SECTION_HEADER.size, count, 1)  # fmt: skip
    size = names + 2 * MIB
    first = SECTION_HEADER.pack(1, 3, 0, 0, names, 2 * MIB, 0, 0, 1, 0)
    others = [SECTION_HEADER.pack(n, 1, 2, 0, 0, size, 0, 0, 1, 0) for n in range(count - 2)]
    return header + bytes(SECTION_HEADER.size) + first + b"".join(others) + b"a" * 2 * MIB


def thin_archive_of_itself() -> bytes:
    header = b"%-16s%-12s%-6s%-6s%-8s%-10s`\n" % (b"hostile/", b"0", b"0", b"0", b"644", b"60")
    return b"!<thin>\n" + header * 1000


def archives_in_archives() -> bytes:
    data = b"!<arch>\n"
    for _ in range(100):
        size = b"%d" % len(data)
        data = b"!<arch>\n%-16s%-12s%-6s%-6s%-8s%-10s`\n" % (b"in.a/", b"0", b"0", b"0", b"644",
                                                              size) + data  # fmt: skip
    return data


def long_kernel_line() -> bytes:
    name = b"__omp_offloading_1_2_f_l" + b"9" * 5000
    return PTX.encode().replace(b"first(", name + b"(").replace(b".param", b"\n.param")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (compressed_bundle, "the limit is 300 times as many"),
        (overlapping_images, "device images overlap"),
        (shared_strings, "bytes in all are not read"),
        (bundles_in_a_row, "more than 131072 bundles in a row"),
        (fatbins_in_a_row, "more than 131072 CUDA fatbins in a row"),
        (comments_in_a_line, ""),
        (sections_everywhere, "longer than 65536 bytes"),
        (thin_archive_of_itself, "is an archive that is a member of itself"),
        (archives_in_archives, "archives are nested more than 4 deep"),
        (long_kernel_line, ""),
    ],
)
def test_small_files_that_ask_for_much(
    tmp_path: Path, make: Callable[[], bytes], message: str
) -> None:
    path = tmp_path / "hostile"
    path.write_bytes(make())
    check(path)
    result = omptool("dump", path)
    assert (result.exit_code, message in result.stderr) == (2 if message else 0, True)
