# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The containers of device images: a new one is a module and a line here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Protocol

from packager.elf.headers import Section
from packager.files.reader import Reader
from packager.formats.containers import (
    cuda_fatbin,
    kpack,
    large_data,
    llvm_offloading,
    offload_binary,
    omptool_section,
    opencl_elf,
    zstd_frame,
)
from packager.formats.containers.bundles import (
    bundle_section,
    clang_bundle,
    compressed_bundle,
    hip_fatbin,
    text_bundle,
)
from packager.formats.containers.payload import Payload

if TYPE_CHECKING:

    class FileContainer(Protocol):
        """Interface of modules for containers that are whole files."""

        NAME: str

        @property
        def probe(self) -> Callable[[Reader], bool]:
            """Return whether a file begins like this format."""

        @property
        def parse(self) -> Callable[[Reader], Iterator[Payload]]:
            """Return the function that yields the images in a file."""

    class SectionContainer(Protocol):
        """Interface of modules for containers in sections of host files."""

        NAME: str

        @property
        def claims(self) -> Callable[[Section], bool]:
            """Return whether a section is of this format."""

        @property
        def parse_section(self) -> Callable[[Section, Reader], Iterator[Payload]]:
            """Return the function that yields the images in a section."""


# Formats in the order of probing.
FILES: tuple[FileContainer, ...] = (
    offload_binary,
    clang_bundle,
    compressed_bundle,
    cuda_fatbin,
    text_bundle,
    zstd_frame,
    opencl_elf,
    kpack,
)
SECTIONS: tuple[SectionContainer, ...] = (
    omptool_section,
    llvm_offloading,
    bundle_section,
    hip_fatbin,
    cuda_fatbin,
    large_data,
)


MOST_CLAIMED = 1 << 10
# Formats by a section's name and type, which alone decide; many objects have the same sections.
_claimed: dict[tuple[str, int], SectionContainer | None] = {}


def of_file(data: Reader) -> FileContainer | None:
    """Return the container format of a whole file, or None."""
    return next((found for found in FILES if found.probe(data)), None)


def of_section(section: Section) -> SectionContainer | None:
    """Return the container format of a section, or None."""
    key = section.name, section.type
    if key not in _claimed:
        if len(_claimed) > MOST_CLAIMED:
            _claimed.clear()
        _claimed[key] = next((found for found in SECTIONS if found.claims(section)), None)
    return _claimed[key]
