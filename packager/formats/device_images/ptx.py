# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PTX text: its target, kernels and global variables, found without holding the text in memory.

PTX ISA: directives `.version`, `.target`, `.entry`, `.global`, `.const`; `//` and `/* */` comments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import prod

from packager.errors import LimitError
from packager.files.reader import Reader
from packager.formats.compressed import helper
from packager.model import Contents, DeviceSymbol
from packager.patterns import pattern

# Size of the pieces in which the text is read; a piece ends with a line.
PIECE = 1 << 20
# Bytes kept of a line: an initialised array is one line of any length.
LONG_LINE = 1 << 16
# Largest header of a kernel, from ".entry" to its body.
MAX_HEADER = 1 << 20
# Bytes searched for the first directive behind comments, and first bytes of most texts.
HEAD, SHORT_HEAD = 1 << 16, 1 << 10
MAX_SYMBOLS = 1 << 20
MACHINES = {b"32": "nvptx"}  # keyed by the size of addresses; "nvptx64" without one

_BLANK = pattern(rb"(?:\s+|//[^\n]*\n|/\*.*?\*/)*", re.DOTALL)
# Matches the newline before a directive: a search for it is much faster than for "^".
_DIRECTIVE = pattern(
    rb"\n[ \t]*\.(?:visible|weak|common|entry|target|address_size)\b[^\n={]{0,65535}"
)
_TARGET = pattern(rb"\s*\.target\s+(\w+)")
_ADDRESS_SIZE = pattern(rb"\s*\.address_size\s+(\d+)\b")
_KERNEL = pattern(rb"\s*(?:\.(?:visible|weak)\s+)?\.entry\s+([\w$%]+)")
# A kernel's header may contain text that looks like its end.
_HEADER_END = pattern(rb"//[^\n]*|\.pragma\b[^;]*;|([;{])")
_VARIABLE = pattern(
    rb"\s*\.(?:visible|weak|common)\s+\.(?:global|const)\s+"
    rb"(?:\.attribute\([^)]*\)\s*)?(?:\.align\s+\d+\s+)?(?:\.v([248])\s+)?\.[bsuf](\d{1,3})\s+"
    rb"([\w$%]+)((?:\[\d{0,12}\])*)"
)


def probe(data: Reader) -> bool:
    """Return whether the first thing that is neither blank nor comment is `.version`."""
    heads = (data.bytes(0, min(size, len(data)), "PTX") for size in (SHORT_HEAD, HEAD))
    return any(_begins(head) for head in heads)


def _begins(head: bytes) -> bool:
    blank = _BLANK.match(head)
    return head.startswith(b".version", blank.end() if blank else 0)


def inspect(data: Reader) -> Contents:
    """Return target and symbols; the table has the order of the `.entry` directives."""
    first = None if data.context.look.symbols else _first_words(data)
    if first:
        return first
    target, machine = None, "nvptx64"
    symbols: list[DeviceSymbol] = []
    for directive in _directives(data):
        if target is None and (found := _TARGET.match(directive)):
            target = found[1].decode()
        elif bits := _ADDRESS_SIZE.match(directive):
            machine = MACHINES.get(bits[1], machine)
        elif symbol := _symbol(directive):
            symbols.append(symbol)
            if len(symbols) > MAX_SYMBOLS:
                raise LimitError(f"PTX at {data.at:#x} has more than {MAX_SYMBOLS} symbols")
    kernels = tuple(symbol for symbol in symbols if symbol.kind == "kernel")
    problem = None if target else f"PTX at {data.at:#x} has no .target directive"
    return Contents("ptx", machine, target, tuple(symbols), kernels, problem=problem)


def _first_words(data: Reader) -> Contents | None:
    """Return target and machine alone, if the head of the text has both, as compilers write it."""
    head = data.bytes(0, min(SHORT_HEAD, len(data)), "PTX")
    text, _ = _without_comments(head[: head.rfind(b"\n") + 1], False)
    found = _DIRECTIVE.findall(b"\n" + text)
    target = next(filter(None, map(_TARGET.match, found)), None)
    bits = next(filter(None, map(_ADDRESS_SIZE.match, found)), None)
    if not target or not bits:
        return None
    machine = MACHINES.get(bits[1], "nvptx64")
    return Contents("ptx", machine, target[1].decode(), is_opaque=not data.context.look.damage)


