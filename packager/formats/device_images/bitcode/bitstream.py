# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LLVM's bitstreams (the LLVM Bitcode File Format): blocks of records, packed to the bit.

Blocks can be skipped by the size in their headers, so the instructions of a module are never read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from struct import Struct

from packager.errors import FormatError
from packager.files.reader import Reader
from packager.formats.device_images.bitcode.magic import MAGIC, WRAPPER_MAGIC, probe
from packager.patterns import pattern
from packager.records import NamedTuple

WORD = 32
WRAPPER = Struct("<IIII")  # magic, version, offset and size of the bitcode
# Abbreviation IDs that every block has.
END_BLOCK, ENTER_BLOCK, DEFINE_ABBREVIATION, UNABBREVIATED = 0, 1, 2, 3
FIRST_ABBREVIATION = 4
FIXED, VBR, ARRAY, CHAR6, BLOB = 1, 2, 3, 4, 5
LITERAL = 0
CHAR6_LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._"
BLOCK_INFO, SET_BLOCK = 0, 1
TOP_WIDTH = 2  # bits of an abbreviation ID outside of blocks
MAX_WIDTH = 32
MAX_BITS = 64
MAX_OPERANDS = 1 << 20  # most operands of a record; an index of metadata has one for each node
MAX_ABBREVIATIONS = 1 << 12
MAX_ITEMS = 1 << 20  # most items of a stream
WINDOW = 1 << 16  # bytes that are in memory at one time
IDENTIFICATION, PRODUCER = 13, 1  # a block, and its record of the release: "LLVM19.1.7"
LLVM_RELEASE = pattern(r"(?:APPLE_\w+|LLVM)(\d+)\.")
Release = str  # "19"; "": not recorded


class Operand(NamedTuple):
    """A part of an abbreviation: how the next operands of a record are written."""

    kind: int
    value: int = 0  # a literal's value, or a number's width


Abbreviation = tuple[Operand, ...]
BYTE = Operand(FIXED, 8)
FEW_BYTES = 1 << 12  # more are no name


class Block(NamedTuple):
    """A block that begins here."""

    number: int
    width: int
    start: int  # bit
    end: int


class Record(NamedTuple):
    """Bitcode record, with its operands.

    `blob` holds its trailing bytes, if any. For an array of bytes these are a copy, and `stored` is
    their range in the file.
    """

    code: int
    operands: list[int]
    blob: Reader | None = None
    stored: Reader | None = None

    def text(self, start: int = 0) -> str:
        """Return the operands from `start` on as characters."""
        return "".join(map(chr, (value & 0xFF for value in self.operands[start:])))


