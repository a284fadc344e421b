# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write a wrapper as LLVM IR, like clang-offload-wrapper: a module for any LLVM tool.

Releases before 15 cannot parse opaque pointers. For them typed pointers are written, which releases
up to 22 can still parse. The bytes of an image are in the text, three characters each.
"""

from __future__ import annotations

from binascii import hexlify
from collections.abc import Iterable, Iterator, Sequence
from typing import BinaryIO

from packager.formats.containers.offload_binary import ALIGNMENT
from packager.host_machines.machine import HostMachine
from packager.layouts import (
    CLASSIC_ENTRY,
    DEVICE_IMAGE,
    INTERFACE_ENTRY,
    PROPOSAL_ENTRY,
    VERSIONED_ENTRY,
    WrittenAbi,
)
from packager.records import NamedTuple
from packager.writers.registration import DESCRIPTOR, Array, Function, arrays, functions, referred
from packager.writers.streams import Copied, pieces
from packager.writers.wrapper import (
    ENTRY_NAMES,
    IMAGES,
    EntryInput,
    ImageInput,
    bounds,
    image_content,
    image_range,
)

# Records of packager.layouts as LLVM types; P is a pointer.
RECORDS = {
    PROPOSAL_ENTRY: "{ P, i32, i32 }",
    INTERFACE_ENTRY: "{ P, P, i64 }",
    CLASSIC_ENTRY: "{ P, P, i64, i32, i32 }",
    VERSIONED_ENTRY: "{ i64, i16, i16, i32, P, P, i64, i64, P }",
}
TABLE = ".omptool.entries"


class Dialect(NamedTuple):
    """The spelling of pointers in a module: typed (`i8*`) or opaque (`ptr`)."""

    is_typed: bool

    @property
    def pointer(self) -> str:
        return "i8*" if self.is_typed else "ptr"

    def to(self, kind: str) -> str:
        """Return the type of a pointer to `kind`."""
        return f"{kind}*" if self.is_typed else "ptr"

    def address(self, kind: str, name: str) -> str:
        """Return the address of a global of a type as a generic pointer."""
        if self.is_typed and kind != "i8":
            return f"i8* bitcast ({kind}* {name} to i8*)"
        return f"{self.pointer} {name}"

    def inside(self, size: int, name: str, offset: int) -> str:
        """Return an address inside a global of `size` bytes."""
        kind = f"[{size} x i8]"
        return (
            f"{self.pointer} getelementptr inbounds ({kind}, {self.to(kind)} {name}, "
            f"i64 0, i64 {offset})"
        )

    def record(self, kind: str) -> str:
        """Return a type with P replaced by the pointer type."""
        return kind.replace("P", self.pointer)


def write_ir(
    out: BinaryIO,
    images: Sequence[ImageInput],
    entries: Sequence[EntryInput],
    abi: WrittenAbi,
    machine: HostMachine,
    *,
    says_requires: bool,
    copied: Copied,
) -> None:
    """Write the module to `out` for a host machine."""
    dialect = Dialect(abi.generation is not None and abi.generation.has_typed_pointers)
    wanted = functions(abi, says_requires=says_requires)
    out.write(_lines(_head(abi, machine, wanted)))
    for number, image in enumerate(images):
        _image(out, number, image, abi, copied)
    out.write(_lines(_entries(entries, abi, dialect)))
    out.write(_lines(_descriptor(images, abi, dialect)))
    out.write(_lines(_functions(wanted, len(images), abi, dialect)))
    out.write(_lines(_arrays(arrays(abi, says_requires=says_requires), dialect)))


def _lines(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")


def name(text: str) -> str:
    """Return a global's name, quoted and escaped."""
    return f'@"{_escaped(text.encode("utf-8", "surrogateescape"))}"'


def _escaped(text: bytes) -> str:
    plain = (chr(c) if 32 <= c < 127 and c not in b'"\\' else f"\\{c:02X}" for c in text)
    return "".join(plain)


def _head(abi: WrittenAbi, machine: HostMachine, wanted: Iterable[Function]) -> Iterator[str]:
    yield f"; written by omptool emit for {abi.name}"
    yield f'target triple = "{machine.triple}"'
    for function in wanted:
        if referred(function.called) != function.called:
            yield f'module asm ".symver {referred(function.called)}, {function.called}"'


def _image(out: BinaryIO, number: int, image: ImageInput, abi: WrittenAbi, copied: Copied) -> None:
    size, content = image_content(image, abi)
    symbol = name(f".omptool.image.{number}")
    out.write(_lines([""]) + f'{symbol} = internal constant [{size} x i8] c"'.encode())
    for piece in pieces(content, copied):
        if len(piece):
            out.write(b"\\")
            out.write(hexlify(piece, b"\\"))
    section = _escaped(image.section.encode("utf-8", "surrogateescape"))
    out.write(f'", section "{section}", align {ALIGNMENT}\n'.encode())


