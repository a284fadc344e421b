# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Find code that refers to containers: its references would not move with them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from struct import Struct

from packager.editing.linked import LinkedFile
from packager.elf.headers import Section
from packager.files.reader import PIECE
from packager.host_machines.aarch64_reader import ArmReader

HEADER = 16  # bytes of a container that code may read
# Matches lea reg,[rip+disp32], given a pattern for the high bytes of the displacement.
LEA = rb"\x8d[\x05\x0d\x15\x1d\x25\x2d\x35\x3d]..(?:%b)"
LEA_SIZE, DISTANCE_AT = 6, 2
DISTANCE = Struct("<i")
# Encoding of adrp; a later instruction adds the low bits.
ADRP, ADRP_MASK = 0x90000000, 0x9F000000
ARM_WINDOW = 64
NEAR = 1 << 31
PATTERN_FOR = 1 << 22  # bytes of code for which one pattern is compiled, which takes time


def references(file: LinkedFile, starts: Collection[int]) -> dict[int, int]:
    """Return the containers at `starts` that code refers to, each with the first place.

    They are in the order of these places.
    """
    found: dict[int, int] = {}
    if not starts:
        return found
    inside = {start + at: start for start in starts for at in range(HEADER)}
    low, high = min(starts), max(starts) + HEADER
    find = _arm if file.elf.machine == "aarch64" else _x86
    for section in file.sections:
        if section.is_code and section.is_allocated:
            for place, target in find(file, section, low, high):
                if target in inside:
                    found.setdefault(inside[target], place)
            if file.elf.is_executable:
                for place, start in _absolute(file, section, starts):
                    found.setdefault(start, place)
    return found


def _pieces(file: LinkedFile, section: Section, extra: int) -> Iterator[tuple[int, memoryview]]:
    """Yield the code of a section and its addresses; pieces share `extra` bytes.

    All pieces share one buffer, because allocating new memory takes as long as the search.
    """
    content = file.elf.content(section)
    memory = memoryview(bytearray(min(PIECE + extra, len(content))))
    for at in range(0, len(content), PIECE):
        piece = memory[: min(PIECE + extra, len(content) - at)]
        content.slice(at, len(piece), "code").read_into(piece)
        yield section.address + at, piece


def _x86(file: LinkedFile, section: Section, low: int, high: int) -> Iterator[tuple[int, int]]:
    """Yield the place and the target of instructions that may lead between two addresses."""
    pattern, known_to = None, section.address
    for start, code in _pieces(file, section, LEA_SIZE - 1):
        if start >= known_to:
            known_to = start + PATTERN_FOR
            pattern = _pattern(low - known_to - 2 * LEA_SIZE, high - start - LEA_SIZE)
        for found in pattern.finditer(code) if pattern else ():
            at = found.start()
            (distance,) = DISTANCE.unpack_from(code, at + DISTANCE_AT)
            yield start + at, start + at + LEA_SIZE + distance


def _pattern(nearest: int, farthest: int) -> re.Pattern[bytes] | None:
    """Return a pattern of instructions with a distance from `nearest` to `farthest`.

    It matches the distance's two high bytes: large libraries have half a million other
    instructions.
    """
    first, last = max(nearest, -NEAR) >> 16, min(farthest, NEAR - 1) >> 16
    if first > last:
        return None
    tops = range(first >> 8, (last >> 8) + 1)
    between = b"".join(b"\\x%02x" % (top & 0xFF) for top in tops[1:-1])
    ranges = [b".[%b]" % between] if between else []
    for top in {tops[0], tops[-1]}:
        begin = first & 0xFF if top == tops[0] else 0
        end = last & 0xFF if top == tops[-1] else 0xFF
        ranges.append(b"[\\x%02x-\\x%02x]\\x%02x" % (begin, end, top & 0xFF))
    return re.compile(LEA % b"|".join(ranges), re.DOTALL)


def _arm(file: LinkedFile, section: Section, low: int, high: int) -> Iterator[tuple[int, int]]:
    for start, code in _pieces(file, section, ARM_WINDOW):
        words = code[: len(code) // 4 * 4].cast("I")
        for at in [n for n, word in enumerate(words) if word & ADRP_MASK == ADRP]:
            word, place = words[at], start + at * 4
            pages = (word >> 29 & 3) | (word >> 5 & 0x7FFFF) << 2
            pages -= (pages & 1 << 20) << 1
            page = (place & ~0xFFF) + (pages << 12)
            if low & ~0xFFF <= page < high:
                window = bytes(code[at * 4 : at * 4 + ARM_WINDOW])
                yield from ((place, target) for target in ArmReader().relative(window, place))


def _absolute(
    file: LinkedFile, section: Section, starts: Collection[int]
) -> Iterator[tuple[int, int]]:
    """Yield the places of addresses in position-dependent code, and the addresses."""
    words = {start: start.to_bytes(4, "little") for start in starts if start < 1 << 32}
    for place, piece in _pieces(file, section, 3):
        code = bytes(piece)
        for start, word in list(words.items()):
            at = code.find(word)
            if at >= 0:
                yield place + at, start
                del words[start]
