"""The child process in which LLVM runs: a Request on stdin, an Answer on stdout.

`python -m packager.lowering.worker`. LLVM may end this process at any point; only lower.child
starts it, with limits. Whatever LLVM itself prints goes to stderr.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

from llvmlite import binding as llvm

from packager.errors import PackagerError, UsageError
from packager.files.temporary import store
from packager.lowering.rewriting import ir_text
from packager.lowering.library.device_library import SIGNATURE
from packager.lowering.entry_choice import choose_entries, internalise
from packager.lowering.entry_table import Entry, table_text
from packager.lowering.targets.families import family_of
from packager.lowering.targets.family import Family
from packager.lowering.request import Answer, Request
from packager.triples import normalise

_BITCODE_MAGICS = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b")
_PLACE = re.compile(r"<string>:(\d+):(\d+): error: (.*)")
_VECTORISE_FROM = 2  # clang runs the SLP vectoriser from -O2


class _FaultError(Exception):
    """The source is at fault, at a line and column or (0, 0)."""

    def __init__(self, what: str, line: int = 0, column: int = 0) -> None:
        super().__init__(what)
        self.answer = Answer(fault=what, line=line, column=column)


def main() -> None:
    """Answer the one request."""
    request = Request.from_json(sys.stdin.read())
    try:
        answer = _lower(request)
    except _FaultError as fault:
        answer = fault.answer
    except PackagerError as error:
        answer = Answer(fault=str(error))
    print(answer.to_json())


def _lower(request: Request) -> Answer:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    family = family_of(request.triple)
    module = _parse(Path(request.source).read_bytes())
    source_triple = str(module.triple)
    machine = _machine(request, family)
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    entries = choose_entries(module, request.entries, family, machine.target_data)
    _link_library(module, family)
    internalise(module, entries, family.library.exports)
    if family.has_table and request.emit != "bc":  # bitcode gets its table when it is lowered
        _link(module, table_text(entries))
    is_foreign = bool(source_triple) and normalise(source_triple).split("-")[0] != family.arch
    keep_attributes = not (is_foreign or request.cpu or request.features)
    module = _rewritten(module, entries, family, keep_attributes)
    _optimise(module, machine, request.level)
    if not family.is_linked:  # no linker will miss what is missing
        _check_resolved(module, family)
    store(Path(request.output), [_emitted(module, machine, request, family)])
    exported = {value.name for value in module.global_variables} & set(family.library.exports)
    names = tuple(entry.name for entry in entries)
    return Answer(exports=names + tuple(sorted(exported)), source_triple=source_triple)


def _parse(data: bytes) -> llvm.ModuleRef:
    if data.startswith(_BITCODE_MAGICS):
        module = _parsed(lambda: llvm.parse_bitcode(data))
    else:
        text = _decoded(data)
        module = _parsed(lambda: llvm.parse_assembly(text))
    _verify(module)
    return module


def _decoded(data: bytes) -> str:
    """IR text as LLVM can be given it. llvmlite would stop reading at a NUL without a word."""
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
    raise _FaultError(what, line, at - data.rfind(b"\n", 0, at))


def _parsed(parse: Callable[[], llvm.ModuleRef]) -> llvm.ModuleRef:
    try:
        return parse()
    except RuntimeError as error:  # llvmlite's class for LLVM's own messages
        text = str(error)
        found = _PLACE.search(text)
        if found:
            raise _FaultError(found[3], int(found[1]), int(found[2])) from error
        raise _FaultError(_one_line(text.partition("\n")[2] or text)) from error


def _verify(module: llvm.ModuleRef) -> None:
    try:
        module.verify()
    except RuntimeError as error:
        raise _FaultError(_one_line(str(error))) from error


def _one_line(text: str) -> str:
    """LLVM's first complaint: what is wrong, and the instruction that it prints below."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return ": ".join(lines[:2]) or "LLVM gives no reason"


def _machine(request: Request, family: Family) -> llvm.TargetMachine:
    return llvm.Target.from_triple(family.triple).create_target_machine(
        cpu=request.cpu or family.default_cpu,
        features=request.features,
        opt=request.level,
        reloc="pic",
        codemodel="small",
    )


def _link(module: llvm.ModuleRef, text: str) -> None:
    other = llvm.parse_assembly(text)
    other.triple = module.triple
    other.data_layout = module.data_layout
    try:
        module.link_in(other)
    except RuntimeError as error:
        raise _FaultError(_one_line(str(error))) from error


def _link_library(module: llvm.ModuleRef, family: Family) -> None:
    wanted = set()
    for function in module.functions:
        if function.is_declaration and function.name in family.library.functions:
            if str(function.global_value_type) != SIGNATURE:
                raise UsageError(
                    f"{function.name} is declared as {function.global_value_type}, and the "
                    f"device library has it as {SIGNATURE}"
                )
            wanted.add(function.name)
    if wanted:
        _link(module, family.library.text(wanted))


def _rewritten(
    module: llvm.ModuleRef, entries: tuple[Entry, ...], family: Family, keep_attributes: bool
) -> llvm.ModuleRef:
    """The module with its kernels in table order and under the family's calling convention."""
    kernels = [entry.name for entry in entries if entry.is_kernel]
    text = ir_text.without_source_name(str(module))
    if not keep_attributes:
        text = ir_text.without_target_attributes(text)
    for kernel in kernels:
        unusual = ir_text.unusual_convention(text, kernel)
        if unusual:
            raise UsageError(f"{kernel} is defined as {unusual}, and a launch calls it as C does")
        callers = [] if family.kernels_are_callable else [*ir_text.users(text, kernel)]
        if callers:
            raise UsageError(
                f"{kernel} is used by {callers[0].lstrip('@')}, and no {family.arch} code can call "
                "a kernel: name the kernels with --entry, or make it internal"
            )
    text = ir_text.with_convention(text, kernels, family.kernel_convention)
    rewritten = _parsed(lambda: llvm.parse_assembly(ir_text.in_order(text, kernels)))
    _verify(rewritten)  # the target's data layout may not suit the source's address spaces
    return rewritten


def _optimise(module: llvm.ModuleRef, machine: llvm.TargetMachine, level: int) -> None:
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    options.slp_vectorization = level >= _VECTORISE_FROM
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)


def _check_resolved(module: llvm.ModuleRef, family: Family) -> None:
    missing = [name.lstrip("@") for name in ir_text.unresolved(str(module))]
    missing = [name for name in missing if name not in family.provided]
    if missing:
        raise UsageError(f"it calls what no {family.arch} image can have: {', '.join(missing)}")


def _emitted(
    module: llvm.ModuleRef, machine: llvm.TargetMachine, request: Request, family: Family
) -> bytes:
    if request.emit == "bc":
        return bytes(module.as_bitcode())
    if request.emit == "asm" or not family.is_linked:
        return str(machine.emit_assembly(module)).encode()
    return bytes(machine.emit_object(module))


if __name__ == "__main__":
    main()
