# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Read `.omptool.image.<triple>[.<arch>]`: omptool's sections, each with one OffloadBinary."""

from __future__ import annotations

from collections.abc import Iterator

from packager.elf.headers import Section
from packager.files.reader import Reader
from packager.formats.containers.offload_binary import blobs
from packager.formats.containers.payload import Payload
from packager.layouts import IMAGE_SECTION_PREFIX

NAME = "omptool"


def claims(section: Section) -> bool:
    """Return whether a section is of this format."""
    return section.name.startswith(IMAGE_SECTION_PREFIX)


def parse_section(_: Section, data: Reader) -> Iterator[Payload]:
    """Yield the images of a section. Raises FormatError if it is malformed.

    Each image has a section of its own, so the images have no container in common.
    """
    return (blob.payload() for blob in blobs(data))
