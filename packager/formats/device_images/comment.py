# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Read `.comment`: a version string of each compiler that contributed to an ELF file."""

from __future__ import annotations

import re

from packager.elf.headers import Elf
from packager.patterns import pattern

# Names of clang and flang, whose code follows clang's conventions of the same release.
_CLANG = pattern(rb"(?:clang|flang|flang-new) version (\d{1,4})\.")
_LLVM = pattern(rb"(?:(?:clang|flang|flang-new) version|Linker: LLD) (\d{1,4})\.")
MAX_SIZE = 1 << 16  # linkers keep each string once


def clang_releases(elf: Elf) -> tuple[int, ...]:
    """Return the releases of clang and flang, in order; of a long section, of its beginning."""
    return _releases(elf, _CLANG)


def llvm_releases(elf: Elf) -> tuple[int, ...]:
    """Return the releases of clang, flang and lld among them, in order."""
    return _releases(elf, _LLVM)


def _releases(elf: Elf, tool: re.Pattern[bytes]) -> tuple[int, ...]:
    found: set[int] = set()
    for section in elf.named(".comment"):
        size = min(section.size, MAX_SIZE) if section.has_bytes else 0
        text = elf.data.bytes(section.offset, size, "section .comment")
        found.update(int(match[1]) for match in tool.finditer(text))
    return tuple(sorted(found))
