# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rewrite bundles of clang-offload-bundler with their kept images: plain, and compressed anew."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from packager.errors import FormatError, UsageError
from packager.files.names import text
from packager.files.reader import Reader
from packager.formats.containers.bundles import clang_bundle, compressed_bundle
from packager.formats.containers.bundles.clang_bundle import Row
from packager.formats.device_images import spirv
from packager.formats.device_images.bitcode import magic as bitcode
from packager.model import ImageKind
from packager.records import NamedTuple
from packager.slimming.containers.outcome import Held, Outcome, limited
from packager.slimming.keeps import AMD, NVIDIA, is_processor
from packager.slimming.pieces import Piece, Rewritten
from packager.slimming.request import Request
from packager.slimming.selection import Candidate, Choice
from packager.triples import code_of, is_known, normalise
from packager.writers.elf_types import content_size
from packager.writers.streams import compressed, pieces, told

ALIGNMENT = 4096  # alignment of a bundle in a section, and the largest of its images
BEST, GOOD = 19, 9  # levels of zstd
SMALL = 1 << 22  # bytes that the best level takes two seconds for
ZLIB_LEVEL = 9


class _Rebuilt(NamedTuple):
    """A bundle with the images that stay."""

    images: tuple[Candidate, ...]
    choice: Choice
    parts: tuple[bytes | Reader, ...] | None  # None: nothing is removed
    why_whole: str = ""


def rewrite(data: Reader, padded: int, request: Request) -> Outcome:
    """Return the plain bundle at the beginning of `data` with its kept images.

    `padded` is its size in the file. Raises FormatError for a malformed one.
    """
    rebuilt = _rebuilt(data.slice(0, padded, "bundle"), data.at, request)
    new = (Piece(data.at, padded),) if rebuilt.parts is None else _placed(rebuilt.parts)
    rewritten = Rewritten(data.at, padded, ALIGNMENT, new)
    return Outcome((rewritten,), rebuilt.images, rebuilt.choice, rebuilt.why_whole)


def _placed(parts: Sequence[bytes | Reader]) -> tuple[Piece, ...]:
    return tuple(
        Piece(-1, len(part), part) if isinstance(part, bytes) else Piece(part.at, len(part))
        for part in parts
    )


def rewrite_compressed(data: Reader, padded: int, request: Request) -> Outcome:
    """Return the compressed bundle at the start of `data` with its kept images, compressed anew.

    `padded` is its size in the file. Raises FormatError for a malformed one.
    """
    total, method, packed = compressed_bundle.head(data.slice(0, padded, "compressed bundle"))
    bundle = compressed_bundle.inflated(data, packed, method)
    rebuilt = _rebuilt(bundle, data.at, request)
    before = shares(rebuilt.images, total)
    outcome = Outcome(
        (Rewritten(data.at, padded, ALIGNMENT, (Piece(data.at, padded),)),),
        before,
        rebuilt.choice,
        rebuilt.why_whole,
    )
    if rebuilt.parts is None:
        return outcome
    _, version, number = data.unpack(compressed_bundle.HEAD, 0, "compressed bundle header")
    new = _compressed(rebuilt.parts, version, number)
    if len(new) >= total:
        why = f"it has {len(new)} bytes when it is compressed again, and {total} now"
        return outcome._replace(choice=_whole(rebuilt), why_whole=why)
    rewritten = outcome.rewrites[0]._replace(pieces=(Piece(-1, len(new), new),))
    kept = [image for n, image in enumerate(rebuilt.images) if n in rebuilt.choice.stay]
    after = {
        n: image.stored
        for n, image in zip(sorted(rebuilt.choice.stay), shares(kept, len(new)), strict=True)
    }
    return outcome._replace(rewrites=(rewritten,), after=after)


def _compressed(parts: tuple[bytes | Reader, ...], version: int, number: int) -> bytes:
    """Return a compressed bundle of the parts of a plain one."""
    size, method = content_size(parts), compressed_bundle.METHODS[number]
    level = ZLIB_LEVEL if method == "zlib" else BEST if size <= SMALL else GOOD
    checksum = compressed_bundle.Sum()
    stream = b"".join(compressed(told(pieces(parts), checksum.add), size, method, level))
    head = compressed_bundle.header(version, number, len(stream), size, checksum.digest())
    return head + stream


def shares(images: Sequence[Candidate], stored: int) -> tuple[Candidate, ...]:
    """Return images with their shares, by size, of the bytes that they are compressed to."""
    found, rest, weight = [], stored, sum(image.stored for image in images)
    for image in images:
        share = rest * image.stored // weight if weight else 0
        found.append(image._replace(stored=share))
        rest, weight = rest - share, weight - image.stored
    return tuple(found)


