"""The child process that joins modules: a JoinRequest on stdin, a JoinAnswer on stdout.

`python -m packager.lowering.joining.worker`, started by lower.child alone, as LLVM may end it at
any point. It loads little besides llvmlite: a link of a small program is mostly its start.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from llvmlite import binding as llvm

from packager.errors import MissingToolError, PackagerError, UsageError
from packager.files.temporary import store
from packager.lowering.child import READING
from packager.lowering.joining import machines, twins
from packager.lowering.joining.kept import (
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
from packager.lowering.joining.request import JoinAnswer, JoinRequest, Part
from packager.lowering.modules import FaultError, drop_unused, link, parse, retarget
from packager.lowering.targets.families import family_of
from packager.lowering.targets.family import Family

_MULTIPLE = re.compile(r"Linking globals named '(.*)': symbol multiply defined")
_SETTING = re.compile(r"__omp_rtl_(?:debug_kind|assume_\w+)")
_MOST_NAMED = 6  # of names in a message
# LLVM's OpenMP optimisations then call only what is there.
_IS_LINKED = '!llvm.module.flags = !{!0}\n!0 = !{i32 1, !"LTOPostLink", i32 1}\n'
_VECTORISE_FROM = 2  # clang runs the SLP vectoriser from -O2
_OTHER_POINTERS = re.compile(r"-p(?:0)?:(?!64)")  # of no device here


@dataclass
class _Names:
    """What a module says of names that others can use."""

    defined: dict[str, llvm.Linkage]
    declared: list[str]
    kept: set[str]  # definitions that a host or a runtime may look for


@dataclass
class _Program:
    """What has been joined so far, and who had it."""

    module: llvm.ModuleRef
    definers: dict[str, str] = field(default_factory=dict)
    users: dict[str, list[str]] = field(default_factory=dict)
    kept: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    libraries: list[str] = field(default_factory=list)

    def add(self, names: _Names, name: str) -> None:
        """Note what the module of that name brings."""
        for symbol in names.defined:
            self.definers.setdefault(symbol, name)
        for symbol in names.declared:
            self.users.setdefault(symbol, []).append(name)
        self.kept |= names.kept


def main() -> None:
    """Answer the one request."""
    request = JoinRequest.from_json(sys.stdin.read())
    try:
        answer = _join(request)
    except FaultError as fault:
        answer = JoinAnswer(fault=str(fault))
    except PackagerError as error:
        is_missing = isinstance(error, MissingToolError)
        answer = JoinAnswer(fault=str(error), is_missing=is_missing)
    print(answer.to_json())


def _join(request: JoinRequest) -> JoinAnswer:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    family = family_of(request.triple)
    if family.is_text:  # as clang has it done when it compiles for NVIDIA's GPUs
        llvm.set_option("", "--nvptx-lower-global-ctor-dtor")
    machine = machines.plain(request, family)
    program = _joined(request.modules, family, machine)
    _link_libraries(program, request, family)
    _link_settings(program, family)
    machine = machines.suited(machine, program.module, request, family)
    retarget(program.module, machine)
    _shrink(program, request, family, machine)
    _check_resolved(program, request, family)
    store(Path(request.output), [_emitted(program.module, machine, request, family)])
    visible = (v.name for v in definitions(program.module) if not is_local(v))
    return JoinAnswer(
        exports=tuple(name for name in visible if not name.startswith("llvm.")),
        notes=tuple(program.notes),
        libraries=tuple(program.libraries),
    )


def _joined(parts: Sequence[Part], family: Family, machine: llvm.TargetMachine) -> _Program:
    if not parts:
        raise UsageError(f"no module for {family.triple} is given")
    modules = ((part, _read(part, family)) for part in parts)
    first, module = next(modules)
    retarget(module, machine)
    program = _Program(module)
    program.add(_names(module), first.name)
    for part, module in modules:
        names = _names(module)
        program.notes += twins.differing(program.module, module, names.kept, program.definers, part)
        try:
            link(program.module, module)
        except FaultError as fault:
            raise _of_both(fault, program, part) from fault
        program.add(names, part.name)
    return program


def _read(part: Part, family: Family) -> llvm.ModuleRef:
    _say(part.name)
    try:
        module = parse(Path(part.path).read_bytes())
    except FaultError as fault:
        place = f":{fault.line}:{fault.column}" if fault.line else ""
        raise FaultError(f"{part.name}{place}: {fault}") from fault
    triple = str(module.triple)
    if triple and not family.is_of(triple):
        raise FaultError(f"{part.name}: its device code is for {triple}, not for {family.triple}")
    layout = str(module.data_layout)
    if layout.startswith("E") or _OTHER_POINTERS.search(layout):
        raise FaultError(f"{part.name}: its data layout {layout!r} is not one of {family.triple}")
    return module


def _names(module: llvm.ModuleRef) -> _Names:
    own = [value for value in definitions(module) if not is_local(value)]
    return _Names(
        {value.name: value.linkage for value in own},
        [value.name for value in declarations(module)],
        {value.name for value in own if is_for_others(value)},
    )


def _of_both(fault: FaultError, program: _Program, part: Part) -> FaultError:
    found = _MULTIPLE.search(str(fault))
    if not found:
        return FaultError(f"{part.name}: {fault}")
    both = f"{program.definers.get(found[1], 'another file')} and {part.name}"
    return FaultError(f"{both} both define {found[1]} for the device")


def _link_libraries(program: _Program, request: JoinRequest, family: Family) -> None:
    """Link those that define what is undefined, until no more do, as a linker takes archives."""
    pending: dict[Part, llvm.ModuleRef | None] = dict.fromkeys(request.libraries)
    found = True
    while found:
        found = False
        for part in list(pending):
            undefined = _undefined(program.module, family)
            if not undefined:
                return
            module = pending[part] = pending[part] or _read(part, family)
            names = _names(module)
            wanted = [value for value in undefined if value.name in names.defined]
            if wanted:
                _check_signatures(wanted, module, program, part)
                del pending[part]
                forget_used(module)
                link(program.module, module)
                names.kept = {name for name in names.kept if is_for_runtime(name)}
                program.add(names, part.name)
                program.libraries.append(part.name)
                found = True


def _undefined(module: llvm.ModuleRef, family: Family) -> list[llvm.ValueRef]:
    return [
        value
        for value in declarations(module)
        if value.linkage != llvm.Linkage.external_weak and not family.provides(value.name)
    ]


def _link_settings(program: _Program, family: Family) -> None:
    """What clang says of its flags to its library, where -nogpulib kept it from that: nothing set.

    LLVM 17's library and later ones have these values themselves.
    """
    unset = [v.name for v in _undefined(program.module, family) if _SETTING.fullmatch(v.name)]
    lines = (f"@{name} = weak_odr hidden constant i32 0\n" for name in unset)
    if unset:
        link(program.module, llvm.parse_assembly("".join(lines)))


def _check_signatures(
    wanted: Sequence[llvm.ValueRef], library: llvm.ModuleRef, program: _Program, part: Part
) -> None:
    """LLVM makes nonsense of a call with other parameters, without a word."""
    for value in wanted:
        if not value.is_function:
            continue
        known = library.get_function(value.name).global_value_type
        if str(known) != str(value.global_value_type):
            raise FaultError(
                f"{', '.join(program.users[value.name])}: calls {value.name} as "
                f"{value.global_value_type}, and {part.name} has it as {known}: they are not of "
                "one release of the compiler"
            )


def _shrink(
    program: _Program, request: JoinRequest, family: Family, machine: llvm.TargetMachine
) -> None:
    """Optimise, with nothing visible but what others look for, and drop all else."""
    module = program.module
    kept = {*program.kept, *request.kept, *used(module)}
    shares = family.linker == "shared"
    needed = {v.name for v in definitions(module) if is_for_optimisations(v.name)}
    internalise(module, kept | needed, shares=shares)
    drop_unused(module, machine)
    _say("the joined device code")
    if needed:
        link(module, llvm.parse_assembly(_IS_LINKED))
    _optimise(module, machine, family, request)
    internalise(module, kept, shares=shares)
    drop_unused(module, machine)


def _optimise(
    module: llvm.ModuleRef, machine: llvm.TargetMachine, family: Family, request: JoinRequest
) -> None:
    options = llvm.create_pipeline_tuning_options(speed_level=request.level)
    is_bitcode = request.emit == "bc"  # becomes vectors when its processor is known
    vectorises = family.vectorises and not is_bitcode
    options.slp_vectorization = vectorises and request.level >= _VECTORISE_FROM
    options.loop_vectorization = vectorises and request.level >= _VECTORISE_FROM
    options.loop_unrolling = not is_bitcode
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)


def _check_resolved(program: _Program, request: JoinRequest, family: Family) -> None:
    if family.linker == "shared":  # the process that loads it has what is left, such as libomp's
        return
    missing = [value.name for value in _undefined(program.module, family)]
    for start, why in request.absent:
        of_it = [name for name in missing if name.startswith(start)]
        if of_it:
            raise MissingToolError(f"{_calls(program, of_it)}: {why}")
    if missing:
        raise UsageError(
            f"{_calls(program, missing)}, which nothing defines for {family.triple}; a library "
            "that does can be given by --device-lib"
        )


def _calls(program: _Program, names: Sequence[str]) -> str:
    users = dict.fromkeys(user for name in names for user in program.users.get(name, ()))
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    who = ", ".join(users) or "what LLVM made of it"
    return f"{who}: uses {', '.join(names[:_MOST_NAMED])}{more}"


def _emitted(
    module: llvm.ModuleRef, machine: llvm.TargetMachine, request: JoinRequest, family: Family
) -> bytes:
    if request.emit == "bc":
        module.triple = family.triple
        return bytes(module.as_bitcode())
    if request.emit == "asm" or family.is_text:
        return str(machine.emit_assembly(module)).encode()
    return bytes(machine.emit_object(module))


def _say(what: str) -> None:
    """For lower.child to name, if LLVM dies of it."""
    print(f"{READING}{what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
