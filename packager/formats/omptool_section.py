"""`.omptool.image.<triple>[.<arch>]`: what this project writes, one OffloadBinary in each."""

from __future__ import annotations

from packager.elf import Section
from packager.formats.offload_binary import parse
from packager.layouts import IMAGE_SECTION_PREFIX

NAME = "omptool"

__all__ = ["NAME", "claims", "parse"]


def claims(section: Section) -> bool:
    """Whether a section is of this format."""
    return section.name.startswith(IMAGE_SECTION_PREFIX)
