"""What changed between two builds: images and entries, in their order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from packager.model import FatBinary

# Longer lists are compared as sets: difflib's time grows with the square of their length.
MAX_ORDERED = 5000


def differences(old: FatBinary, new: FatBinary) -> Iterator[str]:
    """A line for each image, entry or descriptor that only one has: "- " the old, "+ " the new.

    Images are compared by their bytes if both were loaded with hashes.
    """
    yield from _changes("ABI", [old.abi or "none"], [new.abi or "none"])
    yield from _changes("image", _images(old), _images(new))
    yield from _changes("entry", _entries(old), _entries(new))
    yield from _changes("descriptor", _descriptors(old), _descriptors(new))


def _changes(what: str, old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    if max(len(old), len(new)) > MAX_ORDERED:
        before, after = set(old), set(new)
        yield from (f"- {what} {line}" for line in old if line not in after)
        yield from (f"+ {what} {line}" for line in new if line not in before)
        return
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            yield from (f"- {what} {line}" for line in old[a:b])
            yield from (f"+ {what} {line}" for line in new[c:d])


def _images(binary: FatBinary) -> list[str]:
    return [
        f"{image.kind} for {image.target}, {image.size} bytes"
        + (f", SHA-256 {image.sha256}" if image.sha256 else "")
        for image in binary.images
    ]


def _entries(binary: FatBinary) -> list[str]:
    return [
        f"{entry.kind} {entry.name or entry.symbol or 'without a name'}"
        + (f", {entry.size} bytes" if entry.size else "")
        for entry in binary.entries
    ]


def _descriptors(binary: FatBinary) -> list[str]:
    return [
        f"of images {', '.join(map(str, descriptor.images)) or 'none'}"
        + (", registered" if descriptor.registered_by else ", registered by nothing found")
        for descriptor in binary.descriptors
    ]
