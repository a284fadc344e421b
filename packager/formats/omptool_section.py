"""`.omptool.image.<triple>[.<arch>]`: what this project writes, one OffloadBinary in each."""

from __future__ import annotations

from collections.abc import Iterator

from packager.elf import Section
from packager.formats.offload_binary import parse
from packager.formats.payload import Payload
from packager.layouts import IMAGE_SECTION_PREFIX
from packager.reader import Reader

NAME = "omptool"


def claims(section: Section) -> bool:
    """Whether a section is of this format."""
    return section.name.startswith(IMAGE_SECTION_PREFIX)


def parse_section(_: Section, data: Reader) -> Iterator[Payload]:
    """The images of a section. Raises FormatError when it is malformed."""
    return parse(data)
