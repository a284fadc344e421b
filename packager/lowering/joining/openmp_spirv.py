# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Clang's OpenMP code for spirv64-intel, made fit for any OpenCL device: edits of a module's text.

SPIR-V has no calls by address, so everything is inlined into the kernels. Functions lose their
address space and calling convention first: clang mixes two conventions, and LLVM deletes a call
whose convention is not its function's.
"""

from __future__ import annotations

import re

from llvmlite import binding as llvm

from packager.lowering.modules import link, parsed
from packager.lowering.rewriting.ir_text import BODY, SYMBOL, with_convention
from packager.lowering.rewriting.parameters import with_wide_parameters
from packager.lowering.rewriting.plain_pointers import with_generic_pointers
from packager.lowering.rewriting.printing import with_constant_formats

# A kernel beside the program's, which the OpenCL plugin runs when it has loaded an image.
CONSTRUCTORS = "__omptool_constructors"
_GENERIC = 4
_LIST = re.compile(r"^@llvm\.global_(ctors|dtors) = .*\n", re.MULTILINE)
_LISTED = re.compile(rf"\{{ i32 (\d+), ptr ({SYMBOL}), ptr [^}}]*\}}")

_CONVENTION = re.compile(r"\bspir_func ")
_FUNCTIONS = re.compile(r" addrspace\(9\)")
_LAYOUT = re.compile(r'(?<=^target datalayout = ")[^"]*', re.MULTILINE)
_ATTRIBUTES = re.compile(r"^attributes #\d+ = .*$", re.MULTILINE)
_NOT_INLINED = re.compile(r" (?:noinline|optnone)(?= )")
# Promises about aliases, which LLVM 24 writes in a form that earlier releases refuse.
_SCOPES = re.compile(r", !(?:alias\.scope|noalias) !\d+")
_SCOPE_CALL = re.compile(
    r"^ *(?:tail )?call void @llvm\.experimental\.noalias\.scope\.decl\(.*\n", re.MULTILINE
)

# Without them LLVM does not optimise OpenMP's calls: LLVM 22 takes generic pointers for constants.
_FLAGS = re.compile(r'(?<=!")(?=openmp(?:-device)?")')

_REDUCTION = re.compile(
    r"@__kmpc_(?:nvptx_parallel_reduce_nowait_v2|nvptx_teams_reduce_nowait_v2|gpu_xteam_reduce_nowait)"
    r"\((.*)$",
    re.MULTILINE,
)
_FUNCTION = re.compile(rf"\bptr (?:\w+ )*({SYMBOL})")
_CALLED = re.compile(rf"\bcall [^@\n]*({SYMBOL})\(")
_DIRECT_CALL = re.compile(rf"^( *[^@\n]*\bcall [^@\n]*)({SYMBOL})\((.*)$", re.MULTILINE)
_PLAIN_ARGUMENT = re.compile(r"\bptr(?: [a-z]\w*(?:\(\d+\))?)* (%[-\w.$]+)")
_NAME = re.compile(rf"^define [^@\n]*({SYMBOL})\((.*)$", re.MULTILINE)
_PLAIN_PARAMETER = re.compile(r"\bptr(?! addrspace)")
_KERNEL = re.compile(r"^define [^@\n]*?\bspir_kernel ", re.MULTILINE)
_SAME_SPACE = re.compile(
    rf"addrspacecast ptr addrspace\({_GENERIC}\) (%\S+) to ptr addrspace\({_GENERIC}\)"
)

_ALLOCATED = re.compile(
    r"^  (%\S+) = (?:tail |notail )?call (?:[\w()]+ )*?ptr addrspace\(4\) @__kmpc_alloc_shared"
    r"\(i64 (?:noundef )?(\d+)\).*$",
    re.MULTILINE,
)
_FREED = re.compile(r"^  (?:tail |notail )?call void @__kmpc_free_shared\(.*\n", re.MULTILINE)
_ENTRY = re.compile(r"^define .*\n(?:[\w.$\"-]+:.*\n)?", re.MULTILINE)

_PRINTING = ".omptool.print."  # what printing.py makes stays as it is
_PRINTS = re.compile(r"^.*@(?:printf|puts)\(.*$", re.MULTILINE)
_CONSTANT_TEXT = re.compile(
    rf"ptr addrspace\(4\)((?: \w+)*) addrspacecast \(ptr addrspace\(1\) ({SYMBOL}) "
    r"to ptr addrspace\(4\)\)"
)
_INDIRECT = re.compile(
    r"^ *(?:%\S+ = )?(?:tail |musttail |notail )?call [^@\n]*? %[^ ,()]+\(", re.MULTILINE
)
# LLVM's extensions of SPIR-V, each with the operations that need it.
_EXTENSIONS = {
    "SPV_EXT_shader_atomic_float_add": re.compile(r"= atomicrmw (?:volatile )?f(?:add|sub) "),
    "SPV_EXT_shader_atomic_float_min_max": re.compile(r"= atomicrmw (?:volatile )?f(?:max|min) "),
}


def plain(module: llvm.ModuleRef) -> llvm.ModuleRef:
    """Return a module of clang's, or of the device library, in the form that can be joined."""
    text = _LAYOUT.sub(lambda found: found[0].replace("-P9", ""), str(module))
    text = _FUNCTIONS.sub("", _CONVENTION.sub("", text))
    text = _SCOPE_CALL.sub("", _SCOPES.sub("", text))
    text = _ATTRIBUTES.sub(lambda found: _NOT_INLINED.sub("", found[0]), text)
    text = _FLAGS.sub("was-", text)
    return parsed(lambda: llvm.parse_assembly(text))


