# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LLVM IR for `omptool lower`, and the command on it."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner, Result

from omptool.cli import cli

X86_64 = "x86_64-pc-linux-gnu"
NVPTX = "nvptx64-nvidia-cuda"

# A team computes every num_teams-th element; `scale` and the table exist to be exported.
SAXPY = """
@factors = global [3 x i32] zeroinitializer
@scale = global double 1.0
define void @saxpy(ptr %y, ptr %x, i64 %bits, i64 %n) {
entry:
  %low = trunc i64 %bits to i32
  %a = bitcast i32 %low to float
  %team32 = call i32 @omp_get_team_num()
  %teams32 = call i32 @omp_get_num_teams()
  %team = zext i32 %team32 to i64
  %teams = zext i32 %teams32 to i64
  br label %test
test:
  %i = phi i64 [ %team, %entry ], [ %next, %body ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %body, label %done
body:
  %at.x = getelementptr float, ptr %x, i64 %i
  %at.y = getelementptr float, ptr %y, i64 %i
  %vx = load float, ptr %at.x
  %vy = load float, ptr %at.y
  %product = fmul float %a, %vx
  %sum = fadd float %product, %vy
  store float %sum, ptr %at.y
  %next = add i64 %i, %teams
  br label %test
done:
  ret void
}
define void @clear(ptr %y) {
  store float 0.0, ptr %y
  ret void
}
declare i32 @omp_get_team_num()
declare i32 @omp_get_num_teams()
"""

LIBRARY_FUNCTIONS = (
    "omp_get_team_num",
    "omp_get_num_teams",
    "omp_get_thread_num",
    "omp_get_num_threads",
    "omp_get_device_num",
    "omp_is_initial_device",
)


def asking(functions: tuple[str, ...] = LIBRARY_FUNCTIONS) -> str:
    """Return a kernel that stores the results of the device library's functions."""
    body = "".join(
        f"  %v{i} = call i32 @{name}()\n"
        f"  %p{i} = getelementptr i32, ptr %out, i64 {i}\n"
        f"  store i32 %v{i}, ptr %p{i}\n"
        for i, name in enumerate(functions)
    )
    declarations = "".join(f"declare i32 @{name}()\n" for name in functions)
    return f"define void @ask(ptr %out) {{\n{body}  ret void\n}}\n{declarations}"


def attempt(
    folder: Path, ir: str | bytes, *options: str, triple: str = X86_64, name: str = "in.ll"
) -> Result:
    source = folder / name
    source.write_bytes(ir.encode() if isinstance(ir, str) else ir)
    arguments = ["lower", str(source), "--triple", triple, "-o", str(folder / "out"), *options]
    return CliRunner().invoke(cli, arguments)


def summing(count: int) -> str:
    """Return the kernel of sources/many_arguments.c, with `count` parameters."""
    names = [f"%a{i}" for i in range(1, count)]
    parameters = "".join(f", i64 {name}" for name in names)
    sums = ["0", *(f"%s{i}" for i in range(1, count))]
    body = "".join(f"  {sums[i + 1]} = add i64 {sums[i]}, {name}\n" for i, name in enumerate(names))
    head = f"define void @sum(ptr %total{parameters}) {{\n"
    return f"{head}{body}  store i64 {sums[-1]}, ptr %total\n  ret void\n}}\n"
