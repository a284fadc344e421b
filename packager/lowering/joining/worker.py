# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The child process that joins modules: a JoinRequest on stdin, a JoinAnswer on stdout.

Started by lower.child alone, as LLVM may end it at any point. It loads little besides llvmlite: the
link of a small program is mostly its start.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path

from llvmlite import binding as llvm

from packager.lowering.joining import constructors, machines, openmp_spirv
from packager.lowering.joining.kept import (
    all_spmd,
    declarations,
    definitions,
    forget_used,
    internalise,
    is_for_optimisations,
    is_for_others,
    is_for_runtime,
    is_local,
    used,
)
from packager.lowering.joining.request import (
    Device,
    JoinAnswer,
    JoinRequest,
    Part,
    Undefined,
)
from packager.lowering.joining.upgrades import corrected
from packager.lowering.modules import (
    FaultError,
    drop_unused,
    inline_always,
    link,
    parse,
    retarget,
    verify,
    without_ident,
)
from packager.lowering.pipeline import Output, emitted, initialise, optimise
from packager.lowering.request import READING
from packager.same_kernel.modules import code
from packager.triples import code_of

_MULTIPLE = re.compile(r"Linking globals named '(.*)': symbol multiply defined")
_SETTING = re.compile(r"__omp_rtl_(?:debug_kind|assume_\w+)")
_OTHER_POINTERS = re.compile(r"-p(?:0)?:(?!64)")  # address spaces that no device here has
_MOST_ROUNDS = 6  # rounds of inlining, which resolve calls by address
# Marks the module as linked, so that LLVM's OpenMP optimisations call no missing functions.
_IS_LINKED = '!llvm.module.flags = !{!0}\n!0 = !{i32 1, !"LTOPostLink", i32 1}\n'


@dataclass
class _Names:
    """The names of a module that others can use."""

    defined: set[str]
    declared: list[str]
    kept: set[str]  # definitions that a host or a runtime may look for


@dataclass
class _Program:
    """The modules that have been joined so far, and the file of each."""

    module: llvm.ModuleRef
    definers: dict[str, str] = field(default_factory=dict)
    users: dict[str, list[str]] = field(default_factory=dict)
    kept: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    libraries: list[str] = field(default_factory=list)

    def add(self, names: _Names, name: str) -> None:
        """Record the definitions and uses of the module `name`."""
        for symbol in names.defined:
            self.definers.setdefault(symbol, name)
        for symbol in names.declared:
            self.users.setdefault(symbol, []).append(name)
        self.kept |= names.kept


def main() -> None:
    """Answer the one request."""
    initialise()
    text = sys.stdin.read()
    if not text:  # no module was joined
        return
    try:
        answer = _join(JoinRequest.from_json(text))
    except FaultError as fault:
        answer = JoinAnswer(fault=str(fault))
    except OSError as error:
        answer = JoinAnswer(fault=f"{error.filename}: {error.strerror}")
    print(answer.to_json())


def _join(request: JoinRequest) -> JoinAnswer:
    device = request.device
    if device.is_text:  # clang does so when it compiles for NVIDIA's GPUs
        llvm.set_option("", "--nvptx-lower-global-ctor-dtor")
    machine = machines.plain(device, request.level)
    program = _joined(request.modules, device, machine)
    machine = machines.suited(machine, program.module, device, request.level)
    _link_libraries(program, request.libraries, device)
    _link_settings(program)
    output = Output(device.triple, request.emit, request.level, device.is_text, device.vectorises)
    if device.is_openmp_spirv:
        by_address = _shrink_spirv(program, request, machine, output)
        if by_address:
            return JoinAnswer(by_address=by_address)
        machine = machines.plain(device, request.level)  # a machine that supports the extensions
    else:
        _shrink(program, request, machine, output)
    module = program.module
    undefined = tuple(  # computed before LLVM adds its own names
        Undefined(value.name, tuple(program.users.get(value.name, ())))
        for value in _undefined(module)
    )
    Path(request.output).write_bytes(emitted(module, machine, output))
    visible = (value.name for value in definitions(module) if not is_local(value))
    return JoinAnswer(
        exports=tuple(name for name in visible if not name.startswith("llvm.")),
        undefined=undefined,
        notes=tuple(program.notes),
        libraries=tuple(program.libraries),
    )


