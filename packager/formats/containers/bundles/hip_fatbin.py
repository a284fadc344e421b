# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`.hip_fatbin`: the bundles of HIP programs, compressed or not."""

from __future__ import annotations

from collections.abc import Iterator

from packager.elf.headers import Section
from packager.errors import FormatError
from packager.files.reader import Reader
from packager.formats.containers.bundles import clang_bundle, compressed_bundle
from packager.formats.containers.payload import Payload

NAME = "hip-fatbin"
HEAD = 1 << 12


def claims(section: Section) -> bool:
    """Return whether a section is of this format; relocatable links add to the name."""
    return section.name == ".hip_fatbin" or section.name.startswith(".hip_fatbin_")


def probe(data: Reader) -> bool:
    """Return whether `data` begins with a bundle."""
    return clang_bundle.probe(data) or compressed_bundle.probe(data)


def parse_section(_: Section, data: Reader) -> Iterator[Payload]:
    """Yield the images of a section. Raises FormatError if it is malformed."""
    if clang_bundle.probe(data):
        return clang_bundle.parse(data)
    if compressed_bundle.probe(data):
        return compressed_bundle.parse(data)
    if not data.bytes(0, min(HEAD, len(data)), NAME).strip(b"\0"):
        return iter(())  # kpack leaves zeros of what it took out
    if len(data):
        raise FormatError(f"HIP fat binary at {data.at:#x} is not a bundle")
    return iter(())
