# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Place variables of each team, in the section `omptool.team`.

On a GPU they are in the memory of a work-group. On a CPU they are parts of a block that the plugin
allocates for each team (runtime/plugins/host/kernels/thread_state.h).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from llvmlite import binding as llvm

from packager.errors import UsageError
from packager.lowering.rewriting.ir_text import VARIABLE, symbol
from packager.lowering.rewriting.moved import Address, check_constants, with_moved
from packager.lowering.rewriting.spaces import TEAM
from packager.records import NamedTuple

SECTION = "omptool.team"
_MARK = f'section "{SECTION}"'
_MOST_ALIGNMENT = 128  # alignment of a team's block on a CPU
_VALUE = re.compile(r"(?:global|constant) .*?(zeroinitializer|undef|poison),")
_ALIGNMENT = re.compile(r", align (\d+)")

# Until a plugin stores its function, a kernel runs alone on the image's own block.
_BLOCK = """
@__omptool_team_memory = protected global ptr @.omptool.alone.team
@.omptool.alone.memory = internal global [{size} x i8] zeroinitializer, align 128
define internal ptr @.omptool.alone.team() {{
  ret ptr @.omptool.alone.memory
}}
define internal ptr @.omptool.team() alwaysinline nounwind {{
  %function = load ptr, ptr @__omptool_team_memory, align 8
  %memory = call ptr %function() nounwind willreturn memory(none)
  ret ptr %memory
}}
"""


class TeamVariable(NamedTuple):
    """One of them."""

    symbol: str  # LLVM's printed form
    type: str
    size: int  # bytes
    alignment: int


def is_team_variable(value: llvm.ValueRef) -> bool:
    """Return whether this global is one."""
    return not value.is_function and _MARK in str(value)


def team_variables(module: llvm.ModuleRef, data: llvm.TargetData) -> tuple[TeamVariable, ...]:
    """Return the module's team variables. Raises UsageError for one that no target supports."""
    return tuple(_variable(v, data) for v in module.global_variables if is_team_variable(v))


def _variable(value: llvm.ValueRef, data: llvm.TargetData) -> TeamVariable:
    text = str(value)
    if value.is_declaration:
        raise UsageError(f"team variable {value.name} is declared, but not defined")
    if not _VALUE.search(text):
        raise UsageError(
            f"team variable {value.name} has an initial value, which such memory cannot have"
        )
    type_ = value.global_value_type
    said = _ALIGNMENT.search(text)
    alignment = int(said[1]) if said else int(data.get_abi_alignment(type_))
    if alignment > _MOST_ALIGNMENT:
        raise UsageError(
            f"{value.name} is aligned to {alignment} bytes; a team's memory is aligned to at most "
            f"{_MOST_ALIGNMENT}"
        )
    return TeamVariable(symbol(value.name), str(type_), data.get_abi_size(type_), alignment)


def on_gpu(text: str, variables: Sequence[TeamVariable]) -> str:
    """Return the module with `variables` in the memory of a work-group."""
    named = {variable.symbol: variable for variable in variables}

    def definition(found: re.Match[str]) -> str:
        variable = named.get(found[1])
        if not variable:
            return found[0]
        what = f"addrspace({TEAM}) global {variable.type} poison, align {variable.alignment}"
        return f"{found[1]} = internal {what}"

    def address(name: str) -> Address:
        return lambda to: f"  {to} = addrspacecast ptr addrspace({TEAM}) {name} to ptr"

    check_constants(text, named)
    text = with_moved(text, {name: address(name) for name in named})
    return VARIABLE.sub(definition, text)


def on_cpu(text: str, variables: Sequence[TeamVariable]) -> tuple[str, int]:
    """Return the module with `variables` as parts of a block, and the size of the block."""
    places: dict[str, int] = {}
    size = 0
    for variable in sorted(variables, key=lambda one: -one.alignment):
        size = -(-size // variable.alignment) * variable.alignment
        places[variable.symbol] = size
        size += variable.size
    if not places:
        return text, 0

    def address(place: int) -> Address:
        return lambda to: (
            f"  {to}.block = call ptr @.omptool.team()\n"
            f"  {to} = getelementptr i8, ptr {to}.block, i64 {place}"
        )

    check_constants(text, places)
    text = with_moved(text, {name: address(place) for name, place in places.items()})
    text = VARIABLE.sub(lambda found: "" if found[1] in places else found[0], text)
    return text + _BLOCK.format(size=size), size


def team_kernels_text(kernels: Sequence[str], size: int) -> str:
    """Return a list of the kernels whose teams work together, for the plugin."""
    records = [f"{{ ptr, i64 }} {{ ptr {symbol(name)}, i64 {size} }}" for name in kernels]
    records.append("{ ptr, i64 } zeroinitializer")
    return (
        f"\n@__omptool_team_kernels = protected constant [{len(records)} x {{ ptr, i64 }}] "
        f"[{', '.join(records)}], align 8\n"
    )
