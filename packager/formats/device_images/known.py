# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The formats of device images that are recognised, tried in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from packager.errors import FormatError, UsageError
from packager.files.reader import Reader
from packager.formats.compressed import helper
from packager.formats.containers.payload import Payload
from packager.model import Contents, DeviceImage
from packager.records import NamedTuple
from packager.triples import is_known, normalise

if TYPE_CHECKING:

    class ImageFormat(Protocol):
        """A module of formats/ that recognises the bytes of device images."""

        @property
        def probe(self) -> Callable[[Reader], bool]:
            """Return whether bytes begin like an image of this format."""

        @property
        def inspect(self) -> Callable[[Reader], Contents]:
            """Return the function that reads an image's contents."""


HASH_PIECE = 1 << 20


def contents(data: Reader) -> Contents:
    """Return the contents of `data`; a damaged image has a `problem`, and raises nothing."""
    image_format = _format_of(data)
    if image_format is None:
        is_own = bool(len(data))
        what = "has an unknown format" if is_own else "is empty"
        problem = f"the image at {data.at:#x} {what}"
        return Contents("unknown", is_opaque=True, problem=problem, is_own=is_own)
    try:
        return image_format.inspect(data)
    except FormatError as error:
        return Contents("unknown", is_opaque=True, problem=str(error))


def is_own(payload: Payload) -> bool:
    """Return whether an image is of no known format, and its triple a known one."""
    data, triple = payload.image, _normalised(payload.triple)
    return bool(len(data)) and not is_image(data) and _of_plugin(data, triple) is None


def is_image(data: Reader) -> bool:
    """Return whether `data` begins like a device image of a known format."""
    return _format_of(data) is not None


def _format_of(data: Reader) -> ImageFormat | None:
    if helper.is_answered(data):
        from packager.formats.device_images import device_elf

        return device_elf
    return next((found for found in _formats(data) if found.probe(data)), None)


def _formats(data: Reader) -> Iterator[ImageFormat]:
    """Yield the formats to try in order; PTX is last because it has no magic.

    Each module is imported after the formats before it have failed: most files hold only ELF
    images, and the bitcode reader is slow to import.
    """
    from packager.formats.device_images import intel_gpu

    yield intel_gpu
    from packager.formats.device_images import device_elf

    yield device_elf
    from packager.formats.device_images.bitcode import magic

    if magic.probe(data):
        from packager.formats.device_images.bitcode import module as bitcode

        yield bitcode
    from packager.formats.device_images import fatbin

    yield fatbin
    from packager.formats.device_images import tile_ir

    yield tile_ir
    from packager.formats.device_images import spirv

    yield spirv
    from packager.formats.device_images import ptx

    yield ptx


def bare(data: Reader) -> DeviceImage:
    """Return the image of a file that is itself an image."""
    return from_payload(Payload(data), 0, "bare", None)


def from_payload(payload: Payload, index: int, container: str, address: int | None) -> DeviceImage:
    """Return the image in a payload, read as far as the context's `look` allows.

    Raises LimitError if the images of a file are larger together than the file.
    """
    return record(payload, looked_into(payload), index, container, address)


class Inside(NamedTuple):
    """Facts from the bytes of an image, and their SHA-256 if requested."""

    contents: Contents
    sha256: str | None


def looked_into(payload: Payload) -> Inside:
    """Return the facts of an image, and count it. Raises LimitError like `from_payload`."""
    data = payload.image
    data.context.look.seen((payload.stored or data).at)
    data.context.image(len(data), data.whole)
    return Inside(contents_of(payload), _sha256(data) if data.context.look.hashed else None)


def record(
    payload: Payload,
    inside: Inside,
    index: int,
    container: str,
    address: int | None,
    *,
    is_wrapped: bool = False,
    triple: str | None = None,
) -> DeviceImage:
    """Return the model's record of an image; `triple` keeps its spelling."""
    data, stored = payload.image, payload.stored
    return DeviceImage(
        index=index,
        container=container,
        triple=_normalised(payload.triple) if triple is None else triple,
        arch=payload.arch,
        offset=(data if stored is None else stored).at,
        size=len(data),
        address=address,
        contents=inside.contents,
        declared_kind=payload.declared_kind,
        sha256=inside.sha256,
        compression=None if stored is None else payload.compression,
        stored_size=None if stored is None else len(stored),
        is_wrapped=is_wrapped,
        within=payload.within,
        producer=payload.producer,
        unit=payload.unit,
        levels=payload.levels,
        container_version=payload.version,
        features=payload.features,
        container_place=payload.place,
    )


def contents_of(payload: Payload) -> Contents:
    """Return the contents of an image: its container's, or those in its bytes."""
    data = payload.image
    said = payload.contents or _of_text(payload) or _of_plugin(data, _normalised(payload.triple))
    found = said or contents(data)
    if (
        found.kind == "cubin"
        and not data.context.look.is_inside
        and payload.arch == f"{found.arch}a"
    ):
        return found._replace(arch=payload.arch)  # a glance skips the record of the suffix
    return found


def _of_plugin(data: Reader, triple: str) -> Contents | None:
    """Return opaque contents for unknown bytes of an unknown triple; None in all other cases.

    They are no fault: the plugin of that triple interprets them (proposal of 2013, "target device
    runtime library").
    """
    if not triple or is_known(triple) or not len(data) or is_image(data):
        return None
    return Contents("unknown", is_opaque=True)


def _of_text(payload: Payload) -> Contents | None:
    """Return opaque contents for a text that is not PTX; None otherwise."""
    if not payload.is_text:
        return None
    from packager.formats.device_images import ptx

    return None if ptx.probe(payload.image) else Contents("unknown", is_opaque=True)


@lru_cache
def _normalised(triple: str) -> str:
    try:
        return normalise(triple)
    except UsageError:  # shown as it is: what a file says is no usage error
        return triple


def _sha256(data: Reader) -> str:
    import hashlib

    digest = hashlib.sha256()
    for start in range(0, len(data), HASH_PIECE):
        digest.update(data.bytes(start, min(HASH_PIECE, len(data) - start), "device image"))
    return digest.hexdigest()
