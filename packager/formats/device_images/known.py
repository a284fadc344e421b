"""What the bytes of a device image are: every format that is recognised, tried in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from packager.errors import FormatError, UsageError
from packager.files.reader import Reader
from packager.formats.containers.payload import Payload
from packager.model import Contents, DeviceImage, ImageKind
from packager.triples import is_known, normalise

if TYPE_CHECKING:

    class ImageFormat(Protocol):
        """A module of formats/ that recognises the bytes of device images."""

        @property
        def probe(self) -> Callable[[Reader], bool]:
            """Whether bytes begin like an image of this format."""

        @property
        def inspect(self) -> Callable[[Reader], Contents]:
            """What they say about themselves."""


HASH_PIECE = 1 << 20


def contents(data: Reader) -> Contents:
    """What `data` says about itself. Never raises for damaged images: they have a `problem`."""
    image_format = _format_of(data)
    if image_format is None:
        what = "is of no known format" if len(data) else "is empty"
        return Contents("unknown", is_opaque=True, problem=f"the image at {data.at:#x} {what}")
    try:
        return image_format.inspect(data)
    except FormatError as error:
        return Contents("unknown", is_opaque=True, problem=str(error))


def is_image(data: Reader) -> bool:
    """Whether `data` begins like a device image of a known format."""
    return _format_of(data) is not None


def _format_of(data: Reader) -> ImageFormat | None:
    return next((found for found in _formats() if found.probe(data)), None)


def _formats() -> Iterator[ImageFormat]:
    """Every format, in the order in which they are tried: PTX, which has no magic, last.

    Each is imported when those before it have not recognised an image: most files hold ELF images
    only.
    """
    from packager.formats.device_images import intel_gpu

    yield intel_gpu
    from packager.formats.device_images import device_elf

    yield device_elf
    from packager.formats.device_images import bitcode

    yield bitcode
    from packager.formats.containers import fatbin_image

    yield fatbin_image
    from packager.formats.device_images import spirv

    yield spirv
    from packager.formats.device_images import ptx

    yield ptx


def inspect_image(
    data: Reader,
    *,
    index: int,
    triple: str = "",
    arch: str = "",
    container: str = "bare",
    address: int | None = None,
    declared_kind: ImageKind | None = None,
    known: Contents | None = None,
    hashed: bool = False,
) -> DeviceImage:
    """The image whose bytes are `data`; `hashed` reads them all, in pieces, for the SHA-256.

    `known` is what its container says of bytes that cannot be looked into. Raises FormatError when
    the images of the file are larger together than the file.
    """
    data.spent.image(len(data), data.whole)
    return DeviceImage(
        index=index,
        container=container,
        triple=triple,
        arch=arch,
        offset=data.at,
        size=len(data),
        address=address,
        contents=known or _of_plugin(data, triple) or contents(data),
        declared_kind=declared_kind,
        sha256=_sha256(data) if hashed else None,
    )


def _of_plugin(data: Reader, triple: str) -> Contents | None:
    """For a triple that omptool does not know, bytes that it does not know are no fault: the plugin
    of that triple interprets them (the proposal of 2013, "target device runtime library")."""
    if not triple or is_known(triple) or not len(data) or is_image(data):
        return None
    return Contents("unknown", is_opaque=True)


def from_payload(
    payload: Payload, index: int, container: str, address: int | None, hashed: bool
) -> DeviceImage:
    """The image that a container holds."""
    image = inspect_image(
        payload.image,
        index=index,
        triple=_normalised(payload.triple),
        arch=payload.arch,
        container=container,
        address=address,
        declared_kind=payload.declared_kind,
        known=payload.contents or _of_text(payload),
        hashed=hashed,
    )
    if payload.within or payload.producer or payload.unit is not None:
        image = replace(
            image,
            within=payload.within,
            producer=payload.producer,
            unit=payload.unit,
            levels=payload.levels,
        )
    if payload.stored is None:
        return image
    return replace(
        image,
        offset=payload.stored.at,
        stored_size=len(payload.stored),
        compression=payload.compression,
    )


def _of_text(payload: Payload) -> Contents | None:
    """PTX says what it is; of other texts nothing is known."""
    if not payload.is_text:
        return None
    from packager.formats.device_images import ptx

    return None if ptx.probe(payload.image) else Contents("unknown", is_opaque=True)


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
