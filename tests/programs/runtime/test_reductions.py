# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every reduction of the device library, on the CPU device and OpenCL's, lowered for every GPU."""

from __future__ import annotations

import ctypes
import functools
import operator
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import opencl
import pytest
from lowered import NVPTX, X86_64, attempt
from plugin_launcher import Launcher

INTEGERS: dict[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "mul": operator.mul,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "min": min,
    "max": max,
    "umin": lambda a, b: min(a, b, key=lambda x: x % 2**64),
    "umax": lambda a, b: max(a, b, key=lambda x: x % 2**64),
}
NUMBERS = ("add", "mul", "min", "max")
TYPES: dict[str, tuple[str, Any]] = {
    "i32": ("i32", ctypes.c_int32),
    "i64": ("i64", ctypes.c_int64),
    "f32": ("float", ctypes.c_float),
    "f64": ("double", ctypes.c_double),
}
CASES = [(op, name) for name in TYPES for op in (INTEGERS if name[0] == "i" else NUMBERS)]
SHAPES = [(1, 1), (2, 3), (3, 32), (2, 100), (1, 1024)]

HEAD = """
declare i32 @omp_get_team_num()
declare i32 @omp_get_num_threads()
declare i32 @omp_get_thread_num()
define internal i64 @rank() {
  %team = call i32 @omp_get_team_num()
  %threads = call i32 @omp_get_num_threads()
  %thread = call i32 @omp_get_thread_num()
  %before = mul i32 %team, %threads
  %rank.32 = add i32 %before, %thread
  %rank = zext i32 %rank.32 to i64
  ret i64 %rank
}
"""
# Reduce twice: the second reduction must not disturb values of the first that some threads still
# read.
KERNEL = """
declare {type} @omptool_team_reduce_{op}_{name}({type})
declare void @omptool_league_reduce_{op}_{name}(ptr, {type})
define void @{op}_{name}(ptr %values, ptr %out, ptr %target) {{
  %rank = call i64 @rank()
  %mine = getelementptr {type}, ptr %values, i64 %rank
  %value = load {type}, ptr %mine
  %team = call {type} @omptool_team_reduce_{op}_{name}({type} %value)
  %at = getelementptr {type}, ptr %out, i64 %rank
  store {type} %team, ptr %at
  call void @omptool_league_reduce_{op}_{name}(ptr %target, {type} %value)
  ret void
}}
"""


def module() -> str:
    kernels = (KERNEL.format(op=op, name=name, type=TYPES[name][0]) for op, name in CASES)
    return HEAD + "".join(kernels)


def value(op: str, name: str, rank: int) -> float:
    """Return a thread's value, whose reduction is exact in each type."""
    if op == "mul":
        return (2 if rank % 50 == 7 else 1) * (-1 if rank % 3 == 0 else 1)
    number = (rank * 7919 + 13) % 211 - 100
    return number if name[0] == "i" else number / 4


def launched(tmp_path_factory: pytest.TempPathFactory, plugin: str, triple: str) -> Launcher:
    folder = tmp_path_factory.mktemp("reductions")
    result = attempt(folder, module(), triple=triple)
    assert result.exit_code == 0, result.output
    return Launcher(folder / "out", [f"{op}_{name}" for op, name in CASES], plugin)


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Launcher:
    return launched(tmp_path_factory, "host", X86_64)


@pytest.fixture(scope="module")
def opencl_device(tmp_path_factory: pytest.TempPathFactory) -> Launcher:
    with pytest.MonkeyPatch.context() as environment:
        for name, value in opencl.vendors(tmp_path_factory.mktemp("vendors")).items():
            environment.setenv(name, value)
        return launched(tmp_path_factory, "opencl", "spirv64")


@pytest.mark.offloads
@pytest.mark.parametrize(("op", "name"), CASES)
def test_a_reduction_of_teams_and_of_the_league(host: Launcher, op: str, name: str) -> None:
    check(host, op, name)


@pytest.mark.parametrize(("op", "name"), CASES)
def test_the_same_on_opencl(opencl_device: Launcher, op: str, name: str) -> None:
    check(opencl_device, op, name)


def check(launcher: Launcher, op: str, name: str) -> None:
    """Check several shapes of a launch against Python's results."""
    kind = TYPES[name][1]
    for teams, threads in SHAPES:
        count = teams * threads
        values = (kind * count)(*[kind(value(op, name, rank)).value for rank in range(count)])
        out, target = (kind * count)(), (kind * 1)(value(op, name, 5))
        first = target[0]
        launcher.run(f"{op}_{name}", teams, threads, values, out, target)
        combine: Callable[[Any, Any], Any] = INTEGERS[op]
        expected = []
        for team in range(teams):
            whole = functools.reduce(combine, values[team * threads : (team + 1) * threads])
            expected += [kind(whole).value] * threads
        assert list(out) == expected, (teams, threads)
        assert target[0] == kind(functools.reduce(combine, values, first)).value, (teams, threads)


@pytest.mark.parametrize("triple", [X86_64, NVPTX, "amdgcn", "spirv64"])
def test_all_of_them_are_lowered(tmp_path: Path, triple: str) -> None:
    result = attempt(tmp_path, module(), triple=triple)
    assert result.exit_code == 0, result.output
    if triple == "spirv64":
        command = ["spirv-val", "--target-env", "spv1.2", str(tmp_path / "out")]
        subprocess.run(command, check=True)
