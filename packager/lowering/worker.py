# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The child process in which LLVM runs: a Request on stdin, an Answer on stdout.

LLVM may end this process at any point; only lower.child starts it, with limits. Whatever LLVM
itself prints goes to stderr.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from llvmlite import binding as llvm

from packager.errors import PackagerError, UsageError
from packager.files.temporary import store
from packager.lowering.entry_choice import choose_entries, internalise, recorded_entries
from packager.lowering.entry_table import Entry, table_text
from packager.lowering.library.device_library import EXPORTED
from packager.lowering.modules import FaultError, drop_unused, link, parse, parsed, retarget, verify
from packager.lowering.pipeline import Output, emitted, initialise, optimise, target_machine
from packager.lowering.request import Answer, Request
from packager.lowering.rewriting import atomics, ir_text
from packager.lowering.rewriting.parameters import with_wide_parameters
from packager.lowering.rewriting.plain_pointers import with_spaces
from packager.lowering.rewriting.printing import with_constant_formats
from packager.lowering.rewriting.spaces import Spaces
from packager.lowering.rewriting.team_variables import (
    TeamVariable,
    is_team_variable,
    on_cpu,
    on_gpu,
    team_kernels_text,
    team_variables,
)
from packager.lowering.targets import Family, family_of
from packager.records import NamedTuple

_LIBDEVICE = "@__nv_"
_MADE_OF = {"__printf_alloc": "printf"}  # functions that LLVM adds for amdgcn
_BARRIER = "@omptool_team_barrier"


def main() -> None:
    """Answer the one request."""
    request = Request.from_json(sys.stdin.read())
    try:
        answer = _lower(request)
    except FaultError as fault:
        answer = Answer(fault=str(fault), line=fault.line, column=fault.column)
    except PackagerError as error:
        answer = Answer(fault=str(error))
    print(answer.to_json())


def _lower(request: Request) -> Answer:
    initialise()
    family = family_of(request.triple)
    module = parse(Path(request.source).read_bytes())
    source_triple = str(module.triple)
    is_native = bool(source_triple) and family.is_of(source_triple)
    machine = _machine(request, family)
    retarget(module, machine)
    entries = choose_entries(module, request.entries, family, machine.target_data)
    working = _working_together(module)
    if family.renamed:
        named = ir_text.with_functions_for(str(module), dict(family.renamed))
        module = parsed(lambda: llvm.parse_assembly(named))
    # Clang's code for a CPU calls libomp, which the process has loaded.
    is_clangs = family.spaces is None and bool(recorded_entries(module))
    if not is_clangs:
        _link_library(module, family, request.device_lib)
    internalise(module, entries, keep_records=request.emit == "bc")
    drop_unused(module, machine)  # most of libdevice: what follows goes through all that is there
    if family.has_table and request.emit != "bc":  # bitcode gets its table when it is lowered
        link(module, llvm.parse_assembly(table_text(entries)))
    if flags := family.flags(request.cpu or family.default_cpu):
        link(module, llvm.parse_assembly(flags))
    is_foreign = bool(source_triple) and not is_native
    keep_attributes = not (is_foreign or request.cpu or request.features)
    module = _rewritten(
        module,
        entries,
        family,
        Source(keep_attributes, is_native, working),
        machine.target_data,
    )
    output = Output(family.triple, request.emit, request.level, family.is_text, family.vectorises)
    optimise(module, machine, output)
    drop_unused(module, machine)  # without optimisation, what was inlined stays
    if family.linker != "shared":  # a linker would report undefined names
        _check_resolved(module, family)
    store(Path(request.output), [emitted(module, machine, output)])
    exported = [v.name for v in module.global_variables if v.name.startswith(EXPORTED)]
    names = tuple(entry.name for entry in entries)
    return Answer(
        exports=names + tuple(sorted(exported)),
        source_triple=source_triple,
        calls_process=is_clangs,
    )


def _machine(request: Request, family: Family) -> llvm.TargetMachine:
    cpu, features = request.cpu or family.default_cpu, request.features
    if cpu == "native":
        if platform.machine() != family.arch:
            raise UsageError(
                f"--cpu native is this machine's processor, which is not {family.arch}"
            )
        cpu = llvm.get_host_cpu_name()
        features = ",".join(filter(None, [llvm.get_host_cpu_features().flatten(), features]))
    triple = family.llvm_triple or family.triple
    return target_machine(triple, cpu, features, request.level)


