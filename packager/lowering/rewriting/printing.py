# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convert calls of printf for OpenCL, whose formats and strings are in constant memory."""

from __future__ import annotations

import re

from packager.errors import UsageError
from packager.lowering.rewriting.ir_text import SYMBOL, bytes_of, quoted

_CONSTANTS = 2  # LLVM's address space of OpenCL's constants
# LLVM's name of printf. With a suffix for each list of types: SPIR-V has no variadic functions.
PRINTF = "_Z18__spirv_ocl_printf"
_LETTERS = {
    "i32": "i",
    "i64": "l",
    "double": "d",
    "ptr": "PU3AS4c",
    "ptr addrspace(4)": "PU3AS4c",
    f"ptr addrspace({_CONSTANTS})": f"PU3AS{_CONSTANTS}c",
}
_CALL = re.compile(
    r"^(.*?)call (?:\w+ )*?i32 (?:\(ptr, \.\.\.\) )?@(printf|puts)\((.*)\)(.*)$", re.MULTILINE
)
_TEXT = re.compile(
    rf"^({SYMBOL}) = .*constant \[\d+ x i8\] (?:c\"([^\"]*)\"|(zeroinitializer))", re.MULTILINE
)
_ARGUMENT = re.compile(rf"^ptr (?:\w+(?:\([^)]*\))? )*({SYMBOL})$")
_CONVERSION = re.compile(rb"%(%|[-+ #0]*(?:\*|\d+)?(?:\.(?:\*|\d+)?)?)(hh|h|ll|l|z|j|t|)")


def with_constant_formats(text: str) -> str:
    """Return the module with its calls of printf and puts in OpenCL's form.

    Raises UsageError for an unknown format.
    """
    known = {m[1]: bytes_of(m[2]) if m[3] is None else b"\0" for m in _TEXT.finditer(text)}
    made: dict[bytes, str] = {}
    printing: dict[str, str] = {}

    def constant(data: bytes) -> str:
        made.setdefault(data, f"@.omptool.text.{len(made)}")
        return f"ptr addrspace({_CONSTANTS}) {made[data]}"

    def known_text(argument: str) -> bytes | None:
        named = _ARGUMENT.match(argument)
        data = known.get(named[1]) if named else None
        return None if data is None else data.partition(b"\0")[0]

    def call(found: re.Match[str]) -> str:
        before, function, operands, after = found.groups()
        first, *rest = _split(operands)
        format_ = known_text(first)
        if format_ is None:
            raise UsageError(f"{function} gets a text that is not a constant: {first}")
        if function == "puts":
            format_ = format_.replace(b"%", b"%%") + b"\n"
        arguments = [constant(_for_opencl(format_))]
        for argument in rest:
            data = known_text(argument)
            arguments.append(argument if data is None else constant(data))
        types = [_type(argument) for argument in arguments]
        letters = "".join(_LETTERS[type_] for type_ in types)
        printing[letters] = _printing(letters, types)
        callee = f"@.omptool.print.{letters}"
        return f"{before}call spir_func i32 {callee}({', '.join(arguments)}){after}"

    text = re.sub(
        r"^declare .*@(?:printf|puts)\(.*\n", "", _CALL.sub(call, text), flags=re.MULTILINE
    )
    if not made:
        return text
    lines = []
    for data, name in made.items():
        type_, value = quoted(data + b"\0")
        what = f"private unnamed_addr addrspace({_CONSTANTS}) constant"
        lines.append(f"{name} = {what} {type_} {value}, align 1")
    return "\n".join([text, *lines, *printing.values()])


def _printing(letters: str, types: list[str]) -> str:
    """Return a function that prints values of `types`.

    LLVM 22 looks up the address space of a format among the values of the module's last function,
    by the format's number in its own function. So these functions come last, the format is their
    first value, and noinline keeps them as they are.
    """
    parameters = ", ".join(f"{type_} %{index}" for index, type_ in enumerate(types))
    return (
        f"declare spir_func i32 @{PRINTF}{letters}({', '.join(types)})\n"
        f"define spir_func i32 @.omptool.print.{letters}({parameters}) noinline nounwind {{\n"
        f"  %length = call spir_func i32 @{PRINTF}{letters}({parameters})\n"
        "  ret i32 %length\n}\n"
    )


def _type(argument: str) -> str:
    found = re.match(r"ptr addrspace\(\d+\)|\w+", argument)
    if not found or found[0] not in _LETTERS:
        raise UsageError(f"printf gets an argument that OpenCL's cannot print: {argument}")
    return found[0]


def _split(operands: str) -> list[str]:
    """Split a call's operands at commas outside of brackets."""
    parts = [""]
    depth = 0
    for character in operands:
        depth += {"(": 1, "[": 1, "<": 1, "{": 1}.get(character, 0)
        depth -= {")": 1, "]": 1, ">": 1, "}": 1}.get(character, 0)
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def _for_opencl(format_: bytes) -> bytes:
    """Return the format with OpenCL's length modifiers of 64-bit values (OpenCL C, 6.15.14)."""
    return _CONVERSION.sub(lambda found: b"%" + found[1] + _length(found[2]), format_)


def _length(said: bytes) -> bytes:
    return b"l" if said in (b"ll", b"z", b"j", b"t") else said
