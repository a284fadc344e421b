# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The choice of definitions that become entries, if a launch can pass their arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches

from llvmlite import binding as llvm

from packager.errors import UsageError
from packager.lowering.entry_table import Entry
from packager.lowering.library.device_library import EXPORTED
from packager.lowering.rewriting.team_variables import is_team_variable
from packager.lowering.targets import Family

_VISIBLE = {
    llvm.Linkage.external,
    llvm.Linkage.weak_any,
    llvm.Linkage.weak_odr,
    llvm.Linkage.common,
}
_BY_VALUE = (b"byval", b"sret", b"inalloca", b"preallocated")
# Matches the record of an entry in clang's module for a CPU.
_RECORD = re.compile(r"\.(?:omp_)?offloading\.entry\.(.+)")
# Size of each argument that a launch passes: a pointer (DECISIONS 7).
ARGUMENT_BITS = 64


def choose_entries(
    module: llvm.ModuleRef, names: Sequence[str], family: Family, data: llvm.TargetData
) -> tuple[Entry, ...]:
    """Return the entries in table order: those of `names`, else in the order of the IR.

    Without `names`, they are clang's recorded entries and visible variables, else all visible
    definitions. Raises UsageError for an undefined name and for a kernel that cannot be launched.
    """
    defined = {value.name: value for value in _definitions(module)}
    if names:
        for name in names:
            _check_name(name, names, defined, module)
    elif recorded := recorded_entries(module):
        # Pointers to host variables have no record and are found by name.
        visible = (n for n, v in defined.items() if _is_visible(v) and not v.is_function)
        others = (n for n in visible if n not in recorded and not _RECORD.fullmatch(n))
        names = [*(name for name in recorded if name in defined), *others]
    else:
        names = [name for name, value in defined.items() if _is_visible(value)]
    if not names:
        raise UsageError("nothing in it is defined and externally visible, so there is no kernel")
    return tuple(_entry(defined[name], family, data) for name in names)


def recorded_entries(module: llvm.ModuleRef) -> list[str]:
    """Return the entries that clang lists in a module for a CPU; none for other compilers."""
    records = (_RECORD.fullmatch(value.name) for value in module.global_variables)
    return [record[1] for record in records if record]


def internalise(
    module: llvm.ModuleRef, entries: Sequence[Entry], *, keep_records: bool = False
) -> None:
    """Make all symbols internal, but `entries` and those that plugins look up protected."""
    public = {entry.name for entry in entries}
    for value in _definitions(module):
        if keep_records and _RECORD.fullmatch(value.name):
            continue
        if value.name in public or value.name.startswith(EXPORTED):
            # Change the linkage first: LLVM aborts on an internal definition without default
            # visibility.
            if value.linkage not in _VISIBLE or value.linkage == llvm.Linkage.common:
                value.linkage = llvm.Linkage.external
            value.visibility = llvm.Visibility.protected
        elif value.linkage != llvm.Linkage.private:
            value.linkage = llvm.Linkage.internal


def _definitions(module: llvm.ModuleRef) -> Iterator[llvm.ValueRef]:
    for value in (*module.global_variables, *module.functions):
        is_available = value.linkage == llvm.Linkage.available_externally
        if not (value.is_declaration or is_available or value.name.startswith("llvm.")):
            yield value


def _is_visible(value: llvm.ValueRef) -> bool:
    is_own = value.name.startswith(EXPORTED) or is_team_variable(value)
    hidden = value.visibility == llvm.Visibility.hidden
    return value.linkage in _VISIBLE and not hidden and not is_own


def _check_name(
    name: str, names: Sequence[str], defined: dict[str, llvm.ValueRef], module: llvm.ModuleRef
) -> None:
    if names.count(name) > 1:
        raise UsageError(f"--entry {name} is given more than once")
    if name in defined:
        return
    known = {value.name for value in (*module.global_variables, *module.functions)}
    if name in known:
        raise UsageError(f"--entry {name}: it is declared, but not defined")
    close = get_close_matches(name, defined, n=3)
    hint = f"; did you mean {' or '.join(close)}?" if close else ""
    raise UsageError(f"--entry {name}: nothing of that name is defined{hint}")


def _entry(value: llvm.ValueRef, family: Family, data: llvm.TargetData) -> Entry:
    if not family.names.fullmatch(value.name):
        raise UsageError(f"{value.name!r} is not a name that a {family.arch} image can export")
    if value.is_function:
        _check_kernel(value)
        return Entry(value.name, 0)
    if is_team_variable(value):
        raise UsageError(
            f"each team has its own {value.name}: without a single address it cannot be an entry"
        )
    if re.match(r".*? = [^{\[\"]*\bthread_local\b", str(value)):
        raise UsageError(
            f"{value.name} is thread-local: without a single address it cannot be an entry"
        )
    size = data.get_abi_size(value.global_value_type)
    if size == 0:
        raise UsageError(f"{value.name} has no size, so it cannot be an entry")
    space = re.search(r"addrspace\((\d+)\)", str(value.type))
    return Entry(value.name, size, int(space[1]) if space else 0)


def _check_kernel(function: llvm.ValueRef) -> None:
    name = function.name
    hint = "name the kernels with --entry if it is not one"
    signature = function.global_value_type
    result = signature.get_function_return()
    if result.type_kind != llvm.TypeKind.void:
        raise UsageError(f"{name} returns {result}, and a kernel returns nothing; {hint}")
    if signature.is_function_vararg:
        raise UsageError(f"{name} takes a variable number of arguments; {hint}")
    types = signature.get_function_parameters()
    for number, (type_, argument) in enumerate(zip(types, function.arguments, strict=True), 1):
        is_by_value = any(text.startswith(_BY_VALUE) for text in argument.attributes)
        if is_by_value or not _is_pointer_sized(type_):
            what = f"{type_} by value" if is_by_value else str(type_)
            raise UsageError(
                f"parameter {number} of {name} is {what}, and a launch passes pointers and "
                f"integers of at most {ARGUMENT_BITS} bits: pass its bits as i64; {hint}"
            )


def _is_pointer_sized(type_: llvm.TypeRef) -> bool:
    if type_.type_kind == llvm.TypeKind.integer:
        return bool(type_.type_width <= ARGUMENT_BITS)
    return bool(type_.type_kind == llvm.TypeKind.pointer)
