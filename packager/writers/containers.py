# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Containers of device images as files of their own, as clang's tools write and read them.

OffloadBinary is clang-offload-packager's, the bundles are clang-offload-bundler's with an empty
file for the host. Releases of LLVM differ in how they number HIP, spell a bundle's targets and
compress: a generation says for which one a file is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from pathlib import Path
from typing import BinaryIO, Literal, get_args

from packager.checks import verify
from packager.errors import UsageError
from packager.files.reader import OpenFiles
from packager.files.replacing import replacing
from packager.formats.containers import offload_binary
from packager.formats.containers.bundles import clang_bundle, compressed_bundle
from packager.generations import GENERATIONS, Generation, of_release
from packager.model import DeviceImage, FatBinary, Finding, Model
from packager.records import NamedTuple
from packager.writers.checked import accepted
from packager.writers.elf_types import Content, FilePart, content_size
from packager.writers.requests import ImageRequest, inspect
from packager.writers.streams import Copied, compressed, ignore, pieces, told
from packager.writers.wrapper import ImageInput

ContainerForm = Literal["offload-binary", "offload-bundle", "compressed-bundle"]
CONTAINER_FORMS: tuple[ContainerForm, ...] = get_args(ContainerForm)
Method = Literal["zstd", "zlib"]
METHODS: tuple[Method, ...] = get_args(Method)

# Newest format that LLVM 16 and all later releases read.
DEFAULT = of_release(19)
# Numbers of models, and bits in releases that use them.
MODEL_NUMBERS: dict[Model, int] = {"openmp": 1, "cuda": 2, "hip": 3}
MODEL_BITS: dict[Model, int] = {"hip": 4, "sycl": 8}
BUNDLE_KINDS: dict[Model, str] = {"openmp": "openmp", "hip": "hipv4"}
PROCESSORS = ("gfx", "sm_", "generic", "amdgcnspirv")  # GPUs' prefixes, and others known to clang
HOST_TARGET = "host-x86_64-unknown-linux-gnu"
TRIPLE_PARTS = 4
LEVELS = {"zstd": 3, "zlib": 6}


class _Input(NamedTuple):
    request: ImageRequest
    image: ImageInput

    @property
    def content(self) -> FilePart:
        return FilePart(self.image.path, self.image.data)


def write_container(
    requests: Sequence[ImageRequest],
    files: OpenFiles,
    out: Path,
    form: ContainerForm,
    *,
    generation: Generation = DEFAULT,
    method: Method = "zstd",
    force: bool = False,
    copied: Copied = ignore,
) -> list[Finding]:
    """Write a container of the images to `out`, for the readers of an LLVM generation.

    Returns the findings of `verify` about them. Raises FindingError, and writes nothing, if one is
    an error and `force` is not set; UsageError or FormatError if an input is unfit.
    """
    _expect_reader(form, generation)
    inputs, images = inspect(requests, files, force=force)
    targets = [(request.producer, request.triple, request.arch) for request in requests]
    if len(set(targets)) < len(targets):
        raise UsageError("two images for one kind, triple and arch")
    findings = accepted(_findings(out, requests, images, form), force=force)
    wanted = [_Input(*pair) for pair in zip(requests, inputs, strict=True)]
    with replacing(out) as temporary, temporary.open("r+b") as file:
        if form == "offload-binary":
            file.writelines(pieces(_offload_binary(wanted, generation), copied))
            return findings
        bundle = _bundle(wanted, generation)
        if form == "offload-bundle":
            file.writelines(pieces(bundle, copied))
        else:
            _compress(file, bundle, generation, method, copied)
    return findings


def _expect_reader(form: ContainerForm, generation: Generation) -> None:
    """Raise UsageError for a form that the releases of a generation do not read."""
    readers = {
        "offload-binary": [row for row in GENERATIONS if row.container_version],
        "compressed-bundle": [row for row in GENERATIONS if row.compression_version],
    }.get(form, GENERATIONS)
    if generation not in readers:
        since = readers[0].first_release
        raise UsageError(
            f"no release before LLVM {since} reads this form; --abi {generation.name} is older"
        )


def _findings(
    out: Path, requests: Sequence[ImageRequest], images: Iterable[DeviceImage], form: ContainerForm
) -> list[Finding]:
    """Return the findings of verify about the file, without reading it."""
    container = offload_binary.NAME if form == "offload-binary" else clang_bundle.NAME
    held: list[DeviceImage] = []
    offset = 0
    for image, request in zip(images, requests, strict=True):
        producer = request.producer
        held.append(image._replace(container=container, producer=producer, offset=offset))
        offset += image.size
    return verify(FatBinary(str(out), None, None, None, tuple(held), (), ()))


