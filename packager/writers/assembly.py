# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A wrapper as assembly text, for gas and for clang's own assembler from 14 on.

It is the object section by section, and complete: the bytes of an image are in it, four characters
each. The flag of sections of images is lost: old assemblers have no word for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import BinaryIO

from packager.elf.headers import SHT_FINI_ARRAY, SHT_INIT_ARRAY, SHT_PROGBITS, STT_FUNC, STT_OBJECT
from packager.host_machines.machine import Code
from packager.writers.elf_types import (
    SHF_ALLOC,
    SHF_EXECINSTR,
    SHF_GNU_RETAIN,
    SHF_WRITE,
    SHT_NOTE,
    STV_HIDDEN,
    Content,
    FilePart,
    Section,
    Symbol,
)
from packager.writers.registration import CODE_ALIGNMENT, Function, referred
from packager.writers.streams import Copied, pieces
from packager.writers.wrapper import Wrapper

FLAGS = ((SHF_ALLOC, "a"), (SHF_WRITE, "w"), (SHF_EXECINSTR, "x"), (SHF_GNU_RETAIN, "R"))
TYPES = {
    SHT_PROGBITS: "progbits",
    SHT_INIT_ARRAY: "init_array",
    SHT_FINI_ARRAY: "fini_array",
    SHT_NOTE: "note",
}
SYMBOL_TYPES = {STT_FUNC: "function", STT_OBJECT: "object"}
POINTER = 8
LINE = 1 << 10  # bytes of an image in a line of text
# Octal digits of each byte.
DIGITS = [bytes(ord("0") + (byte >> shift & 7) for byte in range(256)) for shift in (6, 3, 0)]
PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$")


def write_assembly(out: BinaryIO, wrapper: Wrapper, machine: Code, copied: Copied) -> None:
    """Write `wrapper` to `out` as text for a machine."""
    defined = [[s for s in wrapper.symbols if s.section == n] for n in range(len(wrapper.sections))]
    for section, symbols in zip(wrapper.sections, defined, strict=True):
        out.write(_encoded(_opened(section)))
        if section.flags & SHF_EXECINSTR:
            out.write(_encoded(_code(wrapper.functions, machine)))
        else:
            _data(out, section, symbols, copied)
    out.write(_encoded(_undefined(wrapper.symbols)))


def _encoded(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")


def name(text: str) -> str:
    """Return a name as assemblers read it, quoted if necessary."""
    if text and set(text) <= PLAIN and not text[0].isdigit():
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _opened(section: Section) -> Iterator[str]:
    flags = "".join(letter for bit, letter in FLAGS if section.flags & bit)
    yield f'\t.section {name(section.name)},"{flags}",@{TYPES[section.type]}'
    if section.alignment > 1:
        yield f"\t.balign {section.alignment}"


def _data(out: BinaryIO, section: Section, symbols: Sequence[Symbol], copied: Copied) -> None:
    """Write the bytes, pointers and labels of a section in order."""
    labels = sorted(symbols, key=lambda symbol: symbol.value)
    pointers = {r.offset: r for r in section.relocations if r.type is None}
    stops = sorted({0, *(s.value for s in labels), *pointers, *(p + POINTER for p in pointers)})
    for at, end in zip(stops, [*stops[1:], section.size], strict=True):
        out.write(_encoded(line for s in labels if s.value == at for line in _label(s)))
        if at in pointers:
            target = pointers[at]
            addend = f" + {target.addend}" if target.addend else ""
            out.write(_encoded([f"\t.quad {name(referred(target.symbol))}{addend}"]))
            continue
        for piece in pieces(_part(section.content, at, end), copied):
            out.writelines(_bytes(piece))


def _label(symbol: Symbol) -> Iterator[str]:
    if symbol.type in SYMBOL_TYPES:
        yield f"\t.type {name(symbol.name)}, @{SYMBOL_TYPES[symbol.type]}"
    yield f"\t.size {name(symbol.name)}, {symbol.size}"
    yield f"{name(symbol.name)}:"


def _part(content: Content, begin: int, end: int) -> Content:
    """Return the bytes `begin` to `end` of a section."""
    result: list[bytes | FilePart] = []
    at = 0
    for part in content:
        size = len(part) if isinstance(part, bytes) else part.size
        first, last = max(begin - at, 0), min(end - at, size)
        if first < last:
            result.append(
                part[first:last]
                if isinstance(part, bytes)
                else FilePart(part.path, part.data.slice(first, last - first, "image"))
            )
        at += size
    return tuple(result)


def _bytes(piece: bytes | memoryview) -> Iterator[bytes]:
    data = bytes(piece)
    for start in range(0, len(data), LINE):
        line = data[start : start + LINE]
        text = bytearray(b"\\" * (4 * len(line)))
        for place, digits in enumerate(DIGITS, 1):
            text[place::4] = line.translate(digits)
        yield b'\t.ascii "%s"\n' % text


def _code(functions: Iterable[Function], machine: Code) -> Iterator[str]:
    align = f"\t.balign {CODE_ALIGNMENT}, {machine.fill[0]:#x}"
    for function in functions:
        yield align
        yield f"\t.type {name(function.name)}, @function"
        yield f"{name(function.name)}:"
        for instruction, symbol in machine.tail_call(function.argument, function.called):
            yield "\t" + instruction.text.format(name(referred(symbol)) if symbol else "")
        yield f"\t.size {name(function.name)}, . - {name(function.name)}"
    yield align


def _undefined(symbols: Iterable[Symbol]) -> Iterator[str]:
    for symbol in symbols:
        if symbol.section is None:
            if symbol.visibility == STV_HIDDEN:
                yield f"\t.hidden {name(symbol.name)}"
            if referred(symbol.name) != symbol.name:
                yield f"\t.symver {referred(symbol.name)}, {symbol.name}"