def images(data: Reader) -> list[Held]:
    """Return the images of the bundle at the beginning of `data`. Raises FormatError."""
    return [_held(data, row) for row in limited(clang_bundle.rows(data))]


def _held(bundle: Reader, row: Row) -> Held:
    image = _candidate(bundle, row)
    data = bundle.slice(row.offset, row.size, "image")
    return Held(image, data, lambda: image.arch)


def images_of_compressed(data: Reader) -> list[Held]:
    """Return the images of the compressed bundle at the beginning of `data`. Raises FormatError."""
    _, method, packed = compressed_bundle.head(data)
    return images(compressed_bundle.inflated(data, packed, method))


def _rebuilt(bundle: Reader, at: int, request: Request) -> _Rebuilt:
    """Return the first bundle in `bundle` with its kept images. Raises FormatError.

    `at` is the file offset of its container.
    """
    if not clang_bundle.probe(bundle):
        raise FormatError(f"bundle at {bundle.at:#x} has no magic")
    rows = limited(clang_bundle.rows(bundle))
    candidates = tuple(_candidate(bundle, row) for row in rows)
    choice = request.choice(at, candidates)
    rebuilt = _Rebuilt(candidates, choice, None)
    if len(choice.stay) == len(rows):
        return rebuilt
    if why := _why_whole(bundle, rows):
        return rebuilt._replace(choice=_whole(rebuilt), why_whole=why)
    kept = [row for n, row in enumerate(rows) if n in choice.stay]
    return rebuilt._replace(parts=tuple(_parts(bundle, kept, _alignment(rows))))


def _whole(rebuilt: _Rebuilt) -> Choice:
    return rebuilt.choice._replace(stay=frozenset(range(len(rebuilt.images))))


def _candidate(bundle: Reader, row: Row) -> Candidate:
    """Return an image by its id; an image for an unknown device is kept."""
    target = text(row.id)
    image = bundle.slice(row.offset, row.size, f"image of {target}")
    kind, triple, processor = clang_bundle.split_id(target)
    if kind == clang_bundle.HOST:
        return Candidate(clang_bundle.HOST, "", "unknown", row.size, "it is the host's part")
    try:
        code = code_of(normalise(triple))
    except UsageError:
        code = ""
    why = ""
    if not code or not is_known(normalise(triple)):
        why = f"its target {target} is unknown"
    elif code in (AMD, NVIDIA) and not processor:
        why = f"its target {target} names no processor"
    elif not is_processor(code, processor):
        why = f"its target {target} names a processor in an unknown form"
    return Candidate(code, processor, _kind(code, image), row.size, why)


def _kind(code: str, image: Reader) -> ImageKind:
    if bitcode.probe(image):
        return "bitcode"
    if spirv.probe(image):
        return "spirv"
    return "cubin" if code == NVIDIA else "amdgcn" if code == AMD else "elf"


def _why_whole(bundle: Reader, rows: Sequence[Row]) -> str:
    """Return why a bundle is not rewritten; "" if it is."""
    head = len(clang_bundle.table(rows))
    ranges = sorted({(row.offset, row.offset + row.size) for row in rows if row.size})
    if any(begin < head for begin, _ in ranges):
        return "an image lies in its table"
    if any(begin < end for (_, end), (begin, _) in pairwise(ranges)):
        return "its images overlap"
    end = max((end for _, end in ranges), default=head)
    if clang_bundle.zeros(bundle, end) < len(bundle) - end:
        return "other bytes follow its images"
    return ""


def _alignment(rows: Sequence[Row]) -> int:
    """Return the alignment that all images of a bundle have."""
    together = ALIGNMENT
    for row in rows:
        together |= row.offset if row.size else 0
    return together & -together


def _parts(bundle: Reader, kept: Sequence[Row], alignment: int) -> list[bytes | Reader]:
    """Return a bundle with these rows, whose images keep their order and their alignment."""
    at = len(clang_bundle.table(kept))
    placed: dict[tuple[int, int], int] = {}
    parts: list[bytes | Reader] = []
    for offset, size in sorted({(row.offset, row.size) for row in kept if row.size}):
        padding = -at % alignment
        parts += [bytes(padding)] if padding else []
        placed[offset, size] = at + padding
        parts.append(bundle.slice(offset, size, "image"))
        at += padding + size
    rows = [row._replace(offset=placed.get((row.offset, row.size), at)) for row in kept]
    return [clang_bundle.table(rows), *parts]