def _entries(entries: Sequence[EntryInput], abi: WrittenAbi, dialect: Dialect) -> Iterator[str]:
    """Yield the entry table, its names, and the host symbols that it lists."""
    record = dialect.record(RECORDS[abi.entry])
    table = f"[{len(entries)} x {record}]"
    names = [entry.name.encode("utf-8", "surrogateescape") + b"\0" for entry in entries]
    size = sum(map(len, names))
    yield ""
    for symbol in dict.fromkeys(entry.host_symbol for entry in entries):
        yield f"{name(symbol)} = external global i8"
    if entries and abi.entry.name is not None:
        text = _escaped(b"".join(names))
        yield f'{name(ENTRY_NAMES)} = internal constant [{size} x i8] c"{text}", align 1'
    rows, at = [], 0
    for entry, spelled in zip(entries, names, strict=True):
        address = dialect.address("i8", name(entry.host_symbol))
        place = dialect.inside(size, name(ENTRY_NAMES), at)
        rows.append(f"{record} {_row(entry, abi, address, place, dialect)}")
        at += len(spelled)
    value = f"[{', '.join(rows)}]" if rows else "zeroinitializer"
    symbol, section = name(TABLE), f'section "{abi.entries_section}", align 8'
    yield f"{symbol} = internal global {table} {value}, {section}"
    used = f"[1 x {dialect.pointer}] [{dialect.address(table, symbol)}]"
    yield f'@llvm.used = appending global {used}, section "llvm.metadata"'
    for bound in bounds(abi):
        yield f"{name(bound)} = external hidden global i8"


def _row(entry: EntryInput, abi: WrittenAbi, address: str, place: str, dialect: Dialect) -> str:
    if abi.entry is PROPOSAL_ENTRY:
        return f"{{ {address}, i32 {entry.size}, i32 0 }}"
    if abi.entry is INTERFACE_ENTRY:
        return f"{{ {address}, {place}, i64 {entry.size} }}"
    if abi.entry is CLASSIC_ENTRY:
        return f"{{ {address}, {place}, i64 {entry.size}, i32 {entry.flags}, i32 0 }}"
    return (
        f"{{ i64 0, i16 1, i16 1, i32 {entry.flags}, {address}, {place}, "
        f"i64 {entry.size}, i64 0, {dialect.pointer} null }}"
    )


def _descriptor(images: Sequence[ImageInput], abi: WrittenAbi, dialect: Dialect) -> Iterator[str]:
    limits = [dialect.address("i8", name(bound)) for bound in bounds(abi)]
    record = dialect.record("{ P, P, P, P }" if abi.image is DEVICE_IMAGE else "{ P, P }")
    rows = []
    for number, image in enumerate(images):
        size, _ = image_content(image, abi)
        begin, end = image_range(image, abi)
        ends = [dialect.inside(size, name(f".omptool.image.{number}"), at) for at in (begin, end)]
        fields = ends + (limits if abi.image is DEVICE_IMAGE else [])
        rows.append(f"{record} {{ {', '.join(fields)} }}")
    array = f"[{len(images)} x {record}]"
    yield ""
    yield f"{name(IMAGES)} = internal constant {array} [{', '.join(rows)}]"
    kind = _descriptor_type(dialect)
    fields = [f"i32 {len(images)}", "i32 0", dialect.address(array, name(IMAGES)), *limits]
    yield f"{name(DESCRIPTOR)} = internal constant {kind} {{ {', '.join(fields)} }}"


def _descriptor_type(dialect: Dialect) -> str:
    return dialect.record("{ i32, i32, P, P, P }")


def _functions(
    wanted: Sequence[Function], count: int, abi: WrittenAbi, dialect: Dialect
) -> Iterator[str]:
    defined = {function.name for function in wanted}
    for function in wanted:
        argument, kind = function.argument, dialect.pointer
        if isinstance(argument, int):
            kind, passed = "i64", f"i64 {argument}"
        elif argument in defined:
            passed = dialect.address("void ()", name(argument))
        else:
            passed = dialect.address(_descriptor_type(dialect), name(argument))
        returned = "i32" if function.called == "atexit" else "void"
        callee = name(referred(function.called))
        result = "%done = " if returned == "i32" else ""
        yield ""
        yield f"declare {returned} {callee}({kind})"
        yield f'define internal void {name(function.name)}() section ".text.startup" {{'
        yield f"  {result}call {returned} {callee}({passed})"
        yield "  ret void"
        yield "}"


def _arrays(wanted: Sequence[Array], dialect: Dialect) -> Iterator[str]:
    """Yield the arrays of constructors and destructors; equal priorities run in this order."""
    function = dialect.to("void ()")
    kind = f"{{ i32, {function}, {dialect.pointer} }}"
    for which, symbol in (("init", "@llvm.global_ctors"), ("fini", "@llvm.global_dtors")):
        rows = [
            f"{kind} {{ i32 {array.priority}, {function} {name(called)}, {dialect.pointer} null }}"
            for array in wanted
            if array.which == which
            for called in array.functions
        ]
        if rows:
            yield ""
            yield f"{symbol} = appending global [{len(rows)} x {kind}] [{', '.join(rows)}]"
