# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Atomic operations: among the threads of the device, and as far as a target has them."""

from __future__ import annotations

import re

from packager.errors import UsageError

_ORDER = r"(?:unordered|monotonic|acquire|release|acq_rel|seq_cst)"
# Matches an atomic operation without a scope, up to its memory order.
_WITHOUT_SCOPE = re.compile(
    rf"^( *(?:%\S+ = )?(?:atomicrmw|cmpxchg|load atomic|store atomic|fence)\b"
    rf"(?:(?!syncscope\().)*?)( {_ORDER}(?: {_ORDER})?(?:,| *$).*)$",
    re.MULTILINE,
)
_READ_MODIFY_WRITE = re.compile(
    r"^  (%\S+) = atomicrmw (?:volatile )?(\w+) ptr (.+?), (float|double|half|i\d+|ptr) (.+?)"
    rf"(?: syncscope\(\"[^\"]*\"\))? {_ORDER}, align \d+.*$",
    re.MULTILINE,
)
_OWN = ("xchg", "add", "sub", "and", "or", "xor", "max", "min", "umax", "umin")
_COMPUTED = {
    "fadd": "  %new = fadd {type} %old, %value",
    "fsub": "  %new = fsub {type} %old, %value",
    "fmax": "  %new = call {type} @llvm.maxnum.{suffix}({type} %old, {type} %value)",
    "fmin": "  %new = call {type} @llvm.minnum.{suffix}({type} %old, {type} %value)",
    "nand": "  %both = and {type} %old, %value\n  %new = xor {type} %both, -1",
    "xchg": "  %new = select i1 true, {type} %value, {type} %value",
}
_DECLARED = {
    "fmax": "declare {type} @llvm.maxnum.{suffix}({type}, {type})\n",
    "fmin": "declare {type} @llvm.minnum.{suffix}({type}, {type})\n",
}
_BITS = {"float": "i32", "double": "i64", "i32": "i32", "i64": "i64"}
_LOOP = """
define internal {type} @.omptool.atomic.{op}.{type}(ptr %target, {type} %value) nounwind {{
begin:
  %seen = load atomic {bits}, ptr %target seq_cst, align {size}
  br label %again
again:
  %before = phi {bits} [ %seen, %begin ], [ %found, %again ]
  %old = bitcast {bits} %before to {type}
{computed}
  %after = bitcast {type} %new to {bits}
  %pair = cmpxchg ptr %target, {bits} %before, {bits} %after seq_cst seq_cst, align {size}
  %found = extractvalue {{ {bits}, i1 }} %pair, 0
  %is.stored = extractvalue {{ {bits}, i1 }} %pair, 1
  br i1 %is.stored, label %done, label %again
done:
  ret {type} %old
}}
"""

# Atomic loads and stores, which LLVM 22 compiles to plain ones for SPIR-V.
_LOAD = re.compile(
    r"^  (%\S+) = load atomic (?:volatile )?(float|double|i\d+|ptr), ptr (.+?)"
    rf"(?: syncscope\(\"[^\"]*\"\))? ({_ORDER}), align \d+.*$",
    re.MULTILINE,
)
_STORE = re.compile(
    r"^  store atomic (?:volatile )?(float|double|i\d+|ptr) (.+?), ptr (.+?)"
    rf"(?: syncscope\(\"[^\"]*\"\))? ({_ORDER}), align \d+.*$",
    re.MULTILINE,
)
# Mangled names of SPIR-V's atomic loads and stores in LLVM.
SPIRV_ATOMICS = r"_Z1[89]__spirv_Atomic(?:Load|Store)PU3AS4[il]ii[il]?"
_DEVICE = 1  # the scope
_SEMANTICS = {"acquire": 0x302, "release": 0x304, "acq_rel": 0x308, "seq_cst": 0x310}
_DECLARED_CALLS = {
    "Load": "declare spir_func {bits} @{callee}(ptr, i32, i32)\n",
    "Store": "declare spir_func void @{callee}(ptr, i32, i32, {bits})\n",
}


