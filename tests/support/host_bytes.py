# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write host files and containers byte by byte, with no other contents than requested."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from hashlib import md5
from typing import NamedTuple

EXECUTABLE, SHARED, RELOCATABLE = 2, 3, 1  # ET_EXEC, ET_DYN, ET_REL
OFFLOADING = 0x6FFF4C0B  # SHT_LLVM_OFFLOADING
PROGBITS, EXCLUDE, ALLOCATED = 1, 0x80000000, 2
X86_64 = 62
AMD64 = 0x8664  # IMAGE_FILE_MACHINE_AMD64
DISCARDED = 0x02000800  # IMAGE_SCN_MEM_DISCARDABLE and _LNK_REMOVE

MAGIC = b"\x10\xff\x10\xad"  # magic of an OffloadBinary
NO_IMAGE, OBJECT, BITCODE, CUBIN, PTX = 0, 1, 2, 3, 5
NO_KIND, OPENMP, CUDA, HIP, SYCL = 0, 1, 2, 4, 8
HIP_OF_19 = 3  # a number there, a bit in later releases

ZLIB, ZSTD = 0, 1  # methods of a compressed bundle
Pack = Callable[[bytes], bytes]


class Image(NamedTuple):
    """An image of an OffloadBinary, as its entry describes it."""

    kind: int
    producer: int
    triple: str
    arch: str
    data: bytes = b""


class Section(NamedTuple):
    """A section of a host file; `at` is the offset in its header, if wrong."""

    name: str
    data: bytes
    kind: int = OFFLOADING
    flags: int = EXCLUDE
    aligned: int = 8
    at: int | None = None


def offload_binary(image: Image) -> bytes:
    """Return an OffloadBinary of version 1, as every release of LLVM writes it."""
    strings = {"triple": image.triple, "arch": image.arch}
    entry_at, pairs_at = 32, 72
    at = pairs_at + 16 * len(strings)
    pool, pairs = b"", b""
    for words in strings.items():
        for word in words:
            pairs += struct.pack("<Q", at + len(pool))
            pool += word.encode() + b"\0"
    image_at = -(-(at + len(pool)) // 8) * 8
    body = struct.pack(
        "<HHIQQQQ", image.kind, image.producer, 0, pairs_at, len(strings), image_at, len(image.data)
    )
    body += pairs + pool
    body = body.ljust(image_at - entry_at, b"\0") + image.data
    body += bytes(-len(body) % 8)
    return struct.pack("<4sIQQQ", MAGIC, 1, entry_at + len(body), entry_at, 40) + body


def later(
    version: int,
    entries: Sequence[tuple[int, dict[str, str], bytes]],
    pack: Pack,
    kinds: tuple[int, int] = (PTX, OPENMP),
) -> bytes:
    """Write a blob of version 2 or 3 by hand: no release of LLVM writes them yet."""
    head = 32 if version == 2 else 40
    at = head + 40 * len(entries)
    table, rest = b"", b""
    strings_at = at
    pool_at = strings_at + sum(24 * len(strings) for _, strings, _ in entries)
    pool, pairs = b"", b""
    places = []
    for flags, strings, image in entries:
        places.append((flags, strings_at + len(pairs), len(strings), image))
        for key, value in strings.items():
            key_at = pool_at + len(pool)
            pool += key.encode() + b"\0"
            pairs += struct.pack("<QQQ", key_at, pool_at + len(pool), len(value))
            pool += value.encode() + b"\0"
    image_at = pool_at + len(pool)
    for flags, begin, count, image in places:
        table += struct.pack("<HHIQQQQ", *kinds, flags, begin, count, image_at, len(image))
        rest += image
        image_at += len(image)
    body = table + pairs + pool + rest
    packed = pack(body)
    header = struct.pack("<4sIQQQ", MAGIC, version, head + len(packed), head, len(entries))
    if version == 3:
        header += struct.pack("<Q", 0 if packed is body else head + len(body))
    return header + packed


def bundle(parts: Mapping[str, bytes]) -> bytes:
    """Return clang-offload-bundler's bundle of contents by ID."""
    names = sum(24 + len(name) for name in parts)
    table, contents, start = b"", b"", 32 + names
    for name, data in parts.items():
        table += struct.pack("<QQQ", start + len(contents), len(data), len(name)) + name.encode()
        contents += data
    return b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(parts)) + table + contents


def compressed_bundle(plain: bytes, packed: bytes, version: int = 3, method: int = ZSTD) -> bytes:
    """Return a compressed bundle: a header of a version, and compressed bytes."""
    check = md5(plain, usedforsecurity=False).digest()[:8]
    sizes = {2: "<II8s", 3: "<QQ8s"}[version]
    whole = 8 + struct.calcsize(sizes) + len(packed)
    head = struct.pack("<4sHH", b"CCOB", version, method)
    return head + struct.pack(sizes, whole, len(plain), check) + packed


def elf(form: int, sections: Sequence[Section]) -> bytes:
    """Return an ELF file for x86-64 with these sections and their names."""
    names = b"\0" + b"".join(s.name.encode() + b"\0" for s in sections) + b".shstrtab\0"
    body, rows, name_at = b"", bytes(64), 1
    for one in [*sections, Section(".shstrtab", names, 3, 0, 1)]:
        body += bytes(-(64 + len(body)) % one.aligned)
        at = 64 + len(body) if one.at is None else one.at
        rows += struct.pack(
            "<IIQQQQIIQQ", name_at, one.kind, one.flags, 0, at, len(one.data), 0, 0, one.aligned, 0
        )
        body += one.data
        name_at += len(one.name) + 1
    body += bytes(-len(body) % 8)
    ident = b"\x7fELF\2\1\1".ljust(16, b"\0")
    count = len(sections) + 2
    head = struct.pack(
        "<16sHHIQQQIHHHHHH", ident, form, X86_64, 1, 0, 0, 64 + len(body), 0, 64, 0, 0, 64, count,
        count - 1,
    )  # fmt: skip
    return head + body + rows


def coff(sections: Mapping[str, bytes]) -> bytes:
    """Return a COFF object for x86-64; long names are in its string table."""
    strings, rows, body = b"", b"", b""
    start = 20 + 40 * len(sections)
    for name, data in sections.items():
        short = name.encode()
        if len(short) > 8:
            short = f"/{4 + len(strings)}".encode()
            strings += name.encode() + b"\0"
        at = start + len(body)
        rows += struct.pack("<8sIIIIIIHHI", short, 0, 0, len(data), at, 0, 0, 0, 0, DISCARDED)
        body += data
    symbols_at = start + len(body)
    head = struct.pack("<HHIIIHH", AMD64, len(sections), 0, symbols_at, 0, 0, 0)
    return head + rows + body + struct.pack("<I", 4 + len(strings)) + strings
