# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""FAKE: cubins without code, for the fake CUDA driver, which runs none.

LLVM 19's plugin takes cubins alone, as the assembler of CUDA 12 writes them, which is NVIDIA's to
give. What runtimes read of one are the names, parameters and values of the PTX: these are in it.
"""

from __future__ import annotations

import re
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

HEADER, SECTION, SYMBOL = "<4s5B7xHHIQQQIHHHHHH", "<IIQQQQIIQQ", "<IBBHQQ"
CUDA = 190  # the machine
LEVEL_OF_FILES = 7  # ABI level in CUDA 12's files
BITS, LITTLE, SYSTEM = 2, 1, 0x33
TYPE, VERSION = 2, 0x81
FLAGS = 0x500  # addresses of 64 bits, one set of textures
CODE, SYMBOLS, STRINGS = 1, 2, 3
GLOBAL, WEAK = 1, 2
OBJECT, FUNCTION = 1, 2
ENTRY = 0x10  # flag in a symbol's st_other
PARAMETER = 0x1704  # attribute of .nv.info.<kernel>: number, place and size of a parameter
VARIABLE = re.compile(
    r"^\.(visible|weak) \.(?:global|const) (?:\.align \d+ )?\.[busf](\d+) ([\w$]+)"
    r"(?:\[(\d+)\])?(?: = \{?(.*?)\}?)?;$",
    re.MULTILINE,
)
KERNEL = re.compile(r"^\.(visible|weak) \.entry ([\w$]+)\((.*?)\)", re.MULTILINE | re.DOTALL)


@dataclass
class _Symbol:
    name: str
    binding: int
    kind: int
    other: int
    section: int
    value: int
    size: int


class _Strings:
    """A table of strings."""

    def __init__(self) -> None:
        self.table = b"\0"

    def place(self, text: str) -> int:
        at = len(self.table)
        self.table += text.encode() + b"\0"
        return at


def without_code(ptx: str, architecture: str) -> bytes:
    """Return a cubin with the kernels and the variables of this PTX."""
    sections: list[tuple[str, int, bytes]] = [("", 0, b""), (".text", CODE, bytes(16))]
    symbols = []
    data = b""
    for binding, bits, name, count, values in VARIABLE.findall(ptx):
        data += bytes(-len(data) % 16)
        value = _value(int(bits) // 8, int(count or 1), values)
        bound = _binding(binding)
        symbols.append(_Symbol(name, bound, OBJECT, 0, 2, len(data), len(value)))
        data += value
    sections.append((".nv.global.init", CODE, data))
    for binding, name, parameters in KERNEL.findall(ptx):
        symbols.append(_Symbol(name, _binding(binding), FUNCTION, ENTRY, 1, 0, 16))
        sections.append((f".nv.info.{name}", CODE, _parameters(parameters.count(".param .u64"))))
        assert parameters.count(".param") == parameters.count(".param .u64"), parameters
    return _file(sections, symbols, int(architecture.removeprefix("sm_")))


def write(ptx: Path, architecture: str) -> Path:
    """Write the cubin beside this file of PTX."""
    cubin = ptx.with_suffix(".cubin")
    cubin.write_bytes(without_code(ptx.read_text(), architecture))
    return cubin


def _binding(word: str) -> int:
    return WEAK if word == "weak" else GLOBAL


def _value(size: int, count: int, values: str) -> bytes:
    """Return a variable's bytes. An address is an odd number derived from its name."""
    words = [word.strip() for word in values.split(",")] if values else []
    numbers = [int(word) if word.lstrip("-").isdigit() else _address(word) for word in words]
    mask = (1 << 8 * size) - 1
    content = b"".join((number & mask).to_bytes(size, "little") for number in numbers)
    return content.ljust(size * count, b"\0")


def _address(name: str) -> int:
    return zlib.crc32(name.encode()) << 8 | 1


def _parameters(count: int) -> bytes:
    """Return records of parameters of 8 bytes each."""
    return b"".join(
        struct.pack("<HHIHHI", PARAMETER, 12, 0, i, 8 * i, 8 << 18) for i in range(count)
    )


def _file(sections: list[tuple[str, int, bytes]], symbols: list[_Symbol], flags: int) -> bytes:
    names, texts = _Strings(), _Strings()
    table = bytes(struct.calcsize(SYMBOL))
    for one in symbols:
        info = one.binding << 4 | one.kind
        place = texts.place(one.name)
        table += struct.pack(SYMBOL, place, info, one.other, one.section, one.value, one.size)
    sections = [*sections, (".symtab", SYMBOLS, table), (".strtab", STRINGS, texts.table)]
    places = [names.place(name) for name, _, _ in sections]
    places.append(names.place(".shstrtab"))
    sections.append((".shstrtab", STRINGS, names.table))
    body, headers = b"", b""
    start = struct.calcsize(HEADER)
    for place, (_, kind, content) in zip(places, sections, strict=True):
        body += bytes(-(start + len(body)) % 16)
        link, info, size = (0, 0, 0)
        if kind == SYMBOLS:
            link, info, size = len(sections) - 2, 1, struct.calcsize(SYMBOL)
        at = start + len(body)
        headers += struct.pack(
            SECTION, place, kind, 0, 0, at if kind else 0, len(content), link, info, 16, size
        )
        body += content
    body += bytes(-(start + len(body)) % 16)
    ident = (b"\x7fELF", BITS, LITTLE, 1, SYSTEM, LEVEL_OF_FILES)
    where = start + len(body)
    sizes = (start, 0, 0, struct.calcsize(SECTION), len(sections), len(sections) - 1)
    wide = flags | FLAGS | flags << 16
    header = struct.pack(HEADER, *ident, TYPE, CUDA, VERSION, 0, 0, where, wide, *sizes)
    return header + body + headers
