# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Edit modules as LLVM prints them, where llvmlite has no call.

Each function takes and returns the text of `str(module)`, never a user's file: LLVM prints each
definition's head on one line and closes its body with "}" alone on a line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set

_PLAIN_NAME = re.compile(r"[-a-zA-Z$._][-a-zA-Z$._0-9]*")
SYMBOL = r'@(?:"[^"]*"|[-a-zA-Z$._0-9]+)'
# Match a function definition, and a variable with its linkage and kind.
BODY = re.compile(r"^define .*\n(?:(?!\}$).*\n)*\}$", re.MULTILINE)
VARIABLE = re.compile(
    rf"^({SYMBOL}) = ((?:(?!global |constant |alias |ifunc |externally_init)\w+(?:\([^)]*\))? )*)"
    r"((?:externally_initialized )?(?:global|constant) ).*$",
    re.MULTILINE,
)
_DECLARATION = re.compile(rf"^declare .*?({SYMBOL})\(", re.MULTILINE)
_KERNEL_CONVENTION = re.compile(r"\b(ptx|amdgpu|spir)_kernel $")
# Attributes that may precede the result type of a kernel that any caller can call.
_PLAIN_HEAD = re.compile(r"define (?:(?:weak|weak_odr|protected|hidden|dso_local|dllexport|ccc) )*")
_TARGET_ATTRIBUTES = re.compile(r' ?"(?:target-cpu|tune-cpu|target-features)"="[^"]*"')
_ATTRIBUTES = re.compile(r"^attributes #\d+ = .*$", re.MULTILINE)
_HOST_ATTRIBUTES = re.compile(
    r' (?:ssp(?:strong|req)?|uwtable(?:\(sync\))?)(?= )|"probe-stack"="[^"]*" '
)
_SYMBOL_OR_STRING = re.compile(rf'({SYMBOL})|"[^"]*"')
_INDIRECT = re.compile(r"^ *(?:%\S+ = )?(?:\w+ )?call [^@\n]*? %[^ ,()]+\(", re.MULTILINE)
_SOURCE_FILENAME = re.compile(r'^source_filename = "<string>"$', re.MULTILINE)


def symbol(name: str) -> str:
    """Return `name` as LLVM prints the global: @saxpy, @"two words"."""
    return f"@{name}" if _PLAIN_NAME.fullmatch(name) else f'@"{_escaped(name.encode())}"'


def c_string(name: str) -> tuple[str, str]:
    """Return the type and value of the NUL-terminated string `name`."""
    return quoted(name.encode() + b"\0")


def quoted(data: bytes) -> tuple[str, str]:
    """Return the type and value of a constant with these bytes."""
    return f"[{len(data)} x i8]", f'c"{_escaped(data)}"'


def bytes_of(text: str) -> bytes:
    """Return the bytes that LLVM prints as `text` between quotes."""
    escaped = re.sub(r"\\([0-9A-Fa-f]{2})", lambda found: chr(int(found[1], 16)), text)
    return escaped.encode("latin-1")


def defined_functions(text: str) -> set[str]:
    """Return the functions that the module defines, as LLVM prints their names."""
    return {_name(body[0]) for body in BODY.finditer(text)}


def _escaped(data: bytes) -> str:
    printable = range(0x20, 0x7F)
    return "".join(
        chr(byte) if byte in printable and byte not in b'\\"' else f"\\{byte:02X}" for byte in data
    )


def without_source_name(text: str) -> str:
    """Return the module without the source name that llvmlite assigns to unnamed text."""
    return _SOURCE_FILENAME.sub('source_filename = ""', text)


def without_target_attributes(text: str) -> str:
    """Return the module without functions' processors and features: these override the target's."""
    return _TARGET_ATTRIBUTES.sub("", text)


