# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""clang-offload-bundler's files (Clang's ClangOffloadBundler document): binary and text bundles.

Binary: the magic, u64 count, and for each target u64 offset, u64 size, u64 id length and the id;
offsets are from the start of the bundle. Bundles may follow each other, as in `.hip_fatbin`.
Text: each payload between a START and an END line, which are comments of its language.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from struct import Struct

from packager.errors import FormatError, LimitError
from packager.files.names import text
from packager.files.reader import Reader
from packager.formats.containers.payload import Payload
from packager.model import Model
from packager.patterns import pattern
from packager.records import NamedTuple

NAME = "clang-bundle"
MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
# Prefix of sections, one for each target, in objects by clang 14 and `-type=o`.
SECTION_PREFIX = MAGIC.decode()

COUNT = Struct("<Q")
TARGET = Struct("<QQQ")  # offset, size, id length
MAX_BUNDLES = 1 << 17
MAX_ID = 1024
PIECE = 1 << 16
ALIGNMENT = 16
TEXT_HEAD = 1 << 10

_LINE = pattern(rb"(?:^|\n)(?://|;|#) __CLANG_OFFLOAD_BUNDLE____(START|END)__ ([^\n]*)\n")
_PROCESSOR = ("gfx", "sm_", "compute_")
# <kind>-<arch>-<vendor>-<os>-<env>-<processor>
_PARTS_BEFORE_PROCESSOR = 5
HOST = "host"
PRODUCERS: dict[str, Model] = {
    "openmp": "openmp", "hip": "hip", "hipv4": "hip", "sycl": "sycl", "cuda": "cuda",
}  # fmt: skip


def probe(data: Reader) -> bool:
    """Return whether `data` begins with a binary bundle."""
    return data.starts_with(MAGIC)


def probe_text(data: Reader) -> bool:
    """Return whether `data` begins with a START line."""
    found = _LINE.match(data.bytes(0, min(TEXT_HEAD, len(data)), "text bundle"))
    return found is not None and found[1] == b"START"


def split_id(target: str) -> tuple[str, str, str]:
    """Split a bundle's id into kind, triple and processor.

    Releases of the bundler omit the environment, or write it empty or as "unknown". Processors
    contain dashes: "hip-amdgcn-amd-amdhsa--gfx906:xnack-". LLVM 19's bundler appends a dash to
    processors that it does not know.
    """
    kind, _, rest = target.partition("-")
    if rest.endswith("-") and (":" not in rest or rest.endswith(("+-", "--"))):
        rest = rest[:-1]
    parts = rest.split("-", _PARTS_BEFORE_PROCESSOR - 1)
    for number, part in enumerate(parts):
        if part.startswith(_PROCESSOR):
            return kind, "-".join(p for p in parts[:number] if p), "-".join(parts[number:])
    if len(parts) == _PARTS_BEFORE_PROCESSOR:
        *parts, processor = parts
        return kind, "-".join(part for part in parts if part), processor
    return kind, "-".join(part for part in parts if part), ""


def producer(kind: str) -> Model | None:
    """Return the programming model of a kind in an id."""
    return PRODUCERS.get(kind)


def parse(data: Reader) -> Iterator[Payload]:
    """Yield the device images of the binary bundles in `data`, without the host's part.

    Raises FormatError at the first malformed one.
    """
    start = count = 0
    while start < len(data):
        count += 1
        if count > MAX_BUNDLES:
            raise LimitError(f"more than {MAX_BUNDLES} bundles in a row at {data.at:#x}")
        bundle = data.slice(start, len(data) - start, "bundle")
        if not probe(bundle):
            raise FormatError(f"bundle at {bundle.at:#x} has no magic")
        end, fault = 0, None
        for target, image in _targets(bundle):
            if isinstance(image, FormatError):
                fault = fault or image
                continue
            end = max(end, image.at - bundle.at + len(image))
            kind, triple, processor = split_id(target)
            if kind != HOST:
                yield Payload(image, triple, processor, producer=producer(kind), unit=bundle.at)
        if fault:  # the next bundle's offset is unknown
            raise fault
        start += max(end, len(MAGIC) + COUNT.size)
        start += zeros(data, start)


class Row(NamedTuple):
    """A row of a bundle's table; offsets are from the beginning of the bundle."""

    id: bytes
    offset: int
    size: int


def rows(bundle: Reader) -> Iterator[Row]:
    """Yield the rows of the first bundle's table; their offsets are not checked."""
    (count,) = bundle.unpack(COUNT, len(MAGIC), "bundle header")
    if count > len(bundle) // TARGET.size:
        raise FormatError(f"bundle at {bundle.at:#x} claims {count} targets")
    at = len(MAGIC) + COUNT.size
    for number in range(count):
        what = f"target {number} of the bundle"
        offset, size, length = bundle.unpack(TARGET, at, what)
        at += TARGET.size
        if length > MAX_ID:
            raise FormatError(f"id of {what} at {bundle.at + at:#x} claims {length} bytes")
        yield Row(bundle.bytes(at, length, f"id of {what}"), offset, size)
        at += length


def table(found: Sequence[Row]) -> bytes:
    """Return the head of a bundle with these rows."""
    parts = [TARGET.pack(row.offset, row.size, len(row.id)) + row.id for row in found]
    return MAGIC + COUNT.pack(len(found)) + b"".join(parts)


def _targets(bundle: Reader) -> Iterator[tuple[str, Reader | FormatError]]:
    """Yield each id with its image, or with the error if the image is malformed."""
    for row in rows(bundle):
        target = text(row.id)
        try:
            yield target, bundle.slice(row.offset, row.size, f"image of {target}")
        except FormatError as error:
            yield target, error


def zeros(data: Reader, start: int) -> int:
    """Return how many zero bytes begin at `start`: bundles are padded, at most to a page."""
    count, size = 0, ALIGNMENT  # most have little: read little first
    while start + count < len(data):
        piece = data.bytes(start + count, min(size, len(data) - start - count), "padding")
        rest = piece.lstrip(b"\0")
        count += len(piece) - len(rest)
        if rest:
            break
        size = PIECE
    return count


def parse_text(data: Reader) -> Iterator[Payload]:
    """Yield the device parts of a text bundle. Raises FormatError if a part does not end."""
    opened: tuple[str, int] | None = None
    for word, target, before, after in _lines(data):
        if word == b"START":
            if opened:
                raise FormatError(f"part {opened[0]} of the text bundle does not end")
            opened = (target, after)
        elif opened is None or opened[0] != target:
            raise FormatError(f"part {target} of the text bundle ends but does not begin")
        else:
            kind, triple, processor = split_id(target)
            if kind != HOST:
                image = data.slice(opened[1], before - opened[1], f"image of {target}")
                yield Payload(
                    image, triple, processor, is_text=True, producer=producer(kind), unit=data.at
                )
            opened = None
    if opened:
        raise FormatError(f"part {opened[0]} of the text bundle does not end")


def _lines(data: Reader) -> Iterator[tuple[bytes, str, int, int]]:
    """Yield START or END, the id, and the offsets of this line and the next one."""
    rest, at = b"", 0
    for start in range(0, len(data), PIECE):
        chunk = rest + data.bytes(start, min(PIECE, len(data) - start), "text bundle")
        found = None
        for found in _LINE.finditer(chunk):
            yield found[1], text(found[2]), at + found.start(), at + found.end()
        # The newline at the end of one line may begin the next match.
        kept = max(found.end() - 1 if found else 0, len(chunk) - MAX_ID)
        at, rest = at + kept, chunk[kept:]
