"""Device images into a relocatable object: the host's own, or one that holds the wrapper alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from packager.atomic import replacing
from packager.checks import verify
from packager.errors import FindingError, FormatError, PackagerError, UsageError
from packager.formats.images import inspect_image
from packager.layouts import ENTRIES_SECTION, IMAGE_SECTION_PREFIX
from packager.load import load
from packager.model import DeviceImage, Finding
from packager.reader import open_reader
from packager.triples import normalise
from packager.writers.entries import listed_entries, shared_entries
from packager.writers.host_object import HostObject, blank_host, read_host
from packager.writers.object_writer import Copied, ignore, write_object
from packager.writers.wrapper import EntryInput, ImageInput, Wrapper, build


@dataclass(frozen=True)
class ImageRequest:
    """An image as the command line names it: TRIPLE[:ARCH]=FILE."""

    triple: str
    arch: str
    path: Path


# Where the entries come from: the host's own section, names in common, or a list.
EntrySource = Literal["host", "auto"] | Sequence[str]


def parse_request(text: str) -> ImageRequest:
    """`TRIPLE[:ARCH]=FILE`, with the triple normalised. Raises UsageError when it is not that."""
    target, equals, path = text.partition("=")
    triple, _, arch = target.partition(":")
    if not equals or not path or not triple:
        raise UsageError(f"image {text!r} is not TRIPLE[:ARCH]=FILE")
    if any(c.isspace() or not c.isprintable() for c in arch):
        raise UsageError(f"image {text!r}: {arch!r} is not an architecture")
    return ImageRequest(normalise(triple), arch, Path(path))


def bundle(
    host_path: Path,
    requests: Sequence[ImageRequest],
    entries: EntrySource,
    out: Path,
    *,
    force: bool = False,
    copied: Copied = ignore,
) -> list[Finding]:
    """Write to `out` the object at `host_path` with the images wrapped for the interface ABI.

    Returns what `verify` finds in the result. Raises FindingError, and leaves nothing, when that
    holds an error and `force` is not set; UsageError or FormatError when an input is unfit.
    """
    with open_reader(host_path) as data:
        host = read_host(host_path, data)
    if any(name.startswith(IMAGE_SECTION_PREFIX) for name in host.names):
        raise UsageError("already holds device images; bundle the object the compiler wrote")
    inputs, images = _inspect(requests, force=force)
    wrapper = build(inputs, _host_entries(host, images, entries), alone=False)
    return _write(out, host, wrapper, force=force, copied=copied)


def emit(
    requests: Sequence[ImageRequest],
    entries: EntrySource,
    out: Path,
    *,
    force: bool = False,
    copied: Copied = ignore,
) -> list[Finding]:
    """Write to `out` the wrapper alone, to be linked with host objects that bring the entries
    or, with a list or "auto", the symbols that the entries name. Errors as for `bundle`."""
    inputs, images = _inspect(requests, force=force)
    wrapper = build(inputs, _chosen(entries, images, None) or [], alone=True)
    return _write(out, blank_host(), wrapper, force=force, copied=copied)


def _inspect(
    requests: Sequence[ImageRequest], *, force: bool
) -> tuple[list[ImageInput], list[DeviceImage]]:
    inputs: list[ImageInput] = []
    images: list[DeviceImage] = []
    for index, request in enumerate(requests):
        image = _inspect_one(index, request)
        if image.contents.problem and not force:
            raise FormatError(f"image {request.path}: {image.contents.problem}")
        if any(_target(image) == _target(other) for other in images):
            raise UsageError(f"two images for {':'.join(filter(None, _target(image)))}")
        images.append(image)
        inputs.append(
            ImageInput(request.path, request.triple, request.arch, image.kind, image.size)
        )
    return inputs, images


def _target(image: DeviceImage) -> tuple[str, str]:
    """Triple and arch, the arch from the bytes where the request leaves it out."""
    return image.triple, image.arch or image.contents.arch or ""


def _inspect_one(index: int, request: ImageRequest) -> DeviceImage:
    try:
        with open_reader(request.path) as data:
            return inspect_image(data, index=index, triple=request.triple, arch=request.arch)
    except PackagerError as error:
        raise type(error)(f"image {request.path}: {error}") from error


def _host_entries(
    host: HostObject, images: Sequence[DeviceImage], source: EntrySource
) -> list[EntryInput] | None:
    own = host.section(ENTRIES_SECTION)
    has_own = own is not None and host.section_size(own) > 0
    if source == "host":
        if not has_own:
            raise UsageError(
                f"has no {ENTRIES_SECTION} section; use the macros of omptarget.h, or --entries"
            )
        return None
    if has_own:
        raise UsageError(f"has an {ENTRIES_SECTION} section of its own; leave --entries out")
    return _chosen(source, images, host)


def _chosen(
    source: EntrySource, images: Sequence[DeviceImage], host: HostObject | None
) -> list[EntryInput] | None:
    symbols = host.symbol_table() if host else None
    if source == "host":
        return None
    if source == "auto":
        return shared_entries(images, symbols)
    return listed_entries(list(source), images, symbols)


def _write(
    out: Path, host: HostObject, wrapper: Wrapper, *, force: bool, copied: Copied
) -> list[Finding]:
    """Write beside `out`, check, and rename only what is sound."""
    with replacing(out) as temporary:
        # "r+b": it is empty, and ext4 writes a truncated file back before close returns.
        with temporary.open("r+b") as file:
            write_object(file, host, wrapper.sections, wrapper.symbols, {ENTRIES_SECTION}, copied)
        findings = verify(load(temporary))
        errors = [finding for finding in findings if finding.severity == "error"]
        if errors and not force:
            more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
            raise FindingError(
                f"{errors[0].code}: {errors[0].message}{more}; not written without --force"
            )
    return findings
