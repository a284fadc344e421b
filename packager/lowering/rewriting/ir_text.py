"""Edits of a module as LLVM prints it, for what llvmlite has no call for.

Each function takes and gives the text of `str(module)`, never a user's file: LLVM prints each
definition's head on one line and closes its body with "}" alone on a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_PLAIN_NAME = re.compile(r"[-a-zA-Z$._][-a-zA-Z$._0-9]*")
_BODY = re.compile(r"^define .*\n(?:(?!\}$).*\n)*\}$", re.MULTILINE)
_DECLARATION = re.compile(r'^declare .*?(@(?:"[^"]*"|[-a-zA-Z$._0-9]+))\(', re.MULTILINE)
_KERNEL_CONVENTION = re.compile(r"\b(ptx|amdgpu|spir)_kernel $")
# What may stand before the result type of a kernel that any caller can call.
_PLAIN_HEAD = re.compile(r"define (?:(?:weak|weak_odr|protected|hidden|dso_local|dllexport|ccc) )*")
_TARGET_ATTRIBUTES = re.compile(r' ?"(?:target-cpu|tune-cpu|target-features)"="[^"]*"')
_SOURCE_FILENAME = re.compile(r'^source_filename = "<string>"$', re.MULTILINE)


def symbol(name: str) -> str:
    """`name` as LLVM prints the global of that name: @saxpy, @"two words"."""
    return f"@{name}" if _PLAIN_NAME.fullmatch(name) else f'@"{_escaped(name.encode())}"'


def c_string(name: str) -> tuple[str, str]:
    """The type and value of the NUL-terminated string `name`."""
    data = name.encode() + b"\0"
    return f"[{len(data)} x i8]", f'c"{_escaped(data)}"'


def _escaped(data: bytes) -> str:
    printable = range(0x20, 0x7F)
    return "".join(
        chr(byte) if byte in printable and byte not in b'\\"' else f"\\{byte:02X}" for byte in data
    )


def without_source_name(text: str) -> str:
    """The module without the name that llvmlite gives to text without one."""
    return _SOURCE_FILENAME.sub('source_filename = ""', text)


def without_target_attributes(text: str) -> str:
    """The module without functions' own processors and features, which override the target's."""
    return _TARGET_ATTRIBUTES.sub("", text)


def unusual_convention(text: str, kernel: str) -> str:
    """What `kernel`'s definition says that keeps it from being called as in C, or ""."""
    head = _head(text, kernel)[0]
    return _PLAIN_HEAD.sub("", _KERNEL_CONVENTION.sub("", head), count=1).strip()


def with_convention(text: str, kernels: Sequence[str], convention: str) -> str:
    """The module with `kernels` defined under `convention` ("" for C's)."""
    word = f"{convention} " if convention else ""
    for kernel in kernels:
        head = _head(text, kernel)
        plain = _KERNEL_CONVENTION.sub("", head[0])
        text = f"{text[: head.start()]}{plain}{word}{text[head.end() :]}"
    return text


def _head(text: str, kernel: str) -> re.Match[str]:
    """What stands before the result type in the definition of `kernel`."""
    pattern = rf"^define (?:[^\s(]+ )*?(?=void {re.escape(symbol(kernel))}\()"
    found = re.search(pattern, text, re.MULTILINE)
    if not found:
        raise ValueError(f"no definition of {kernel}")
    return found


def in_order(text: str, kernels: Sequence[str]) -> str:
    """The module with the definitions of `kernels` first among the functions, in that order."""
    bodies = {_name(body[0]): body for body in _BODY.finditer(text)}
    wanted = [bodies[symbol(kernel)] for kernel in kernels]
    if not wanted:
        return text
    first = min(body.start() for body in bodies.values())
    moved = {body.start() for body in wanted}
    kept = []
    at = first
    for body in bodies.values():
        if body.start() in moved:
            kept.append(text[at : body.start()])
            at = body.end()
    blocks = "\n\n".join(body[0] for body in wanted)
    return f"{text[:first]}{blocks}\n\n{''.join(kept)}{text[at:]}"


def _name(body: str) -> str:
    found = re.match(r'define .*?(@(?:"[^"]*"|[-a-zA-Z$._0-9]+))\(', body)
    return found[1] if found else ""


def users(text: str, name: str) -> Iterator[str]:
    """The functions whose bodies mention the global `name`, as LLVM prints their names."""
    mention = re.compile(rf"(?<!\w){re.escape(symbol(name))}(?![-\w$.])")
    for body in _BODY.finditer(text):
        if mention.search(body[0], body[0].index("\n")):
            yield _name(body[0])


def unresolved(text: str) -> list[str]:
    """The functions that the module uses and does not define, without LLVM's own, as printed."""
    names = [found[1] for found in _DECLARATION.finditer(text)]
    outside = [
        name for name in names if not name.removeprefix('@"').startswith(("@llvm.", "llvm."))
    ]
    return [name for name in outside if len(_mentions(text, name)) > 1]


def _mentions(text: str, name: str) -> list[str]:
    return re.findall(rf"{re.escape(name)}(?![-\w$.])", text)
