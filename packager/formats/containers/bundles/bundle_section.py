# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Read sections named `__CLANG_OFFLOAD_BUNDLE__<id>`, one for each target.

Objects by clang 14 and by `clang-offload-bundler -type=o` have them; the host's is a placeholder.
"""

from __future__ import annotations

from collections.abc import Iterator

from packager.elf.headers import Section
from packager.files.reader import Reader
from packager.formats.containers.bundles.clang_bundle import (
    HOST,
    NAME,
    SECTION_PREFIX,
    producer,
    split_id,
)
from packager.formats.containers.payload import Payload

__all__ = ["NAME", "claims", "parse_section"]


def claims(section: Section) -> bool:
    """Return whether a section is of this format."""
    return section.name.startswith(SECTION_PREFIX)


def parse_section(section: Section, data: Reader) -> Iterator[Payload]:
    """Yield the image in a device's section; none if `slim` has removed its images."""
    if section.is_allocated and not any(piece.strip(b"\0") for piece in data.pieces()):
        return
    kind, triple, processor = split_id(section.name.removeprefix(SECTION_PREFIX))
    if kind != HOST:
        yield Payload(data, triple, processor, producer=producer(kind))
