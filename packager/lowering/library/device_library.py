"""The functions that portable kernels may call, defined once per target family as LLVM IR.

OpenMP 5.2, sections 18.2 to 18.7: a kernel declares what it needs, such as
`declare i32 @omp_get_team_num()`, and gets the definition for its target. Only what a module
declares is linked into it, and becomes internal there.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field

# Every function of the library takes nothing and returns a number.
SIGNATURE = "i32 ()"


@dataclass(frozen=True)
class DeviceLibrary:
    """One family's definitions: function name to IR text, and what they all need beside them."""

    functions: Mapping[str, str]
    common: str = ""
    exports: tuple[str, ...] = field(default=())  # what `common` defines for the plugin to find

    def text(self, wanted: Set[str]) -> str:
        """A module that defines the functions of `wanted`, in the library's order."""
        chosen = [body for name, body in self.functions.items() if name in wanted]
        return "\n".join([self.common, *chosen]) if chosen else ""


# A plugin that runs x86_64 kernels stores a function here when it loads an image; the function
# returns the address of the calling thread's {team, teams, thread, threads, device}. Until then
# a kernel sees itself alone: team 0 of 1, thread 0 of 1. runtime/plugins/host/kernels/thread_state.h
# describes the same record.
THREAD_STATE = "__omptool_thread_state"
_FIELDS = (
    "omp_get_team_num",
    "omp_get_num_teams",
    "omp_get_thread_num",
    "omp_get_num_threads",
    "omp_get_device_num",
)
_THREAD_STATE_COMMON = f"""
@{THREAD_STATE} = protected global ptr @.omptool.alone
@.omptool.alone.state = private constant [5 x i32] [i32 0, i32 1, i32 0, i32 1, i32 0], align 4
define internal ptr @.omptool.alone() {{
  ret ptr @.omptool.alone.state
}}
"""
# memory(read): the record changes only between kernels, and a thread that moves at a barrier
# does so in a call that writes memory.
_THREAD_STATE_FIELD = """
define i32 @{name}() alwaysinline nounwind {{
  %function = load ptr, ptr @{pointer}, align 8
  %state = call ptr %function() nounwind willreturn memory(read)
  %field = getelementptr i32, ptr %state, i64 {index}
  %value = load i32, ptr %field, align 4
  ret i32 %value
}}
"""
_CONSTANT = "\ndefine i32 @{name}() alwaysinline nounwind {{\n  ret i32 {value}\n}}\n"
_NOT_THE_HOST = _CONSTANT.format(name="omp_is_initial_device", value=0)

X86_64 = DeviceLibrary(
    functions={
        **{
            name: _THREAD_STATE_FIELD.format(name=name, pointer=THREAD_STATE, index=index)
            for index, name in enumerate(_FIELDS)
        },
        "omp_is_initial_device": _NOT_THE_HOST,
    },
    common=_THREAD_STATE_COMMON,
    exports=(THREAD_STATE,),
)

_REGISTER = """
declare i32 @llvm.nvvm.read.ptx.sreg.{register}()
define i32 @{name}() alwaysinline nounwind {{
  %value = call i32 @llvm.nvvm.read.ptx.sreg.{register}()
  ret i32 %value
}}
"""
# A team is a block of a one-dimensional grid. No register holds a device's number.
NVPTX = DeviceLibrary(
    functions={
        **{
            name: _REGISTER.format(name=name, register=register)
            for name, register in {
                "omp_get_team_num": "ctaid.x",
                "omp_get_num_teams": "nctaid.x",
                "omp_get_thread_num": "tid.x",
                "omp_get_num_threads": "ntid.x",
            }.items()
        },
        "omp_is_initial_device": _NOT_THE_HOST,
    },
)
