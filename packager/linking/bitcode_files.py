# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bitcode in files: the release of clang that wrote it, and modules of libraries."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from packager.elf import headers
from packager.errors import FormatError, UsageError
from packager.files.reader import Reader, called, open_reader
from packager.files.temporary import store
from packager.formats.containers import archive, llvm_offloading, offload_binary
from packager.formats.device_images.bitcode import module as bitcode
from packager.formats.device_images.bitcode.bitstream import Release, release
from packager.lowering.joining.request import Device, Part
from packager.model import NO_ARCH
from packager.records import NamedTuple
from packager.triples import normalise

_SM = re.compile(r"sm_(\d+)([af]?)")
_BITCODE = 2  # OffloadBinary's number for it
MAX_LIBRARY = 1 << 30  # bytes


def release_of(path: Path) -> Release:
    """Return the LLVM release that wrote the bitcode in a file; "" if it is malformed."""
    with open_reader(path) as data:
        try:
            return release(data)
        except FormatError:
            return ""  # LLVM says what is wrong with it


def library_parts(path: Path, device: Device, directory: Path) -> list[Part]:
    """Return the modules of a device library for a target, in files of `directory` if several.

    Raises UsageError, which names the file, if it has none.
    """
    try:
        with open_reader(path) as data:
            if len(data) > MAX_LIBRARY:
                raise FormatError(f"has {len(data)} bytes; a library has at most {MAX_LIBRARY}")
            if not (archive.probe(data) or offload_binary.probe(data)):
                return [Part(str(path.absolute()), called(path))]
            found = sorted(_modules(path, data, device), key=lambda one: -one.rank)
            parts = [
                _stored(one, directory / f"{number}-{path.name}")
                for number, one in enumerate(found)
            ]
    except FormatError as error:
        raise UsageError(f"{called(path)}: {error}", subject=path) from error
    if not parts:
        raise UsageError(
            f"{called(path)} has no bitcode for {device.triple} {device.cpu}", subject=path
        )
    return parts


class _Module(NamedTuple):
    """A module in a library; the higher its rank, the better it suits the processor."""

    rank: int
    name: str
    data: Reader


def _stored(module: _Module, file: Path) -> Part:
    store(file, module.data.pieces())
    return Part(str(file), module.name)


def _modules(path: Path, data: Reader, device: Device) -> Iterator[_Module]:
    if not archive.probe(data):
        yield from _fitting(called(path), data, device)
        return
    for member in archive.members(data):
        if member.data is None:
            raise FormatError("is a thin archive, and device libraries are not read from those")
        yield from _fitting(f"{called(path)}({member.name})", member.data, device)


def _fitting(name: str, data: Reader, device: Device) -> Iterator[_Module]:
    """Yield the module for the target in a member of a library; none if it has none."""
    if bitcode.probe(data):
        yield _Module(1, name, data)
        return
    fitting = [
        _Module(rank, name, blob.image)
        for blob in _blobs(data)
        if blob.image_kind == _BITCODE
        and normalise(blob.strings.get("triple", "")) == device.triple
        and (rank := suits(blob.strings.get("arch", ""), device.cpu))
    ]
    yield from sorted(fitting, key=lambda one: -one.rank)[:1]


def _blobs(data: Reader) -> Iterator[offload_binary.Blob]:
    if offload_binary.probe(data):
        yield from offload_binary.blobs(data)
    elif headers.probe(data):
        elf = headers.read(data)
        for section in elf.sections:
            if llvm_offloading.claims(section) and section.size:
                inner = data.slice(section.offset, section.size, section.name)
                if offload_binary.probe(inner):
                    yield from offload_binary.blobs(inner)


def suits(library: str, arch: str) -> int:
    """Score how well a library for one processor suits another: 0 not at all, more is better."""
    if library == arch:
        return 1 << 20
    if library in NO_ARCH:
        return 1
    have, wanted = _SM.fullmatch(library), _SM.fullmatch(arch)
    if have and wanted and not have[2] and int(have[1]) <= int(wanted[1]):
        return int(have[1]) + 1  # NVIDIA's later processors have all that the earlier ones have
    return 0
