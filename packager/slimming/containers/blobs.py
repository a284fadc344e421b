# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rewrite OffloadBinaries end to end, of a file or an object's section, with their kept images."""

from __future__ import annotations

from collections.abc import Sequence

from packager.errors import UsageError
from packager.files.reader import Reader
from packager.formats.containers import offload_binary
from packager.formats.containers.offload_binary import Binary, Blob, Item
from packager.model import ImageKind
from packager.records import NamedTuple
from packager.slimming.containers.bundles import shares
from packager.slimming.containers.outcome import Held, Outcome, limited
from packager.slimming.keeps import is_processor
from packager.slimming.pieces import Piece, Rewritten
from packager.slimming.request import Request
from packager.slimming.selection import Candidate
from packager.triples import code_of, is_known, normalise
from packager.writers.elf_types import content_size
from packager.writers.streams import compressed, pieces

ALIGNMENT = offload_binary.ALIGNMENT
LEVEL = 9
NEEDED = "no image of it would be left, and readers expect one"
TOGETHER = "an OffloadBinary with code that stays has parts that are not written anew"


class _Read(NamedTuple):
    """An OffloadBinary, its entries, and the number of its first image in the container."""

    binary: Binary
    blobs: tuple[Blob, ...]
    first: int

    @property
    def numbers(self) -> range:
        """Return the numbers of its images."""
        return range(self.first, self.first + len(self.blobs))


def extent(data: Reader) -> int:
    """Return the bytes of all OffloadBinaries in `data`. Raises FormatError."""
    end = max(binary.end for binary in offload_binary.binaries(data))
    return min(end - data.at, len(data))


def images(data: Reader) -> list[Held]:
    """Return the images of all OffloadBinaries in `data`. Raises FormatError."""
    return [_held(blob) for read in _read(data) for blob in read.blobs]


def _held(blob: Blob) -> Held:
    image = _candidate(blob)
    return Held(image, blob.image, lambda: image.arch)


def rewrite(data: Reader, padded: int, request: Request) -> Outcome:
    """Return all OffloadBinaries in `data` with their kept images.

    `padded` is their size in the file. Raises FormatError for a malformed one.
    """
    read = _read(data.slice(0, padded, "OffloadBinaries"))
    candidates = tuple(image for one in read for image in _stored(one))
    choice = request.choice(data.at, candidates, is_best=False)
    stay = set(choice.stay)
    new: list[Piece] = []
    why = ""
    if not stay and read:  # readers take no section without any
        least = min(read, key=lambda one: len(one.binary.data))
        stay.update(least.numbers)
        why = NEEDED
    for one in read:
        kept = [n for n in one.numbers if n in stay]
        if 0 < len(kept) < len(one.blobs) and not _can_be_rebuilt(one):
            kept, why = list(one.numbers), TOGETHER
            stay.update(kept)
        if len(kept) == len(one.blobs):
            new.append(Piece(one.binary.data.at, one.binary.end - one.binary.data.at))
        elif kept:
            new += _rebuilt(one.binary, [one.blobs[n - one.first] for n in kept])
    is_same = len(stay) == len(candidates)
    result = (Piece(data.at, padded),) if is_same else tuple(new)
    rewritten = Rewritten(data.at, padded, ALIGNMENT, result)
    return Outcome((rewritten,), candidates, choice._replace(stay=frozenset(stay)), why)


def _read(data: Reader) -> list[_Read]:
    found: list[_Read] = []
    number = 0
    for binary in limited(offload_binary.binaries(data)):
        blobs = tuple(limited(offload_binary.of_binary(binary)))
        found.append(_Read(binary, blobs, number))
        number += len(blobs)
    return found


def _stored(read: _Read) -> tuple[Candidate, ...]:
    """Return the images with the bytes that they have in the file."""
    found = tuple(_candidate(blob) for blob in read.blobs)
    is_packed = any(blob.stored is not None for blob in read.blobs)
    return shares(found, len(read.binary.data)) if is_packed else found


def _candidate(blob: Blob) -> Candidate:
    """Return an image by its strings; an image for an unknown device is kept."""
    triple, arch = blob.strings.get("triple", ""), blob.strings.get("arch", "")
    try:
        normalised = normalise(triple)
    except UsageError:
        normalised = ""
    code = code_of(normalised)
    kind: ImageKind = offload_binary.DECLARED.get(blob.image_kind, "elf")
    why = ""
    if not normalised or not is_known(normalised):
        why = f"its triple {triple!r} is unknown"
    elif not is_processor(code, arch):
        why = f"it is for {arch!r} of {triple}, which is no processor"
    elif blob.flags:
        why = f"its entry has the flags {blob.flags:#x}"
    return Candidate(code, arch, kind, len(blob.image), why)


def _can_be_rebuilt(read: _Read) -> bool:
    """Return whether an OffloadBinary can be written from its parsed form.

    Strings are read as printable text, and long values are cut.
    """
    words = [word for blob in read.blobs for pair in blob.strings.items() for word in pair]
    is_shown_whole = all(
        "\\" not in word and len(word) < offload_binary.MAX_VALUE for word in words
    )
    return is_shown_whole and not any(blob.flags for blob in read.blobs)


def _rebuilt(binary: Binary, blobs: Sequence[Blob]) -> list[Piece]:
    """Return an OffloadBinary of a version with several entries, which has these alone."""
    items = [
        Item(blob.image_kind, blob.strings, len(blob.image), blob.offload_kind) for blob in blobs
    ]
    head, padding = offload_binary.header(items, binary.version)
    parts: tuple[bytes | Reader, ...] = (head, *(blob.image for blob in blobs), bytes(padding))
    method = blobs[0].compression
    if method is None:
        return [
            Piece(-1, len(part), part) if isinstance(part, bytes) else Piece(part.at, len(part))
            for part in parts
        ]
    at = offload_binary.HEADER.size + offload_binary.INFLATED.size
    size = content_size(parts)
    rest: tuple[bytes | Reader, ...] = (head[at:], *parts[1:])
    stream = b"".join(compressed(pieces(rest), size - at, method, LEVEL))
    whole = offload_binary.compressed_head(binary.version, len(stream), size, len(blobs)) + stream
    whole += bytes(-len(whole) % ALIGNMENT)
    return [Piece(-1, len(whole), whole)]