def prepared(module: llvm.ModuleRef) -> llvm.ModuleRef:
    """Return a program that has been joined with the device library, ready to be inlined.

    Raises UsageError for a printf whose format is not a constant.
    """
    text = _with_generic_reductions(str(module))
    text = BODY.sub(lambda found: _with_locals(found[0]), text)
    text = with_constant_formats(_PRINTS.sub(_plain_texts, text))
    text = _LIST.sub(lambda found: _kernel(found[0]) if found[1] == "ctors" else "", text)
    made = _with_integer_parameters(parsed(lambda: llvm.parse_assembly(text)))
    for function in made.functions:
        is_inlined = not (_is_kernel(function) or function.name.startswith(_PRINTING))
        if is_inlined and not function.is_declaration:
            function.add_function_attribute("alwaysinline")
    return made


def _is_kernel(function: llvm.ValueRef) -> bool:
    """Return whether it is a kernel: outlined functions have names of the same beginning."""
    return bool(_KERNEL.search(str(function)))


def _with_integer_parameters(module: llvm.ModuleRef) -> llvm.ModuleRef:
    """Return the module with kernels that take addresses as integers.

    Intel's driver looks up the allocation of a pointer that it is given, and finds one that has
    been released and whose address was given out again.
    """
    text = str(module)
    kernels = [f for f in module.functions if not f.is_declaration and _is_kernel(f)]
    for kernel in kernels:
        types = [str(argument.type) for argument in kernel.arguments]
        text = with_wide_parameters(text, kernel.name, types, "i64")
    text = with_convention(text, [kernel.name for kernel in kernels], "spir_kernel")
    return parsed(lambda: llvm.parse_assembly(text))


def link_mathematics(module: llvm.ModuleRef, undefined: list[str]) -> None:
    """Link what the module calls of <math.h>: OpenCL has it under other names."""
    from packager.lowering.targets import MATHEMATICS

    wanted = MATHEMATICS.functions & set(undefined)
    if wanted:
        text = MATHEMATICS.text(wanted).replace("spir_func ", "")
        text = re.sub(r"\bptr\b", f"ptr addrspace({_GENERIC})", text)
        link(module, parsed(lambda: llvm.parse_assembly(text)))


def indirect_callers(module: llvm.ModuleRef) -> list[str]:
    """Return the names of functions that still call something by its address."""
    found = (body[0] for body in BODY.finditer(str(module)) if _INDIRECT.search(body[0]))
    names = (_NAME.match(text) for text in found)
    return [name[1].removeprefix("@").strip('"') for name in names if name]