def _joined(parts: Sequence[Part], device: Device, machine: llvm.TargetMachine) -> _Program:
    modules = ((part, _read(part, device)) for part in parts)
    first, module = next(modules)
    retarget(module, machine)
    program = _Program(module)
    program.add(_names(module), first.name)
    for part, module in modules:
        names = _names(module)
        program.notes += _differing(program, module, names.kept, part)
        try:
            link(program.module, module)
        except FaultError as fault:
            raise _of_both(fault, program, part) from fault
        program.add(names, part.name)
    return program


def _read(part: Part, device: Device, *, is_trusted: bool = False) -> llvm.ModuleRef:
    newer = _newer(part)
    _say(f"{part.name}: {newer}" if newer else part.name)
    try:
        is_edited = device.is_openmp_spirv
        module = parse(Path(part.path).read_bytes(), is_trusted=is_trusted or is_edited)
        if is_edited:
            module = openmp_spirv.plain(module)
            verify(module)
    except FaultError as fault:
        place = f":{fault.line}:{fault.column}" if fault.line else ""
        why = f"{newer}; compile it with an older clang, or update llvmlite: " if newer else ""
        raise FaultError(f"{part.name}{place}: {why}{fault}") from fault
    triple = str(module.triple)
    if triple and not code_of(triple).startswith(code_of(device.triple)):
        raise FaultError(f"{part.name}: its device code is for {triple}, not for {device.triple}")
    layout = str(module.data_layout)
    if layout.startswith("E") or _OTHER_POINTERS.search(layout):
        raise FaultError(f"{part.name}: its data layout {layout!r} is not one of {device.triple}")
    return corrected(module)


def _newer(part: Part) -> str:
    """Return a sentence if a later LLVM than this one wrote the module; else ""."""
    own = llvm.llvm_version_info[0]
    if not part.release or int(part.release) <= own:
        return ""
    return f"LLVM {part.release} wrote its bitcode, and LLVM {own} of llvmlite reads it"


def _differing(
    program: _Program, module: llvm.ModuleRef, names: Set[str], part: Part
) -> Iterator[str]:
    """Yield a line for each function that two parts of the program define with different code.

    LLVM silently links the first one.
    """
    both = [f.name for f in module.functions if f.name in names and f.name in program.definers]
    if not both:
        return
    first, second = _local(program.module), _local(module)
    for name in both:
        theirs = code(name, {**first, name: program.module.get_function(name)})
        if theirs != code(name, {**second, name: module.get_function(name)}):
            definer = program.definers[name]
            yield (
                f"{definer} and {part.name} have different code for {name}: the link takes "
                f"that of {definer}"
            )


def _local(module: llvm.ModuleRef) -> dict[str, llvm.ValueRef]:
    return {f.name: f for f in module.functions if not f.is_declaration and is_local(f)}


def _names(module: llvm.ModuleRef) -> _Names:
    own = [value for value in definitions(module) if not is_local(value)]
    return _Names(
        {value.name for value in own},
        [value.name for value in declarations(module)],
        {value.name for value in own if is_for_others(value)},
    )


def _of_both(fault: FaultError, program: _Program, part: Part) -> FaultError:
    found = _MULTIPLE.search(str(fault))
    if not found:
        return FaultError(f"{part.name}: {fault}")
    both = f"{program.definers.get(found[1], 'another file')} and {part.name}"
    return FaultError(f"{both} both define {found[1]} for the device")


def _link_libraries(program: _Program, libraries: Sequence[Part], device: Device) -> None:
    """Link libraries that define undefined names until none does, like a linker with archives."""
    pending: dict[Part, llvm.ModuleRef | None] = dict.fromkeys(libraries)
    found = True
    while found:
        found = False
        for part in list(pending):
            undefined = [v for v in _undefined(program.module) if v.name.startswith(part.start)]
            if not undefined:
                continue
            module = pending[part] = pending[part] or _read_library(part, device)
            wanted = [(value, own) for value in undefined if (own := _definition(module, value))]
            if wanted:
                _check_signatures(wanted, program, part)
                del pending[part]
                _take(program, module, part)
                found = True


def _read_library(part: Part, device: Device) -> llvm.ModuleRef:
    """Return a library's module; for a CPU without its compiler's name.

    The runtime finds a CPU kernel's calling convention by the compilers that its image names
    (DECISIONS 35), and only the objects have kernels.
    """
    module = _read(part, device, is_trusted=part.is_own)
    return without_ident(module) if device.is_cpu else module


