# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The yield of every container: a device image, and the container's declarations of it."""

from __future__ import annotations

from packager.files.reader import Reader
from packager.model import Contents, ImageKind, Level, Model, Place
from packager.records import NamedTuple


class Payload(NamedTuple):
    """A device image in a container."""

    image: Reader  # inflated bytes
    triple: str = ""  # triple in the container's spelling
    arch: str = ""
    declared_kind: ImageKind | None = None
    contents: Contents | None = None  # contents that the bytes do not show
    compression: str | None = None  # "zlib", "zstd", "lz4", "bitcode"
    stored: Reader | None = None  # the compressed bytes, as they are in the file
    within: tuple[str, ...] = ()  # containers in the outermost one that it is in
    is_text: bool = False  # text in any language
    producer: Model | None = None  # programming model, if the container declares it
    levels: tuple[Level, ...] = ()  # containers in containers around it, from the outermost
    unit: int | None = None  # file offset of the container shared with alternatives
    version: int = 0  # the container's version, if it has versions
    place: Place | None = None  # the container's place in the file, if it holds one image
    features: str = ""  # features of the processor, as compilers write them: "+avx2,-fma"


class Damage(NamedTuple):
    """A part of a container that could not be read: its place and the fault."""

    message: str


class Unknown(NamedTuple):
    """A part of a format that came after this omptool, with sound sizes: its place and the mark."""

    message: str