def with_scope(text: str, scope: str) -> str:
    """Return the module with `scope` on each atomic operation that names none."""
    return _WITHOUT_SCOPE.sub(rf'\1 syncscope("{scope}")\2', text)


def by_comparing(text: str) -> str:
    """Return the module with loops of cmpxchg for atomic operations that SPIR-V lacks.

    Raises UsageError for operations on values that are not of 32 or 64 bits.
    """
    loops: dict[tuple[str, str], str] = {}

    def call(found: re.Match[str]) -> str:
        name, op, target, type_, value = found.groups()
        bits = _BITS.get(type_)
        if not bits:
            raise UsageError(
                f"atomicrmw {op} of {type_}: this target has atomic operations of 32 and 64 bits"
            )
        if op in _OWN and type_ == bits:
            return found[0]
        if op not in _COMPUTED:
            raise UsageError(f"atomicrmw {op}: this target has no such operation")
        loops[op, type_] = _loop(op, type_, bits)
        callee = f"@.omptool.atomic.{op}.{type_}"
        return f"  {name} = call {type_} {callee}(ptr {target}, {type_} {value})"

    text = _READ_MODIFY_WRITE.sub(call, text)
    declared = {
        line
        for op, type_ in loops
        for line in [_DECLARED.get(op, "").format(type=type_, suffix=_suffix(type_))]
        if line and line.split("(")[0].rpartition("@")[2] + "(" not in text
    }
    return "".join([text, *sorted(declared), *loops.values()])


def by_calls(text: str) -> str:
    """Return the module with atomic loads and stores as calls of SPIR-V's functions.

    Raises UsageError for operations on values that are not of 32 or 64 bits.
    """
    declared: dict[str, str] = {}

    def operands(kind: str, type_: str, target: str, order: str) -> tuple[str, str, str]:
        bits = "i64" if type_ == "ptr" else _BITS.get(type_)
        if not bits:
            what = f"{kind.lower()} atomic of {type_}"
            raise UsageError(f"{what}: this target has atomic operations of 32 and 64 bits")
        letter = "i" if bits == "i32" else "l"
        name = {"Load": "_Z18__spirv_AtomicLoad", "Store": "_Z19__spirv_AtomicStore"}[kind]
        callee = name + "PU3AS4" + letter + ("ii" if kind == "Load" else "ii" + letter)
        declared[callee] = _DECLARED_CALLS[kind].format(bits=bits, callee=callee)
        first = f"ptr {target}, i32 {_DEVICE}, i32 {_SEMANTICS.get(order, 0)}"
        return callee, bits, first

    def load(found: re.Match[str]) -> str:
        name, type_, target, order = found.groups()
        callee, bits, first = operands("Load", type_, target, order)
        if type_ == bits:
            return f"  {name} = call spir_func {bits} @{callee}({first})"
        raw = f"%.omptool.raw.{name[1:].strip(chr(34))}"
        cast = "inttoptr" if type_ == "ptr" else "bitcast"
        return (
            f"  {raw} = call spir_func {bits} @{callee}({first})\n"
            f"  {name} = {cast} {bits} {raw} to {type_}"
        )

    stores = 0

    def store(found: re.Match[str]) -> str:
        nonlocal stores
        type_, value, target, order = found.groups()
        callee, bits, first = operands("Store", type_, target, order)
        if type_ == bits:
            return f"  call spir_func void @{callee}({first}, {bits} {value})"
        stores += 1
        raw = f"%.omptool.stored.{stores}"
        cast = "ptrtoint" if type_ == "ptr" else "bitcast"
        return (
            f"  {raw} = {cast} {type_} {value} to {bits}\n"
            f"  call spir_func void @{callee}({first}, {bits} {raw})"
        )

    text = _STORE.sub(store, _LOAD.sub(load, text))
    return "".join([text, "\n", *declared.values()]) if declared else text


def _suffix(type_: str) -> str:
    return "f64" if type_ == "double" else "f32"


def _loop(op: str, type_: str, bits: str) -> str:
    computed = _COMPUTED[op].format(type=type_, suffix=_suffix(type_))
    return _LOOP.format(type=type_, op=op, bits=bits, size=int(bits[1:]) // 8, computed=computed)
