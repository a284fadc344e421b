# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions over the threads of a team and over a league, of each operation and type.

    T @omptool_team_reduce_<op>_<type>(T value)
    void @omptool_league_reduce_<op>_<type>(ptr target, T value)

All threads of a team call them. The order in which a team's values are combined depends on the
number of its threads alone, so that sums of floating-point numbers are the same on each device.
"""

from __future__ import annotations

from collections.abc import Iterator

_INTEGERS = {
    "add": "add {type}",
    "mul": "mul {type}",
    "and": "and {type}",
    "or": "or {type}",
    "xor": "xor {type}",
    "min": "icmp slt",
    "max": "icmp sgt",
    "umin": "icmp ult",
    "umax": "icmp ugt",
}
_FLOATS = {"add": "fadd {type}", "mul": "fmul {type}", "min": "fcmp olt", "max": "fcmp ogt"}
_TYPES = {
    "i32": ("i32", _INTEGERS),
    "i64": ("i64", _INTEGERS),
    "f32": ("float", _FLOATS),
    "f64": ("double", _FLOATS),
}
_BITS = {"i32": "i32", "i64": "i64", "float": "i32", "double": "i64"}

# One value for each thread of the largest team.
_SCRATCH = (
    '@.omptool.values = internal global [1024 x i64] poison, section "omptool.team", align 8\n'
)

_COMPUTED = """
define internal {type} @.omptool.{op}.{name}({type} %a, {type} %b) alwaysinline nounwind {{
  %result = {instruction} %a, %b
  ret {type} %result
}}
"""
_CHOSEN = """
define internal {type} @.omptool.{op}.{name}({type} %a, {type} %b) alwaysinline nounwind {{
  %first = {instruction} {type} %a, %b
  %result = select i1 %first, {type} %a, {type} %b
  ret {type} %result
}}
"""

# Loads of other threads' values are volatile: Intel's OpenCL compiler moves plain loads across the
# barrier. Each of the first 32 threads combines every 32nd value, then every thread combines those
# 32.
_TEAM = """
define {type} @omptool_team_reduce_{op}_{name}({type} %value) nounwind {{
entry:
  %thread.32 = call i32 @omp_get_thread_num()
  %threads.32 = call i32 @omp_get_num_threads()
  %thread = zext i32 %thread.32 to i64
  %threads = zext i32 %threads.32 to i64
  %mine = getelementptr i64, ptr @.omptool.values, i64 %thread
  store {type} %value, ptr %mine, align 8
  call void @omptool_team_barrier()
  %is.first = icmp ult i64 %thread, 32
  br i1 %is.first, label %share, label %shared
share:
  %i = phi i64 [ %thread, %entry ], [ %i.next, %more ]
  %sum = phi {type} [ %value, %entry ], [ %sum.next, %more ]
  %i.next = add i64 %i, 32
  %is.more = icmp ult i64 %i.next, %threads
  br i1 %is.more, label %more, label %done
more:
  %other = getelementptr i64, ptr @.omptool.values, i64 %i.next
  %other.value = load volatile {type}, ptr %other, align 8
  %sum.next = call {type} @.omptool.{op}.{name}({type} %sum, {type} %other.value)
  br label %share
done:
  store {type} %sum, ptr %mine, align 8
  br label %shared
shared:
  call void @omptool_team_barrier()
  %few = icmp ult i64 %threads, 32
  %shares = select i1 %few, i64 %threads, i64 32
  %begin = load volatile {type}, ptr @.omptool.values, align 8
  br label %combine
combine:
  %j = phi i64 [ 0, %shared ], [ %j.next, %step ]
  %total = phi {type} [ %begin, %shared ], [ %total.next, %step ]
  %j.next = add i64 %j, 1
  %is.step = icmp ult i64 %j.next, %shares
  br i1 %is.step, label %step, label %combined
step:
  %share.at = getelementptr i64, ptr @.omptool.values, i64 %j.next
  %share.value = load volatile {type}, ptr %share.at, align 8
  %total.next = call {type} @.omptool.{op}.{name}({type} %total, {type} %share.value)
  br label %combine
combined:
  call void @omptool_team_barrier()
  ret {type} %total
}}
"""

_LEAGUE = """
define void @omptool_league_reduce_{op}_{name}(ptr %target, {type} %value) nounwind {{
entry:
  %total = call {type} @omptool_team_reduce_{op}_{name}({type} %value)
  %thread = call i32 @omp_get_thread_num()
  %is.first = icmp eq i32 %thread, 0
  br i1 %is.first, label %begin, label %done
begin:
  %seen = load atomic {bits}, ptr %target monotonic, align {size}
  br label %again
again:
  %before = phi {bits} [ %seen, %begin ], [ %found, %again ]
  %old = bitcast {bits} %before to {type}
  %new = call {type} @.omptool.{op}.{name}({type} %old, {type} %total)
  %after = bitcast {type} %new to {bits}
  %pair = cmpxchg ptr %target, {bits} %before, {bits} %after monotonic monotonic, align {size}
  %found = extractvalue {{ {bits}, i1 }} %pair, 0
  %is.stored = extractvalue {{ {bits}, i1 }} %pair, 1
  br i1 %is.stored, label %done, label %again
done:
  ret void
}}
"""


def reductions() -> str:
    """Return a module of all reductions."""
    return "".join(_functions())


def _functions() -> Iterator[str]:
    yield _SCRATCH
    for name, (type_, operations) in _TYPES.items():
        bits = _BITS[type_]
        for op, instruction in operations.items():
            fields = {
                "op": op,
                "name": name,
                "type": type_,
                "bits": bits,
                "size": int(bits[1:]) // 8,
                "instruction": instruction.format(type=type_),
            }
            yield (_CHOSEN if "cmp" in instruction else _COMPUTED).format(**fields)
            yield _TEAM.format(**fields)
            yield _LEAGUE.format(**fields)