def _definition(library: llvm.ModuleRef, value: llvm.ValueRef) -> llvm.ValueRef | None:
    """Return the library's definition of the name that a program uses, or None."""
    try:
        get = library.get_function if value.is_function else library.get_global_variable
        found = get(value.name)
    except NameError:
        return None
    return None if found.is_declaration or is_local(found) else found


def _take(program: _Program, library: llvm.ModuleRef, part: Part) -> None:
    forget_used(library)
    program.kept |= {v.name for v in library.global_variables if is_for_runtime(v.name)}
    link(program.module, library)
    program.libraries.append(part.name)
    for value in _undefined(program.module):
        program.users.setdefault(value.name, [part.name])


def _undefined(module: llvm.ModuleRef) -> list[llvm.ValueRef]:
    return [v for v in declarations(module) if v.linkage != llvm.Linkage.external_weak]


def _check_signatures(
    wanted: Sequence[tuple[llvm.ValueRef, llvm.ValueRef]], program: _Program, part: Part
) -> None:
    """Check that each call has the callee's parameters: LLVM silently miscompiles others."""
    for value, own in wanted:
        used_as, known = str(value.global_value_type), str(own.global_value_type)
        if value.is_function and used_as != known:
            raise FaultError(
                f"{', '.join(program.users[value.name])} calls {value.name} as {used_as}, and "
                f"{part.name} has it as {known}: they come from two releases of the compiler"
            )


def _link_settings(program: _Program) -> None:
    """Link clang's flags for its library, unset, where -nogpulib kept clang from writing them.

    LLVM 17's library and later ones have these values themselves.
    """
    unset = [v.name for v in _undefined(program.module) if _SETTING.fullmatch(v.name)]
    lines = (f"@{name} = weak_odr hidden constant i32 0\n" for name in unset)
    if unset:
        link(program.module, llvm.parse_assembly("".join(lines)))


def _shrink(
    program: _Program, request: JoinRequest, machine: llvm.TargetMachine, output: Output
) -> None:
    """Optimise; keep only what other modules look up, and drop all else."""
    module, shares = program.module, request.device.is_cpu
    kept = {*program.kept, *request.kept, *used(module)}
    if request.keeps_all:
        kept |= {value.name for value in definitions(module)}
    needed: set[str] = set()
    if not all_spmd(module):
        needed = {v.name for v in definitions(module) if is_for_optimisations(v.name)}
    internalise(module, kept | needed, shares=shares)
    drop_unused(module, machine)
    _say("the joined device code")
    if needed:
        link(module, llvm.parse_assembly(_IS_LINKED))
    optimise(module, machine, output)
    internalise(module, kept, shares=shares)
    device = request.device
    if request.emit != "bc" and not (device.is_text or device.is_openmp_spirv):
        constructors.in_sections(module, is_cpu=request.device.is_cpu)
    drop_unused(module, machine)


def _shrink_spirv(
    program: _Program, request: JoinRequest, machine: llvm.TargetMachine, output: Output
) -> tuple[str, ...]:
    """Convert clang's code for SPIR-V; return the functions that still call by address."""
    openmp_spirv.link_mathematics(program.module, [v.name for v in _undefined(program.module)])
    if openmp_spirv.destroys(program.module):
        program.notes.append("destructors of device variables do not run on OpenCL devices")
    program.module = openmp_spirv.prepared(program.module)
    program.kept.add(openmp_spirv.CONSTRUCTORS)
    internalise(program.module, {*program.kept, *request.kept}, shares=False)
    # Inline before other optimisations, which turn a call by address into a choice of functions.
    for _ in range(_MOST_ROUNDS):
        inline_always(program.module, machine)
    _shrink(program, request, machine, output._replace(level=max(output.level, 1)))
    by_address = openmp_spirv.indirect_callers(program.module)
    if needed := openmp_spirv.extensions(program.module):
        llvm.set_option("spirv", f"--spirv-ext={','.join(f'+{name}' for name in needed)}")
    return tuple(by_address)


def _say(what: str) -> None:
    """Print the part being read, for lower.child to name if LLVM ends the process."""
    print(f"{READING}{what}", file=sys.stderr, flush=True)
