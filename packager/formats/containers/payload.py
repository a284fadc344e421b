# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The yield of every container: a device image, and the container's declarations of it."""

from __future__ import annotations

from packager.files.reader import Reader
from packager.model import Contents, ImageKind, Level, Model, Place
from packager.records import NamedTuple


class Payload(NamedTuple):
    """A device image in a container."""

    image: Reader  # its bytes, inflated
    triple: str = ""  # as the container spells it
    arch: str = ""
    declared_kind: ImageKind | None = None
    contents: Contents | None = None  # where the bytes cannot say
    compression: str | None = None  # "zlib", "zstd", "lz4", "bitcode"
    stored: Reader | None = None  # the compressed bytes, as they are in the file
    within: tuple[str, ...] = ()  # containers in the outermost one that it is in
    is_text: bool = False  # of any language
    producer: Model | None = None  # whose program it is of, where the container says that
    levels: tuple[Level, ...] = ()  # containers in containers around it, from the outermost
    unit: int | None = None  # where the container of this and its alternatives is in the file
    version: int = 0  # of its container, if that has versions
    place: Place | None = None  # of its container in the file, if it is alone in that
    features: str = ""  # of the processor, as compilers name them: "+avx2,-fma"


class Damage(NamedTuple):
    """A part of a container that could not be read: its place and the fault."""

    message: str


class Unknown(NamedTuple):
    """A part of a format that came after this omptool, with sound sizes: its place and the mark."""

    message: str