def _symbol(directive: bytes) -> DeviceSymbol | None:
    kernel = _KERNEL.match(directive)
    if kernel:
        return DeviceSymbol(kernel[1].decode(), "kernel", 0, "kernel")
    variable = _VARIABLE.match(directive)
    if not variable:
        return None
    vector, bits, name, dimensions = variable.groups()
    extents = [int(extent or 0) for extent in dimensions.strip(b"[]").split(b"][") if dimensions]
    size = int(bits) // 8 * int(vector or 1) * prod(extents)  # 0 for "x[]" of unknown size
    return DeviceSymbol(name.decode(), "global", size, "global", size)


def _directives(data: Reader) -> Iterator[bytes]:
    """Yield the beginnings of lines with a directive of interest.

    Kernel declarations, which have no body, are skipped. CUDA's device runtime declares kernels
    before it defines them.
    """
    kept = b""  # start of a kernel's header whose end is in the next piece
    for text, is_last in _texts(data):
        text = (kept or b"\n") + text
        found = list(_possible(text))
        limits = [*(later.start() for later in found[1:]), len(text)]
        kept = b""
        for number, directive in enumerate(found):
            end = _header_end(text, directive, limits[number])
            if end is None and directive is found[-1] and not is_last:
                kept = text[directive.start() :][:MAX_HEADER]
            elif end != b";":
                yield directive[0]


def _possible(text: bytes) -> Iterator[re.Match[bytes]]:
    """Yield the matches of _DIRECTIVE, each in a line of its own."""
    found = helper.built()
    lines = found.lines(text) if found else None
    if lines is None:
        return _DIRECTIVE.finditer(text)
    return filter(None, (_DIRECTIVE.match(text, at) for at in lines))


def _header_end(text: bytes, directive: re.Match[bytes], limit: int) -> bytes | None:
    """Return the ";" or "{" that ends a kernel's header; b"" for other directives.

    Return None if the end is not in the text.
    """
    if not _KERNEL.match(directive[0]):
        return b""
    start = directive.start()
    brace = text.find(b"{", start, limit)
    semicolon = text.find(b";", start, limit if brace < 0 else brace)
    end = brace if semicolon < 0 else semicolon
    if end >= 0 and text.find(b"//", start, end) < 0 and text.find(b".pragma", start, end) < 0:
        return text[end : end + 1]
    ends = (end[1] for end in _HEADER_END.finditer(text, start, limit) if end[1])
    return next(ends, None)


def _texts(data: Reader) -> Iterator[tuple[bytes, bool]]:
    """Yield the text in pieces of whole lines without block comments, each with an is-last flag."""
    inside = False
    rest = b""
    for start in range(0, len(data), PIECE):
        text = rest + data.bytes(start, min(PIECE, len(data) - start), "PTX")
        is_last = start + PIECE >= len(data)
        end = len(text) if is_last else text.rfind(b"\n") + 1
        rest = text[end:][:LONG_LINE]
        whole, inside = _without_comments(text[:end], inside)
        yield whole, is_last


def _without_comments(text: bytes, inside: bool) -> tuple[bytes, bool]:
    """Return `text` without block comments, and whether it ends inside one.

    Comments up to the end of a line stay: no directive begins in them.
    """
    if not inside and b"*" not in text:  # a search for one byte is much faster
        return text, False
    kept: list[bytes] = []
    at = 0
    while True:
        if inside:
            at = text.find(b"*/", at) + 2
            if at < 2:
                return b"".join(kept), True
        start = text.find(b"/*", at)
        line = max(at, text.rfind(b"\n", at, start) + 1)
        inside = start >= 0 and text.find(b"//", line, start) < 0
        end = start if inside else text.find(b"\n", start) if start >= 0 else -1
        kept.append(text[at:] if end < 0 else text[at:end])
        if end < 0:
            return b"".join(kept), False
        at = end + 2 if inside else end
