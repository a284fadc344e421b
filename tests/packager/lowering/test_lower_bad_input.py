# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool lower` on bad input: one line, the documented exit code, no output left behind."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from lowered import NVPTX, SAXPY, X86_64, attempt

from omptool.cli import cli
from packager.lowering.child import Limits
from packager.lowering.lower import Target, lower
from packager.lowering.request import SourceError

KERNEL = "define void @k(ptr %p) {\n ret void\n}\n"


def refusal(folder: Path, ir: str | bytes, *options: str, triple: str = X86_64) -> str:
    """Return the one line that a failing `lower` prints."""
    return one_line(attempt(folder, ir, *options, triple=triple), folder / "out")


def one_line(result: Result, output: Path, code: int = 2) -> str:
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    assert not output.is_file()
    assert not [path for path in output.parent.iterdir() if path.name.startswith(f".{output.name}")]
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("Error: ")
    return lines[0]


@pytest.mark.parametrize(
    ("ir", "said"),
    [
        ("define void @f(", ":1:16: expected type"),
        (
            "\n\n  define void @f(ptr %p) {\n  %x = add i32 1, 2.0\n}",
            ":4:19: floating point constant",
        ),
        ("@x = global i32 0\n@x = global i32 1", ":2:1: redefinition of global '@x'"),
        (KERNEL + "\0", ":4:1: a NUL byte: this is neither LLVM IR text nor bitcode"),
        (KERNEL.encode() + b"; \xff", ":4:3: byte 0xff is not UTF-8"),
        ("", ": is empty"),
        ("; nothing\n", ": nothing in it is defined and externally visible"),
        (b"BC\xc0\xde", ": "),
        (
            "define void @f(i1 %c) {\nentry:\n %x = phi i32 [0,%entry]\n ret void\n}",
            ": PHINode should have one entry for each predecessor of its parent basic block!",
        ),
    ],
)
def test_what_does_not_parse_or_verify_is_shown_where_it_is(
    tmp_path: Path, ir: str, said: str
) -> None:
    assert f"in.ll{said}" in refusal(tmp_path, ir)


@pytest.mark.parametrize(
    ("signature", "said"),
    [
        ("i32 @k(ptr %p)", "k returns i32, and a kernel returns nothing"),
        ("void @k(ptr %p, float %x)", "parameter 2 of k is float"),
        ("void @k(i128 %x)", "parameter 1 of k is i128"),
        ("void @k(<4 x i32> %x)", "parameter 1 of k is <4 x i32>"),
        ("void @k({i32, i32} %x)", "parameter 1 of k is { i32, i32 }"),
        ("void @k(ptr byval(i64) %x)", "parameter 1 of k is ptr by value"),
        ("void @k(ptr %p, ...)", "k takes a variable number of arguments"),
        ("fastcc void @k(ptr %p)", "k is defined as fastcc, but a launch calls it as C does"),
    ],
)
@pytest.mark.parametrize("triple", [X86_64, NVPTX])
def test_kernels_that_a_launch_cannot_call(
    tmp_path: Path, signature: str, said: str, triple: str
) -> None:
    assert said in refusal(tmp_path, f"define {signature} {{\n unreachable\n}}", triple=triple)


@pytest.mark.parametrize(
    ("ir", "said"),
    [
        ("@t = thread_local global i32 0\n", "t is thread-local"),
        ("@t = global [0 x i32] zeroinitializer\n", "t has no size"),
        ('@"a b" = global i32 0\n', "'a b' is not a name that a x86_64 image can export"),
        ("@k2 = alias void (ptr), ptr @k\n", None),
    ],
)
def test_globals_that_cannot_be_entries(tmp_path: Path, ir: str, said: str) -> None:
    if said:
        assert said in refusal(tmp_path, ir + KERNEL)
        result = attempt(tmp_path, ir + KERNEL, "--entry", "k")
    else:
        result = attempt(tmp_path, ir + KERNEL)
    assert result.exit_code == 0, result.stderr


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["saxpi"], "--entry saxpi: nothing of that name is defined; did you mean saxpy?"),
        (["elsewhere"], "--entry elsewhere: nothing of that name is defined"),
        (["omp_get_team_num"], "--entry omp_get_team_num: it is declared, but not defined"),
        (["saxpy", "saxpy"], "--entry saxpy is given more than once"),
        ([""], "--entry : nothing of that name is defined"),
    ],
)
def test_entries_that_are_not_there(tmp_path: Path, names: list[str], said: str) -> None:
    options = [word for name in names for word in ("--entry", name)]
    assert said in refusal(tmp_path, SAXPY, *options)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--cpu", "i486dx"], "x86_64-pc-linux-gnu has no processor 'i486dx'"),
        (["--features", "+warp"], "x86_64-pc-linux-gnu has no feature '+warp'"),
        (["--features", "avx2"], "--features 'avx2' is not a list such as"),
        (
            ["--triple", "mips64"],
            "cannot lower for mips64-unknown-unknown: the targets are x86_64-pc-",
        ),
        (["--triple", "a b"], "'a b' is not a target triple"),
        (["--triple", NVPTX, "--cpu", "sm_1"], "nvptx64-nvidia-cuda has no processor 'sm_1'"),
        (["--triple", "amdgcn", "--cpu", "gfx1"], "amdgcn-amd-amdhsa has no processor 'gfx1'"),
        (["--triple", NVPTX, "--cpu", "native"], "this machine's processor, which is not nvptx64"),
        (["--triple", "spirv64", "--cpu", "x"], "spirv64-unknown-unknown has no processor 'x'"),
        (
            ["--triple", "nvptx64:sm_80", "--cpu", "sm_90"],
            "--triple names the processor sm_80, and --cpu sm_90: name one",
        ),
    ],
)
def test_requests_that_make_no_sense(tmp_path: Path, options: list[str], said: str) -> None:
    assert said in refusal(tmp_path, SAXPY, *options)


