# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Embed separately compiled device code in the host's object."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from packager.compiling.targets import Target
from packager.errors import UsageError
from packager.files.reader import OpenFiles, Reader, open_reader
from packager.files.replacing import replacing
from packager.formats.containers import offload_binary
from packager.formats.containers.payload import Payload
from packager.formats.device_images.known import from_payload
from packager.writers.elf_types import Content, FilePart, Section
from packager.writers.host_object import read_host
from packager.writers.object_writer import write_object

SECTION = ".llvm.offloading"
SHT_LLVM_OFFLOADING = 0x6FFF4C0B
SHF_EXCLUDE = 0x80000000


def add(host: Path, made: Sequence[tuple[Target, str, Path]], out: Path) -> None:
    """Write the object `host` to `out` with embedded device code, in clang's form."""
    content: list[bytes | FilePart] = []
    with OpenFiles() as files, open_reader(host) as data:
        for target, arch, path in made:
            content += _blob(target.triple, arch, path, files.data(path))
        section = Section(
            SECTION, SHT_LLVM_OFFLOADING, SHF_EXCLUDE, offload_binary.ALIGNMENT, tuple(content)
        )
        try:
            parsed = read_host(data)
        except UsageError as error:
            raise UsageError(str(error), out) from error
        with replacing(out) as temporary, temporary.open("r+b") as file:
            write_object(file, parsed, [section], [])


def _blob(triple: str, arch: str, path: Path, data: Reader) -> Content:
    image = from_payload(Payload(data, triple, arch), 0, "bare", None)
    strings = {"triple": triple} | ({"arch": arch} if arch else {})
    kind = offload_binary.image_kind(image.kind)
    item = offload_binary.Item(kind, strings, image.size)
    head, padding = offload_binary.header([item], 1)
    return head, FilePart(path, data), bytes(padding)