def _link_library(module: llvm.ModuleRef, family: Family, device_lib: str) -> None:
    declared = {function.name: function for function in module.functions if function.is_declaration}
    wanted = declared.keys() & family.library.functions
    if wanted:
        library = llvm.parse_assembly(family.library.text(wanted))
        for function in library.functions:
            if function.name in wanted:
                _check_signature(declared[function.name], function)
        link(module, library)
    missing = [name for name in ir_text.declared(str(module)) if name.startswith(_LIBDEVICE)]
    if missing and not device_lib:
        names = ", ".join(name.removeprefix(_LIBDEVICE) for name in missing)
        raise UsageError(
            f"it calls functions of NVIDIA's libdevice.10.bc, which is not on this machine: "
            f"{names}; give the file with --device-lib"
        )
    if device_lib and _lacks_definitions(module, family):
        link(module, parse(Path(device_lib).read_bytes()))


def _lacks_definitions(module: llvm.ModuleRef, family: Family) -> bool:
    declared = (v.name for v in (*module.global_variables, *module.functions) if v.is_declaration)
    return any(not name.startswith("llvm.") and not family.provides(name) for name in declared)


def _check_signature(used: llvm.ValueRef, known: llvm.ValueRef) -> None:
    if str(used.global_value_type) != str(known.global_value_type):
        raise UsageError(
            f"{used.name} is declared as {used.global_value_type}, and the device library defines "
            f"it as {known.global_value_type}"
        )


def _working_together(module: llvm.ModuleRef) -> frozenset[str]:
    """Return the functions that all threads of a team must call together, as LLVM prints them."""
    text = str(module)
    own = {ir_text.symbol(v.name) for v in module.global_variables if is_team_variable(v)}
    called = {name for name in ir_text.declared(text) if name.startswith("@omptool_")}
    return frozenset(ir_text.reaching(text, own | called))


class Source(NamedTuple):
    """The facts of the module as it came."""

    keep_attributes: bool  # keep processors and features of functions
    is_native: bool  # pointers are the target's already
    working_together: frozenset[str]  # functions that a team's threads run together


def _rewritten(
    module: llvm.ModuleRef,
    entries: tuple[Entry, ...],
    family: Family,
    source: Source,
    data: llvm.TargetData,
) -> llvm.ModuleRef:
    """Return the module with kernels in table order and memory in the target's form."""
    kernels = [entry.name for entry in entries if entry.is_kernel]
    text = ir_text.without_source_name(str(module))
    if not source.keep_attributes:
        text = ir_text.without_target_attributes(text)
    for kernel in kernels:
        unusual = ir_text.unusual_convention(text, kernel)
        if unusual:
            raise UsageError(f"{kernel} is defined as {unusual}, but a launch calls it as C does")
    text = ir_text.with_convention(text, kernels, "")
    variables = team_variables(module, data)
    if family.spaces:
        types = {f.name: _parameter_types(f) for f in module.functions if f.name in kernels}
        text = _for_gpu(text, types, family, family.spaces, source.is_native, variables)
    else:
        text, size = on_cpu(text, variables)
        together = [k for k in kernels if ir_text.symbol(k) in source.working_together]
        text += team_kernels_text(together, size) if together else ""
    text = ir_text.with_convention(text, kernels, family.kernel_convention)
    text = ir_text.in_order(text, kernels)
    rewritten = parsed(lambda: llvm.parse_assembly(text))
    verify(rewritten)  # the target's data layout may not suit the source's address spaces
    if family.spaces:
        together_now = ir_text.reaching(str(rewritten), {_BARRIER})
        for function in rewritten.functions:
            if ir_text.symbol(function.name) in together_now:
                function.add_function_attribute("convergent")
    return rewritten


def _parameter_types(function: llvm.ValueRef) -> list[str]:
    return [str(type_) for type_ in function.global_value_type.get_function_parameters()]


def _for_gpu(
    text: str,
    kernels: Mapping[str, Sequence[str]],
    family: Family,
    spaces: Spaces,
    is_native: bool,
    variables: Sequence[TeamVariable],
) -> str:
    text = atomics.with_scope(ir_text.without_host_attributes(text), spaces.scope)
    if spaces.generic:
        text = atomics.by_calls(atomics.by_comparing(text))
    if family.prints_constants:
        text = with_constant_formats(text)
    for kernel, types in kernels.items():
        text = with_wide_parameters(text, kernel, types, spaces.pointer_parameter)
    text = on_gpu(text, variables)
    return text if is_native else with_spaces(text, spaces)


def _check_resolved(module: llvm.ModuleRef, family: Family) -> None:
    missing = [name.lstrip("@") for name in ir_text.unresolved(str(module))]
    missing = [_MADE_OF.get(name, name) for name in missing if not family.provides(name)]
    if missing:
        raise UsageError(
            f"it calls functions that no {family.arch} image can have: {', '.join(missing)}"
        )