def destroys(module: llvm.ModuleRef) -> bool:
    """Return whether variables of the module have destructors, which nothing runs."""
    found = (one[0] for one in _LIST.finditer(str(module)) if one[1] == "dtors")
    return any(_LISTED.search(text) for text in found)


def extensions(module: llvm.ModuleRef) -> list[str]:
    """Return the extensions of SPIR-V that the module's operations need."""
    text = str(module)
    return [name for name, operation in _EXTENSIONS.items() if operation.search(text)]


def _with_generic_reductions(text: str) -> str:
    """Return the module with reduction functions that take generic pointers.

    Clang gives them pointers to private memory. It means those of its callers, which are generic.
    """
    bodies = {head[1]: body[0] for body in BODY.finditer(text) if (head := _NAME.match(body[0]))}
    pending = [f[1] for call in _REDUCTION.finditer(text) for f in _FUNCTION.finditer(call[1])]
    found: set[str] = set()
    while pending:
        name = pending.pop()
        if name in found or name not in bodies or not _has_plain_pointers(bodies[name]):
            continue
        found.add(name)
        pending += [called[1] for called in _CALLED.finditer(bodies[name])]

    def generic(body: re.Match[str]) -> str:
        head = _NAME.match(body[0])
        if head is None or head[1] not in found:
            return _with_casts(body[0], found)
        return _SAME_SPACE.sub(
            rf"bitcast ptr addrspace({_GENERIC}) \1 to ptr addrspace({_GENERIC})",
            with_generic_pointers(body[0], _GENERIC),
        )

    return BODY.sub(generic, text)


def _with_casts(body: str, generic: set[str]) -> str:
    """Return the function with generic pointers in its calls of functions that take them."""
    count = 0

    def call(found: re.Match[str]) -> str:
        nonlocal count
        if found[2] not in generic:
            return found[0]
        lines = []

        def argument(pointer: re.Match[str]) -> str:
            nonlocal count
            count += 1
            name = f"%.omptool.generic.{count}"
            lines.append(
                f"  {name} = addrspacecast ptr {pointer[1]} to ptr addrspace({_GENERIC})\n"
            )
            return f"ptr addrspace({_GENERIC}) {name}"

        arguments = _PLAIN_ARGUMENT.sub(argument, found[3])
        return f"{''.join(lines)}{found[1]}{found[2]}({arguments}"

    return _DIRECT_CALL.sub(call, body)


def _has_plain_pointers(body: str) -> bool:
    head = _NAME.match(body)
    return head is not None and bool(_PLAIN_PARAMETER.search(head[2]))


def _with_locals(body: str) -> str:
    """Return the function with local variables for memory that only its thread uses.

    In a generic kernel one thread runs a team; in an SPMD kernel each thread gets its own.
    """
    made: list[str] = []

    def variable(found: re.Match[str]) -> str:
        name = f"%.omptool.shared.{len(made)}"
        made.append(f"  {name} = alloca [{found[2]} x i8], align 16\n")
        return f"  {found[1]} = addrspacecast ptr {name} to ptr addrspace({_GENERIC})"

    body = _ALLOCATED.sub(variable, body)
    if not made:
        return body
    entry = _ENTRY.match(body)
    at = entry.end() if entry else 0
    return body[:at] + "".join(made) + _FREED.sub("", body[at:])


def _plain_texts(found: re.Match[str]) -> str:
    """Return a call of printf whose constant texts are plain pointers, as in portable kernels."""
    line = found[0].replace("(ptr addrspace(4), ...)", "(ptr, ...)")
    return _CONSTANT_TEXT.sub(r"ptr\1 \2", line)


def _kernel(listed: str) -> str:
    """Return a kernel that calls the functions of a list, by priority."""
    found = [(int(one[1]), one[2]) for one in _LISTED.finditer(listed)]
    calls = "".join(f"  call void {function}()\n" for _, function in sorted(found, key=_priority))
    return f"define spir_kernel void @{CONSTRUCTORS}() {{\n{calls}  ret void\n}}\n" if calls else ""


def _priority(listed: tuple[int, str]) -> int:
    return listed[0]