def _offload_binary(inputs: Sequence[_Input], generation: Generation) -> Content:
    """Return an OffloadBinary for each image, or since LLVM 23 one for all."""
    items = [_item(each, generation) for each in inputs]
    version = generation.container_version
    size = len(items) if version > 1 else 1
    content: list[bytes | FilePart] = []
    for first in range(0, len(items), size):
        head, padding = offload_binary.header(items[first : first + size], version)
        images = [each.content for each in inputs[first : first + size]]
        content += [head, *images, bytes(padding)]
    return tuple(content)


def _item(each: _Input, generation: Generation) -> offload_binary.Item:
    request = each.request
    strings = {"triple": request.spelled or request.triple, "arch": request.arch}
    return offload_binary.Item(
        offload_binary.image_kind(each.image.kind),
        strings | dict(request.strings),
        each.image.size,
        _number(request, generation),
    )


def _number(request: ImageRequest, generation: Generation) -> int:
    numbers = MODEL_NUMBERS | (MODEL_BITS if generation.are_models_bits else {})
    if request.producer not in numbers:
        first = next(row for row in GENERATIONS if row.are_models_bits)
        raise UsageError(
            f"image {request.path}: no release before LLVM {first.first_release} has "
            f"{request.producer} images: use --abi {first.name}"
        )
    return numbers[request.producer]


def _bundle(inputs: Sequence[_Input], generation: Generation) -> Content:
    """Return the empty host part and the images, without padding."""
    for each in inputs:
        if each.request.producer not in BUNDLE_KINDS:
            what = f"image {each.image.path} is of {each.request.producer}"
            raise UsageError(f"{what}, and clang's bundler knows only openmp and hip")
        if each.request.strings:
            key = each.request.strings[0][0]
            raise UsageError(f"image {each.image.path}: bundles have no place for {key}")
    targets = [_host_target(generation), *(target(each.request, generation) for each in inputs)]
    names = [name.encode("utf-8", "surrogateescape") for name in targets]
    sizes = [0, *(each.image.size for each in inputs)]
    rows = [clang_bundle.Row(name, 0, size) for name, size in zip(names, sizes, strict=True)]
    ends = accumulate(sizes, initial=len(clang_bundle.table(rows)))
    placed = [row._replace(offset=at) for row, at in zip(rows, ends, strict=False)]
    return (clang_bundle.table(placed), *(each.content for each in inputs))


def _host_target(generation: Generation) -> str:
    return HOST_TARGET + ("" if generation.bundle_names == "bare" else "-")


def target(request: ImageRequest, generation: Generation) -> str:
    """Return a bundle's name of a target: `<kind>-<arch>-<vendor>-<os>-<env>-<processor>`.

    LLVM 21 and later write "unknown" for a missing environment, except AMD's; up to LLVM 16 a name
    without processor has no dash at its end; LLVM 19 finds a CPU's processor only before a dash.
    """
    parts = _parts(request)
    if generation.bundle_names == "unknown" and not parts[-1] and parts[2] != "amdhsa":
        parts[-1] = "unknown"
    name = "-".join([BUNDLE_KINDS[request.producer], *parts])
    if generation.bundle_names == "bare" and not request.arch:
        return name.rstrip("-")
    is_unknown = request.arch != "" and not request.arch.startswith(PROCESSORS)
    dash = "-" if generation.bundle_names == "dashed" and is_unknown else ""
    return f"{name}-{request.arch}{dash}"


def _parts(request: ImageRequest) -> list[str]:
    """Return the parts of a triple as spelled, but always four, each in its place."""
    normalised = request.triple.split("-", TRIPLE_PARTS - 1)
    parts = (request.spelled or request.triple).split("-", TRIPLE_PARTS - 1)
    if parts[1] == normalised[2] != normalised[1]:  # x86_64-linux-gnu
        parts = normalised
    return parts + [""] * (TRIPLE_PARTS - len(parts))


def _compress(
    file: BinaryIO, bundle: Content, generation: Generation, method: Method, copied: Copied
) -> None:
    """Compress a bundle; its header, with sizes and the checksum, is written last."""
    from hashlib import md5

    version = generation.compression_version
    start = compressed_bundle.HEAD.size + compressed_bundle.SIZES[version].size
    file.seek(start)
    digest = md5(usedforsecurity=False)
    size, inflated = start, content_size(bundle)
    roomy = next(row.name for row in GENERATIONS if row.compression_version > 2)
    too_large = UsageError(f"is too large for version 2: use --abi {roomy}")
    if version == 2 and inflated >= 1 << 32:
        raise too_large
    parts = told(pieces(bundle, copied), digest.update)
    for piece in compressed(parts, inflated, method, LEVELS[method]):
        file.write(piece)
        size += len(piece)
    if version == 2 and size >= 1 << 32:
        raise too_large
    number = next(n for n, name in compressed_bundle.METHODS.items() if name == method)
    file.seek(0)
    checksum = digest.digest()[:8]
    file.write(compressed_bundle.header(version, number, size - start, inflated, checksum))