@dataclass
class Stream:
    """A bitstream, with the state shared by its blocks."""

    data: Reader
    inherited: dict[int, list[Abbreviation]] = field(default_factory=dict)
    items: int = 0
    few_bytes: int = FEW_BYTES  # more in an array are not taken apart
    _window: bytes = b""
    _window_at: int = 0

    def fixed(self, at: int, width: int) -> int:
        """Read `width` bits at bit `at`; the caller has checked that they exist."""
        start = at >> 3
        inside = start - self._window_at
        is_short = inside + MAX_BITS // 8 + 1 > len(self._window)
        if inside < 0 or (is_short and self._window_at + len(self._window) < len(self.data)):
            size = min(WINDOW, len(self.data) - start)
            self._window, self._window_at = self.data.bytes(start, size, "bitcode"), start
            inside = 0
        bits = int.from_bytes(self._window[inside : inside + MAX_BITS // 8 + 1], "little")
        return bits >> (at & 7) & ((1 << width) - 1)


class Cursor:
    """A place in a stream."""

    def __init__(self, stream: Stream, at: int, end: int) -> None:
        self.stream = stream
        self.at = at
        self.end = end

    def fixed(self, width: int) -> int:
        """Read the next `width` bits."""
        if width > self.end - self.at:
            raise FormatError(f"bitcode at {self.stream.data.at:#x}: a block ends too early")
        value = self.stream.fixed(self.at, width)
        self.at += width
        return value

    def variable(self, width: int) -> int:
        """Read a number in groups of `width` bits; the highest bit of each marks a continuation."""
        high = 1 << (width - 1)
        value = shift = 0
        while True:
            bits = self.fixed(width)
            value |= (bits & (high - 1)) << shift
            if not bits & high:
                return value
            shift += width - 1
            if shift > MAX_BITS:
                raise FormatError(f"bitcode at {self.stream.data.at:#x} has a number without end")

    def align(self) -> None:
        """Advance to the next word."""
        self.at = -(-self.at // WORD) * WORD


def outermost(data: Reader) -> tuple[Stream, Block]:
    """Return the bitcode in `data`, with or without a wrapper, as a stream and its whole block.

    Raises FormatError for a wrapper without bitcode.
    """
    if data.starts_with(WRAPPER_MAGIC):
        _, _, offset, size = data.unpack(WRAPPER, 0, "bitcode wrapper")
        data = data.slice(offset, size, "bitcode in its wrapper")
        if not data.starts_with(MAGIC):
            raise FormatError(f"bitcode wrapper holds no bitcode at {data.at:#x}")
    return Stream(data), Block(-1, TOP_WIDTH, len(MAGIC) * 8, len(data) // 4 * WORD)


def items(stream: Stream, block: Block) -> Iterator[Block | Record]:
    """Yield the records and blocks of a block, without descending.

    Raises FormatError for malformed items, and for more of them than any module has.
    """
    cursor = Cursor(stream, block.start, block.end)
    known = list(stream.inherited.get(block.number, ()))
    while cursor.at + block.width <= block.end:
        stream.items += 1
        if stream.items > MAX_ITEMS:
            raise FormatError(f"bitcode at {stream.data.at:#x} has more than {MAX_ITEMS} records")
        code = cursor.fixed(block.width)
        if code == END_BLOCK:
            return
        if code == ENTER_BLOCK:
            inner = _block(cursor)
            if inner.number == BLOCK_INFO:
                _read_info(stream, inner)
            else:
                yield inner
            cursor.at = inner.end
        elif code == DEFINE_ABBREVIATION:
            known.append(_abbreviation(cursor))
            if len(known) > MAX_ABBREVIATIONS:
                raise FormatError(f"bitcode at {stream.data.at:#x} has too many abbreviations")
        elif code == UNABBREVIATED:
            yield _unabbreviated(cursor)
        elif code - FIRST_ABBREVIATION < len(known):
            yield _abbreviated(cursor, known[code - FIRST_ABBREVIATION])
        else:
            raise FormatError(f"bitcode at {stream.data.at:#x} has no abbreviation {code}")


def _block(cursor: Cursor) -> Block:
    number, width = cursor.variable(8), cursor.variable(4)
    cursor.align()
    size = cursor.fixed(WORD) * WORD
    if not 2 <= width <= MAX_WIDTH or size > cursor.end - cursor.at:
        where = f"bitcode at {cursor.stream.data.at:#x}"
        raise FormatError(f"{where}: block {number} of {size // 8} bytes runs past the end")
    return Block(number, width, cursor.at, cursor.at + size)


def _read_info(stream: Stream, block: Block) -> None:
    """Read the abbreviations that blocks of each kind share."""
    cursor = Cursor(stream, block.start, block.end)
    current: list[Abbreviation] = []
    while (code := cursor.fixed(block.width)) != END_BLOCK:
        if code == DEFINE_ABBREVIATION:
            current.append(_abbreviation(cursor))
        elif code == UNABBREVIATED:
            record = _unabbreviated(cursor)
            if record.code == SET_BLOCK and record.operands:
                current = stream.inherited.setdefault(record.operands[0], [])
        else:
            raise FormatError(f"bitcode at {stream.data.at:#x}: its block info is malformed")
        if len(current) > MAX_ABBREVIATIONS or len(stream.inherited) > MAX_ABBREVIATIONS:
            raise FormatError(f"bitcode at {stream.data.at:#x} has too many abbreviations")


def _abbreviation(cursor: Cursor) -> Abbreviation:
    count = cursor.variable(5)
    if count > MAX_OPERANDS:
        raise FormatError(f"bitcode has an abbreviation of {count} operands")
    found: list[Operand] = []
    for _ in range(count):
        if cursor.fixed(1):
            found.append(Operand(LITERAL, cursor.variable(8)))
            continue
        kind = cursor.fixed(3)
        width = cursor.variable(5) if kind in (FIXED, VBR) else 0
        if not FIXED <= kind <= BLOB or width > MAX_BITS or (kind == VBR and width == 1):
            raise FormatError(f"bitcode has operands of kind {kind} and {width} bits")
        found.append(Operand(kind, width))
    for number, operand in enumerate(found):
        is_last = number == len(found) - (2 if operand.kind == ARRAY else 1)
        if operand.kind in (ARRAY, BLOB) and not is_last:
            raise FormatError("bitcode has an abbreviation whose end is not at its end")
    if len(found) > 1 and found[-2].kind == ARRAY and found[-1].kind == BLOB:
        raise FormatError("bitcode has an abbreviation of arrays of bytes")
    if not found or found[0].kind in (ARRAY, BLOB) or found[-1].kind == ARRAY:
        raise FormatError("bitcode has an abbreviation without a code")
    return tuple(found)


def _unabbreviated(cursor: Cursor) -> Record:
    code, count = cursor.variable(6), cursor.variable(6)
    _expect_few(count)
    return Record(code, [cursor.variable(6) for _ in range(count)])


def _abbreviated(cursor: Cursor, abbreviation: Abbreviation) -> Record:
    values: list[int] = []
    blob = stored = None
    for number, operand in enumerate(abbreviation):
        if operand.kind == ARRAY:
            count = cursor.variable(6)
            element = abbreviation[number + 1]
            if element == BYTE and count > cursor.stream.few_bytes:
                blob, stored = _bytes(cursor, count)
                break
            _expect_few(count)
            values += [_scalar(cursor, element) for _ in range(count)]
            break
        if operand.kind == BLOB:
            blob = _blob(cursor)
        else:
            values.append(_scalar(cursor, operand))
    return Record(values[0], values[1:], blob, stored)


def _expect_few(count: int) -> None:
    if count > MAX_OPERANDS:
        raise FormatError(f"bitcode has a record of {count} operands")


def _scalar(cursor: Cursor, operand: Operand) -> int:
    if operand.kind == LITERAL:
        return operand.value
    if operand.kind == CHAR6:
        return CHAR6_LETTERS[cursor.fixed(6)]
    if not operand.value:
        return 0
    return cursor.fixed(operand.value) if operand.kind == FIXED else cursor.variable(operand.value)


def _bytes(cursor: Cursor, count: int) -> tuple[Reader, Reader]:
    """Return a copy of a long array of bytes, which need not begin at one, and where they are."""
    if count * 8 > cursor.end - cursor.at:
        raise FormatError(f"bitcode at {cursor.stream.data.at:#x}: {count} bytes run past the end")
    start, shift = divmod(cursor.at, 8)
    cursor.at += count * 8
    data = cursor.stream.data
    stored = data.slice(start, count + bool(shift), "bytes in bitcode")
    held = stored.bytes()
    if shift:
        held = (int.from_bytes(held, "little") >> shift & ((1 << 8 * count) - 1)).to_bytes(
            count, "little"
        )
    return Reader(held, context=data.context, whole=data.whole), stored


def _blob(cursor: Cursor) -> Reader:
    size = cursor.variable(6)
    cursor.align()
    if size * 8 > cursor.end - cursor.at:
        raise FormatError(f"bitcode at {cursor.stream.data.at:#x}: {size} bytes run past the end")
    found = cursor.stream.data.slice(cursor.at // 8, size, "bitcode")
    cursor.at += size * 8
    cursor.align()
    return found


def release(data: Reader) -> Release:
    """Return the release; "" if the file does not record it. Raises FormatError."""
    if not probe(data):
        return ""
    stream, whole = outermost(data)
    for block in items(stream, whole):
        if not isinstance(block, Block) or block.number != IDENTIFICATION:
            return ""
        for record in items(stream, block):
            if isinstance(record, Record) and record.code == PRODUCER:
                found = LLVM_RELEASE.match(record.text())
                return found[1] if found else ""
    return ""
