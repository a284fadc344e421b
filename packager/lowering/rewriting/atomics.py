"""Atomic operations: among the threads of the device, and as far as a target has them."""

from __future__ import annotations

import re

from packager.errors import UsageError

_ORDER = r"(?:unordered|monotonic|acquire|release|acq_rel|seq_cst)"
# An atomic operation without a scope, up to its order.
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


def with_scope(text: str, scope: str) -> str:
    """The module with `scope` on each atomic operation that names none."""
    return _WITHOUT_SCOPE.sub(rf'\1 syncscope("{scope}")\2', text)


def by_comparing(text: str) -> str:
    """The module with what SPIR-V has no atomic operation for as loops of cmpxchg.

    Raises UsageError for operations on values that are not of 32 or 64 bits.
    """
    loops: dict[tuple[str, str], str] = {}

    def call(found: re.Match[str]) -> str:
        name, op, target, type_, value = found.groups()
        bits = _BITS.get(type_)
        if not bits:
            raise UsageError(
                f"atomicrmw {op} of {type_}: it has atomic operations of 32 and 64 bits"
            )
        if op in _OWN and type_ == bits:
            return found[0]
        if op not in _COMPUTED:
            raise UsageError(f"atomicrmw {op}: it has no such operation")
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


def _suffix(type_: str) -> str:
    return "f64" if type_ == "double" else "f32"


def _loop(op: str, type_: str, bits: str) -> str:
    computed = _COMPUTED[op].format(type=type_, suffix=_suffix(type_))
    return _LOOP.format(type=type_, op=op, bits=bits, size=int(bits[1:]) // 8, computed=computed)
