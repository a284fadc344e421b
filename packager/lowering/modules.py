# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Read, check, link and clean modules of LLVM IR by llvmlite."""

from __future__ import annotations

import re
from collections.abc import Callable

from llvmlite import binding as llvm

_BITCODE_MAGICS = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b")
_IDENT = re.compile(r"^!llvm\.ident = .*\n?", re.MULTILINE)
_PLACE = re.compile(r"<string>:(\d+):(\d+): error: (.*)")


class FaultError(Exception):
    """The source is at fault, at a line and column or (0, 0)."""

    def __init__(self, what: str, line: int = 0, column: int = 0) -> None:
        super().__init__(what)
        self.line = line
        self.column = column


def parse(data: bytes, *, is_trusted: bool = False) -> llvm.ModuleRef:
    """Parse a module in text or bitcode; verify it unless it is a compiler's own library."""
    if data.startswith(_BITCODE_MAGICS):
        module = parsed(lambda: llvm.parse_bitcode(data))
    else:
        text = _decoded(data)
        module = parsed(lambda: llvm.parse_assembly(text))
    if not is_trusted:
        verify(module)
    return module


def _decoded(data: bytes) -> str:
    """Decode IR text. Raises FaultError for a NUL, at which llvmlite would silently stop."""
    at = data.find(b"\0")
    what = "a NUL byte: this is neither LLVM IR text nor bitcode"
    if at < 0:
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            at, what = error.start, f"byte {data[error.start]:#04x} is not UTF-8"
        else:
            return text
    line = data.count(b"\n", 0, at) + 1
    raise FaultError(what, line, at - data.rfind(b"\n", 0, at))


def parsed(parse: Callable[[], llvm.ModuleRef]) -> llvm.ModuleRef:
    """Return the result of `parse`. LLVM's errors become FaultError."""
    try:
        return parse()
    except RuntimeError as error:  # llvmlite's class for LLVM's own messages
        text = str(error)
        found = _PLACE.search(text)
        if found:
            raise FaultError(found[3], int(found[1]), int(found[2])) from error
        raise FaultError(one_line(text.partition("\n")[2] or text)) from error


def verify(module: llvm.ModuleRef) -> None:
    """Verify a module. Raises FaultError if LLVM rejects it."""
    try:
        module.verify()
    except RuntimeError as error:
        raise FaultError(one_line(str(error))) from error


def one_line(text: str) -> str:
    """Return LLVM's first error on one line, with the instruction printed below it."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return ": ".join(lines[:2]) or "LLVM gives no reason"


def without_ident(module: llvm.ModuleRef) -> llvm.ModuleRef:
    """Return the module without the compilers' names, which code generators write to .comment."""
    text, count = _IDENT.subn("", str(module))
    return llvm.parse_assembly(text) if count else module


def retarget(module: llvm.ModuleRef, machine: llvm.TargetMachine) -> None:
    """Set the module's triple and data layout to those of `machine`."""
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)


def link(module: llvm.ModuleRef, other: llvm.ModuleRef) -> None:
    """Move the contents of `other` into `module`."""
    other.triple = module.triple
    other.data_layout = module.data_layout
    try:
        module.link_in(other)
    except RuntimeError as error:
        raise FaultError(one_line(str(error))) from error


def drop_unused(module: llvm.ModuleRef, machine: llvm.TargetMachine) -> None:
    """Remove unused internal definitions and declarations."""
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options())
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.add_strip_dead_prototype_pass()
    passes.run(module, builder)


def inline_always(module: llvm.ModuleRef, machine: llvm.TargetMachine) -> None:
    """Inline all always-inline functions, and remove functions without callers."""
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options())
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, builder)
