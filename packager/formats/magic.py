"""Device images that are recognised but not looked into: bitcode, CUDA fat binaries."""

from __future__ import annotations

from packager.model import Contents, ImageKind
from packager.reader import Reader

# LLVM bitcode and its wrapper; CUDA's fatbin (0xBA55ED50).
MAGICS: dict[bytes, ImageKind] = {
    b"BC\xc0\xde": "bitcode",
    b"\xde\xc0\x17\x0b": "bitcode",
    b"\x50\xed\x55\xba": "fatbin",
}
_MACHINES = {"fatbin": "nvptx64"}


def probe(data: Reader) -> bool:
    """Whether `data` begins with one of the magics."""
    return _kind(data) is not None


def inspect(data: Reader) -> Contents:
    """Its kind: nothing else is known."""
    kind = _kind(data) or "unknown"
    return Contents(kind, _MACHINES.get(kind), is_opaque=True)


def _kind(data: Reader) -> ImageKind | None:
    return MAGICS.get(data.bytes(0, min(4, len(data)), "magic"))