def without_host_attributes(text: str) -> str:
    """Return the module without function attributes for an operating system, e.g. stack probes."""
    return _ATTRIBUTES.sub(lambda found: _HOST_ATTRIBUTES.sub("", found[0]), text)


def with_functions_for(text: str, names: Mapping[str, str]) -> str:
    """Return the module with calls of functions in place of the intrinsics that `names` lists."""
    for found in list(_DECLARATION.finditer(text)):
        name = names.get(found[1].removeprefix("@"))
        if not name:
            continue
        own = f"@{name}("
        line = re.search(rf"^{re.escape(found[0])}.*\n", text, re.MULTILINE)
        if line and own not in text:
            plain = re.sub(r" #\d+$", "", line[0].rstrip()).replace(f"{found[1]}(", own)
            text = text.replace(line[0], f"{plain}\n")
        elif line:
            text = text.replace(line[0], "")
        text = text.replace(f"{found[1]}(", own)
    return text


def unusual_convention(text: str, kernel: str) -> str:
    """Return the calling convention or attribute that makes `kernel` uncallable from C; else ""."""
    head = _head(text, kernel)[0]
    return _PLAIN_HEAD.sub("", _KERNEL_CONVENTION.sub("", head), count=1).strip()


def with_convention(text: str, kernels: Sequence[str], convention: str) -> str:
    """Return the module with `kernels` defined under `convention` ("" for C's)."""
    word = f"{convention} " if convention else ""
    for kernel in kernels:
        head = _head(text, kernel)
        plain = _KERNEL_CONVENTION.sub("", head[0])
        text = f"{text[: head.start()]}{plain}{word}{text[head.end() :]}"
    return text


def _head(text: str, kernel: str) -> re.Match[str]:
    """Match the text before the result type in the definition of `kernel`."""
    pattern = rf"^define (?:[^\s(]+ )*?(?=void {re.escape(symbol(kernel))}\()"
    found = re.search(pattern, text, re.MULTILINE)
    if not found:
        raise ValueError(f"no definition of {kernel}")
    return found


def in_order(text: str, kernels: Sequence[str]) -> str:
    """Return the module with `kernels` as its first functions, in this order."""
    bodies = {_name(body[0]): body for body in BODY.finditer(text)}
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
    found = re.match(rf"define .*?({SYMBOL})\(", body)
    return found[1] if found else ""


def mentions(text: str) -> dict[str, set[str]]:
    """Return the names that each function and variable refers to, as LLVM prints them."""
    found = {_name(body[0]): _symbols(body[0]) for body in BODY.finditer(text)}
    for variable in VARIABLE.finditer(text):
        found[variable[1]] = _symbols(variable[0])
    return found


def _symbols(text: str) -> set[str]:
    return {found[1] for found in _SYMBOL_OR_STRING.finditer(text) if found[1]}


def reaching(text: str, wanted: Set[str]) -> set[str]:
    """Return the functions that refer to one of `wanted`, directly or not, and `wanted` itself.

    A function with an indirect call may call any of them.
    """
    graph = mentions(text)
    reached = set(wanted)
    if wanted & graph.keys() or any(wanted & names for names in graph.values()):
        reached |= {_name(body[0]) for body in BODY.finditer(text) if _INDIRECT.search(body[0])}
    while True:
        more = {name for name, named in graph.items() if name not in reached and named & reached}
        if not more:
            return reached
        reached |= more


def unresolved(text: str) -> list[str]:
    """Return the undefined functions that the module uses, except intrinsics, as printed."""
    outside = [name for name in declared(text) if not name.startswith(("@llvm.", '@"llvm.'))]
    return [name for name in outside if len(_mentions(text, name)) > 1]


def declared(text: str) -> list[str]:
    """Return the functions that the module declares, as LLVM prints their names."""
    return [found[1] for found in _DECLARATION.finditer(text)]


def _mentions(text: str, name: str) -> list[str]:
    return re.findall(rf"{re.escape(name)}(?![-\w$.])", text)
