# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Find OpenMP code for spirv64-intel that clang 22 has compiled wrongly.

Clang's optimisations of OpenMP (LLVM's OpenMPOpt) treat generic pointers as pointers to constants,
and drop the stores of functions that regions call. `omptool cc` disables them and leaves a mark.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from packager.errors import FormatError
from packager.files.reader import Reader
from packager.formats.device_images.bitcode.bitstream import (
    Block,
    Record,
    items,
    outermost,
    release,
)

WRONG_RELEASE = 22
MARK = "omptool-openmp-opt"  # name of a function attribute
MODULE, TRIPLE, ATTRIBUTE_GROUPS, GROUP = 8, 2, 10, 3
TARGET = "spirv64-intel"
NOT_OPTIMISED = "optnone"
# Forms of attributes, by LLVM's numbers: a number, a number and a value, a text, or two texts.
NUMBER, NUMBER_AND_VALUE, TEXT, TWO_TEXTS = 0, 1, 3, 4
OPTNONE = 37  # LLVM's number of optnone


def is_miscompiled(data: Reader) -> bool:
    """Return whether a module is miscompiled; False for a damaged one."""
    try:
        return release(data) == str(WRONG_RELEASE) and any(_modules(data))
    except FormatError:
        return False


def _modules(data: Reader) -> Iterator[bool]:
    stream, whole = outermost(data)
    for block in items(stream, whole):
        if isinstance(block, Block) and block.number == MODULE:
            triple, attributes = "", set[str]()
            for item in items(stream, block):
                if isinstance(item, Record) and item.code == TRIPLE:
                    triple = item.text()
                elif isinstance(item, Block) and item.number == ATTRIBUTE_GROUPS:
                    for group in items(stream, item):
                        if isinstance(group, Record) and group.code == GROUP:
                            attributes.update(_attributes(group.operands[2:]))
            is_sound = attributes & {MARK, NOT_OPTIMISED}
            yield triple.startswith(TARGET) and not is_sound


def _attributes(words: Sequence[int]) -> Iterator[str]:
    """Yield the names of a group's text attributes and of optnone; stop at an unknown form."""
    at = 0
    while at < len(words):
        kind, at = words[at], at + 1
        if kind in (NUMBER, NUMBER_AND_VALUE):
            if words[at : at + 1] == [OPTNONE]:
                yield NOT_OPTIMISED
            at += 1 + kind
        elif kind in (TEXT, TWO_TEXTS):
            end = _end(words, at)
            yield "".join(chr(word & 0xFF) for word in words[at:end])
            at = end + 1 if kind == TEXT else _end(words, end + 1) + 1
        else:
            return


def _end(words: Sequence[int], at: int) -> int:
    while at < len(words) and words[at]:
        at += 1
    return at
