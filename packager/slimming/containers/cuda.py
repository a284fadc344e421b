# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rewrite a CUDA fat binary with its kept entries, which are copied without recompression."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from packager.errors import FormatError
from packager.files.reader import Reader
from packager.formats.containers import cuda_fatbin
from packager.formats.containers.cuda_fatbin import Entry
from packager.formats.device_images import known as device_images
from packager.look import Look
from packager.slimming.containers.outcome import Held, Outcome, limited
from packager.slimming.keeps import NVIDIA
from packager.slimming.pieces import Piece, Rewritten
from packager.slimming.request import Request
from packager.slimming.selection import Candidate

ALIGNMENT = cuda_fatbin.PADDING
# Kinds of removable entries; linkers and later drivers need the other kinds.
KNOWN = {cuda_fatbin.PTX: "ptx", cuda_fatbin.CUBIN: "cubin"}
# First number with variants for one architecture or family. An entry may omit the suffix of a
# variant, which its image states.
FIRST_WITH_VARIANTS = 90
INSIDE = Look(resources=False)
TOGETHER = "code that stays is compressed together with other code"


def rewrite(data: Reader, padded: int, request: Request) -> Outcome:
    """Return the fat binary at the beginning of `data` with its kept images.

    `padded` is its size in the file. Raises FormatError for a malformed one.
    """
    fatbin = cuda_fatbin.whole(data)
    cuda_fatbin.expect_known(fatbin)
    entries = limited(cuda_fatbin.entries(fatbin.body))
    rows = _rows(entries)
    candidates = [image for _, image in rows]
    choice = request.choice(data.at, candidates, own_arch=lambda n: _own_arch(*rows[n]))
    groups = {rows[n][0].data.at for n in choice.stay}
    stay = frozenset(n for n, (entry, _) in enumerate(rows) if entry.data.at in groups)
    kept = [entry for entry in entries if entry.data.at in groups]
    pieces = (
        (Piece(data.at, padded),)
        if len(kept) == len(entries)
        else (_header(fatbin, kept), *_ranges(kept))
    )
    rewritten = Rewritten(data.at, padded, ALIGNMENT, pieces)
    why = TOGETHER if stay != choice.stay else ""
    return Outcome((rewritten,), tuple(candidates), choice._replace(stay=stay), why)


def images(data: Reader) -> list[Held]:
    """Return the images of the fat binary at the beginning of `data`. Raises FormatError."""
    rows = _rows(cuda_fatbin.entries(cuda_fatbin.whole(data).body))
    return [Held(image, entry.data, _own(entry, image)) for entry, image in rows]


def _own(entry: Entry, image: Candidate) -> Callable[[], str]:
    return lambda: _own_arch(entry, image)


def _rows(entries: Iterable[Entry]) -> list[tuple[Entry, Candidate]]:
    """Return the images, each with its entry; images of a group have one together."""
    return limited((entry, image) for entry in entries for image in _candidates(entry))


def _candidates(entry: Entry) -> list[Candidate]:
    if entry.kind == cuda_fatbin.GROUP:
        images = cuda_fatbin.members(entry)
        share, rest = divmod(len(entry.data), max(len(images), 1))
        found = [Candidate(NVIDIA, arch, kind, share) for kind, arch in images]
        if found:
            found[0] = found[0]._replace(stored=share + rest)
            return found
    kind = cuda_fatbin.KINDS.get(entry.kind, "unknown")
    why = ""
    if entry.kind not in KNOWN:
        name = {"bitcode": "NVVM code for a linker", "tileir": "Tile IR"}.get(kind)
        why = f"it is {name}" if name else f"it has the unknown kind {entry.kind:#x}"
    return [Candidate(NVIDIA, entry.arch, kind, len(entry.data), why)]


def _own_arch(entry: Entry, image: Candidate) -> str:
    """Return the architecture in the bytes of an image.

    Headers by older tools lack the suffix of code for one architecture alone.
    """
    if image.arch[-1] in "af" or int(image.arch[3:]) < FIRST_WITH_VARIANTS:
        return image.arch
    if entry.kind not in KNOWN:
        return image.arch
    try:
        with entry.data.looked_into(INSIDE) as data:
            inside = device_images.looked_into(cuda_fatbin.payload(entry._replace(data=data)))
    except FormatError:
        return image.arch  # a damaged image runs nowhere, and is not for slim to judge
    own = inside.contents.arch or ""
    return own if own.startswith(image.arch) else image.arch


def _header(fatbin: cuda_fatbin.Whole, kept: list[Entry]) -> Piece:
    """Return the header with the size of the entries that stay."""
    size = len(fatbin.data) - len(fatbin.body)
    head = bytearray(fatbin.data.bytes(0, size, "CUDA fatbin header"))
    layout = cuda_fatbin.HEADER
    magic, version, header, _ = layout.unpack_from(head)
    body = sum(len(entry.data) for entry in kept)
    layout.pack_into(head, 0, magic, version, header, body)
    return Piece(-1, size, bytes(head))


def _ranges(kept: list[Entry]) -> list[Piece]:
    """Return the entries as ranges of the file; adjacent ones are merged."""
    found: list[Piece] = []
    for entry in kept:
        at, size = entry.data.at, len(entry.data)
        if found and found[-1].offset + found[-1].size == at:
            found[-1] = found[-1]._replace(size=found[-1].size + size)
        else:
            found.append(Piece(at, size))
    return found
