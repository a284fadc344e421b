# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parse device images on a command line: the file, and its target."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import get_args

from packager.errors import FormatError, PackagerError, UsageError
from packager.files.reader import OpenFiles, Reader
from packager.formats.containers.payload import Payload
from packager.formats.device_images.known import from_payload, is_own
from packager.layouts import WRITTEN, WrittenAbi
from packager.model import DeviceImage, Model
from packager.records import NamedTuple
from packager.triples import normalise
from packager.writers.entries import EntrySource
from packager.writers.streams import Copied, ignore
from packager.writers.wrapper import ImageInput

OURS = FILE, TRIPLE, ARCH, KIND = "file", "triple", "arch", "kind"
FORMS = "TRIPLE[:ARCH]=FILE or file=FILE,triple=TRIPLE[,arch=ARCH][,kind=KIND][,KEY=VALUE]"
FEWEST_DASHES = 2  # fewest dashes in a whole triple
KINDS: tuple[Model, ...] = tuple(kind for kind in get_args(Model) if kind != "other")


class ImageRequest(NamedTuple):
    """An image as the command line names it."""

    triple: str
    arch: str
    path: Path
    producer: Model = "openmp"  # programming model
    strings: tuple[tuple[str, str], ...] = ()  # other strings of the container
    spelled: str = ""  # triple as spelled, if it is a whole one
    plugin: str = ""  # plugin that accepts the image's unknown format


class WrapRequest(NamedTuple):
    """Images to register, their entries, and how to write them."""

    images: Sequence[ImageRequest]
    files: OpenFiles  # closed by the caller after the result is written
    entries: EntrySource
    abi: WrittenAbi = WRITTEN["interface"]
    force: bool = False  # write despite errors that `verify` finds
    copied: Copied = ignore


def parse_request(text: str) -> ImageRequest:
    """Parse `TRIPLE[:ARCH]=FILE`, or clang-offload-packager's `file=FILE,triple=TRIPLE,KEY=VALUE…`.

    The triple is normalised. Raises UsageError for any other text.
    """
    if _is_list(text):
        return _of_list(text)
    target, equals, path = text.partition("=")
    triple, _, arch = target.partition(":")
    if not equals or not path or not triple:
        raise UsageError(f"image {text!r} is not {FORMS}")
    said = {FILE: path, TRIPLE: triple} | ({ARCH: arch} if arch else {})
    return _request(text, said)


def _is_list(text: str) -> bool:
    """Return whether a request has the KEY=VALUE form: no triple is called "file" or "kind"."""
    keys = {part.partition("=")[0] for part in text.split(",")}
    return text.partition("=")[0] in OURS or {FILE, TRIPLE} <= keys


def _of_list(text: str) -> ImageRequest:
    said: dict[str, str] = {}
    for part in text.split(","):
        key, equals, value = part.partition("=")
        if not equals or not key:
            raise UsageError(f"image {text!r}: {part!r} is not KEY=VALUE")
        if key in said and key in OURS:
            raise UsageError(f"image {text!r} gives {key} twice")
        # Clang passes each feature in a word of its own, and its packager joins them.
        said[key] = f"{said[key]},{value}" if key in said else value
    if not said.get(FILE) or not said.get(TRIPLE):
        raise UsageError(f"image {text!r} has no file and triple; it is not {FORMS}")
    return _request(text, said)


def _request(text: str, said: dict[str, str]) -> ImageRequest:
    arch = said.get(ARCH, "")
    if any(c.isspace() or not c.isprintable() for c in arch):
        raise UsageError(f"image {text!r}: {arch!r} is not an architecture")
    kind = next((known for known in KINDS if known == said.get(KIND, "openmp")), None)
    if kind is None:
        raise UsageError(
            f"image {text!r}: kind {said[KIND]!r} is unknown; known kinds: {', '.join(KINDS)}"
        )
    more = tuple((key, said[key]) for key in said if key not in OURS)
    if any("\0" in word for pair in more for word in pair):
        raise UsageError(f"image {text!r} has a NUL")
    triple = normalise(said[TRIPLE])
    spelled = said[TRIPLE] if said[TRIPLE].count("-") >= FEWEST_DASHES else triple
    return ImageRequest(triple, arch, Path(said[FILE]), kind, more, spelled)


def inspect(
    requests: Sequence[ImageRequest], files: OpenFiles, *, force: bool
) -> tuple[list[ImageInput], list[DeviceImage]]:
    """Return the requested images, as writers take them and as readers see them.

    Raises FormatError for a malformed one, unless `force` is set.
    """
    inputs: list[ImageInput] = []
    images: list[DeviceImage] = []
    for index, request in enumerate(requests):
        data = _opened(request, files)
        image = _inspect_one(index, request, data)
        if request.plugin and image.contents.is_own:
            image = image.taken
        problem = image.contents.problem or _of_a_host(request.path, image, data)
        if problem and not force:
            fault = _container(data) or problem
            raise FormatError(f"image {request.path}: {fault}")
        images.append(image)
        inputs.append(
            ImageInput(
                request.path,
                request.triple,
                request.arch,
                image.kind,
                data,
                request.strings,
            )
        )
    return inputs, images


def has_own_format(request: ImageRequest, files: OpenFiles) -> bool:
    """Return whether an image is of an unknown format, which a plugin may accept."""
    data = _opened(request, files)
    return is_own(Payload(data, request.triple)) and _container(data) is None


def own_formats(images: Iterable[DeviceImage]) -> frozenset[tuple[str, int]]:
    """Return the images of unknown formats without a fault, by triple and size."""
    own = (image for image in images if image.contents.is_own and not image.contents.problem)
    return frozenset((image.triple, image.size) for image in own)


def _of_a_host(path: Path, image: DeviceImage, data: Reader) -> str:
    """Return the fault of bitcode that is a host's object; "" for every other image."""
    if image.kind != "bitcode":
        return ""
    from packager.hosts import bitcode

    is_host = bitcode.read_host(str(path), data) is not None
    return "is a host's object of bitcode (-flto): extract its images first" if is_host else ""


def _container(data: Reader) -> str | None:
    """Return the container format of a file that is no image but holds some, or None."""
    from packager.formats.containers import archive
    from packager.formats.containers.known import of_file

    found = archive if archive.probe(data) else of_file(data)
    return f"is a container ({found.NAME}): extract its images first" if found else None


def for_openmp(
    requests: Sequence[ImageRequest], files: OpenFiles, *, force: bool
) -> tuple[list[ImageInput], list[DeviceImage]]:
    """Return the requested images for OpenMP's descriptor, one for each target."""
    for request in requests:
        if request.producer != "openmp":
            raise UsageError(
                f"image {request.path} is of {request.producer}, which __tgt_register_lib does not "
                "register; containers hold such images"
            )
    inputs, images = inspect(requests, files, force=force)
    seen: set[str] = set()
    for image in images:
        if image.target in seen:
            raise UsageError(f"two images for {image.target.replace(' ', ':', 1)}")
        seen.add(image.target)
    return inputs, images


def _inspect_one(index: int, request: ImageRequest, data: Reader) -> DeviceImage:
    try:
        return from_payload(Payload(data, request.triple, request.arch), index, "bare", None)
    except PackagerError as error:
        raise type(error)(f"image {request.path}: {error}") from error


def _opened(request: ImageRequest, files: OpenFiles) -> Reader:
    try:
        return files.data(request.path)
    except FormatError as error:
        raise FormatError(f"image {request.path}: {error}") from error