def test_what_nothing_defines_is_named(tmp_path: Path) -> None:
    ir = "define void @k(ptr %p) {\n call void @other()\n ret void\n}\ndeclare void @other()\n"
    said = "it calls functions that neither it nor libc or libm defines: other"
    assert said in refusal(tmp_path, ir)
    on_gpu = refusal(tmp_path, ir, triple=NVPTX)
    assert "it calls functions that no nvptx64 image can have: other" in on_gpu


def test_the_device_library_is_declared_right(tmp_path: Path) -> None:
    said = refusal(
        tmp_path,
        SAXPY.replace("declare i32 @omp_get_team_num()", "")
        .replace("call i32 @omp_get_team_num()", "call i64 @omp_get_team_num()")
        .replace("zext i32 %team32 to i64", "add i64 %team32, 0")
        + "declare i64 @omp_get_team_num()",
    )
    types = "is declared as i64 (), and the device library defines it as i32 ()"
    assert f"omp_get_team_num {types}" in said


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["lower", *map(str, arguments)])


def test_files_that_are_not_there_or_not_files(tmp_path: Path) -> None:
    source = tmp_path / "k.ll"
    source.write_text(KERNEL)
    out = tmp_path / "out"
    triple = ("--triple", X86_64, "-o")
    assert "No such file" in one_line(run(tmp_path / "none.ll", *triple, out), out)
    assert "is a directory" in one_line(run(tmp_path, *triple, out), out)
    folder = tmp_path / "folder"
    folder.mkdir()
    assert "it is a directory" in one_line(run(source, *triple, folder), folder)
    nowhere = tmp_path / "none" / "out"
    result = run(source, *triple, nowhere)
    assert result.exit_code == 2
    assert "No such file or directory" in result.stderr


def test_a_failure_leaves_the_old_output(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("precious")
    assert attempt(tmp_path, "define").exit_code == 2
    assert (tmp_path / "out").read_text() == "precious"


def test_llvm_dying_is_one_line(tmp_path: Path) -> None:
    ir = (
        "define void @k(ptr %p) {\n call void @llvm.x86.sse2.pause()\n ret void\n}\n"
        "declare void @llvm.x86.sse2.pause()\n"
    )
    said = refusal(tmp_path, ir, triple=NVPTX)
    assert "LLVM died of SIGABRT on this input: Cannot select: intrinsic" in said


def endless_source(folder: Path) -> Path:
    """Write straight-line code that takes LLVM many seconds."""
    lines = [f" %v{i} = mul i64 %v{i - 1}, %v{i // 2}" for i in range(1, 60_000)]
    body = "\n".join([" %v0 = load i64, ptr %p", *lines, " store i64 %v59999, ptr %p"])
    source = folder / "long.ll"
    source.write_text(f"define void @k(ptr %p) {{\n{body}\n ret void\n}}\n")
    return source


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (Limits(cpu_seconds=1), "LLVM took more than 1 s of processor time"),
        (Limits(wall_seconds=1), "LLVM took more than 1 s"),
    ],
)
def test_limits_end_what_would_not_end(tmp_path: Path, limits: Limits, said: str) -> None:
    source = endless_source(tmp_path)
    with pytest.raises(SourceError, match=re.escape(f"long.ll: {said}")):
        lower(source, tmp_path / "out", Target(X86_64, level=3), limits=limits)


def test_limits_end_what_would_take_all_memory(tmp_path: Path) -> None:
    source = tmp_path / "wide.ll"
    source.write_text("@zeros = constant [2000000000 x i8] zeroinitializer\n")
    with pytest.raises(SourceError, match=r"wide.ll: LLVM died of SIGABRT.*memory"):
        lower(source, tmp_path / "out", Target(X86_64), limits=Limits(memory=600 << 20))


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("name", ["in.ll", "in.bc"])
def test_flipped_and_cut_ir_is_refused_or_lowered(tmp_path: Path, name: str, seed: int) -> None:
    """Every input yields an image or one line."""
    chance = random.Random(seed)
    data = bytearray(SAXPY.encode())
    if name == "in.bc":
        attempt(tmp_path, SAXPY, "--emit", "bc")
        data = bytearray((tmp_path / "out").read_bytes())
        (tmp_path / "out").unlink()
    if seed % 3 == 0:
        del data[chance.randrange(4, len(data)) :]
    for _ in range(1 + seed % 4):
        data[chance.randrange(4, len(data))] ^= 1 << chance.randrange(8)
    result = attempt(tmp_path, bytes(data), name=name)
    if result.exit_code:
        one_line(result, tmp_path / "out")
    else:
        assert (tmp_path / "out").stat().st_size
