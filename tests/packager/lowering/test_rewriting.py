# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`lower` rewrites plain pointers, team variables and parameters, and refuses some modules."""

from __future__ import annotations

import ctypes
import itertools
import re
import subprocess
from pathlib import Path

import pytest
from llvmlite import binding as llvm
from lowered import NVPTX, X86_64, attempt

ALL = [X86_64, NVPTX, "amdgcn", "spirv64"]
GPUS = ALL[1:]
TILE = '@tile = internal global [8 x i32] zeroinitializer, section "omptool.team", align 16\n'
BARRIER = "declare void @omptool_team_barrier()\n"


def refused(folder: Path, ir: str, triple: str, *options: str) -> str:
    result = attempt(folder, ir, *options, triple=triple)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1, result.stderr
    return result.stderr


def made(folder: Path, ir: str, triple: str, *options: str) -> Path:
    result = attempt(folder, ir, *options, triple=triple)
    assert result.exit_code == 0, result.output
    if triple == "spirv64" and not options:
        command = ["spirv-val", "--target-env", "spv1.2", str(folder / "out")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    return folder / "out"


EXPRESSIONS = (
    TILE
    + """
define void @k(ptr %out, i1 %c) {
entry:
  store i32 5, ptr getelementptr inbounds (i8, ptr @tile, i64 4)
  %end = add i64 ptrtoint (ptr getelementptr (i8, ptr @tile, i64 12) to i64), 0
  %difference = sub i64 %end, ptrtoint (ptr @tile to i64)
  br i1 %c, label %one, label %two
one:
  br label %two
two:
  %p = phi ptr [ getelementptr (i8, ptr @tile, i64 4), %entry ], [ @tile, %one ]
  %v = load i32, ptr %p
  %wide = zext i32 %v to i64
  %sum = add i64 %wide, %difference
  store i64 %sum, ptr %out
  ret void
}
"""
)


def test_expressions_of_a_team_variable_compute(tmp_path: Path) -> None:
    library = ctypes.CDLL(str(made(tmp_path, EXPRESSIONS, X86_64, "-O0")))
    out = ctypes.c_int64()
    library.k(ctypes.byref(out), ctypes.c_int64(0))
    assert out.value == 17


@pytest.mark.parametrize("triple", GPUS)
def test_they_are_lowered_for_every_gpu(tmp_path: Path, triple: str) -> None:
    made(tmp_path, EXPRESSIONS, triple)


@pytest.mark.parametrize("triple", ALL)
@pytest.mark.parametrize(
    ("ir", "said"),
    [
        (
            TILE.replace(
                "zeroinitializer", "[i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8]"
            ),
            "team variable tile has an initial value, which such memory cannot have",
        ),
        (TILE.replace("16", "256"), "tile is aligned to 256 bytes; a team's memory is aligned"),
        (
            '@tile = external global [8 x i32], section "omptool.team"\n',
            "team variable tile is declared, but not defined",
        ),
        (TILE + "@p = global ptr @tile\n", "the value of p holds the address of tile, which no"),
    ],
)
def test_team_variables_that_cannot_be(tmp_path: Path, ir: str, said: str, triple: str) -> None:
    kernel = "define void @k() {\n store i32 1, ptr @tile\n ret void\n}\n"
    assert said in refused(tmp_path, ir + kernel, triple)


@pytest.mark.parametrize("triple", ALL)
def test_an_address_inside_of_a_constant_of_several_values_is_refused(
    tmp_path: Path, triple: str
) -> None:
    kernel = (
        "define void @k(ptr %p) {\n store [2 x ptr] [ptr @tile, ptr null], ptr %p\n ret void\n}\n"
    )
    said = refused(tmp_path, TILE + kernel, triple)
    assert "a constant of several values holds the address of tile: store [2 x ptr]" in said


def test_a_team_variable_is_no_entry(tmp_path: Path) -> None:
    ir = (
        TILE.replace("internal ", "")
        + "define void @k(ptr %p) {\n store i32 1, ptr @tile\n ret void\n}\n"
    )
    assert "each team has its own tile: without a single address it cannot be an entry" in refused(
        tmp_path, ir, X86_64, "--entry", "tile"
    )
    made(tmp_path, ir, X86_64)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("  store ptr @helper, ptr %p", "it takes the address of function helper"),
        (
            "  %f = load ptr, ptr %p\n  call void %f()",
            "%f is called by address: this target",
        ),
        (
            "  %n = load i32, ptr %p\n  %a = alloca i32, i32 %n\n  store i32 1, ptr %a",
            "%a is a local",
        ),
        (
            "  %o = atomicrmw add ptr %p, i8 1 monotonic",
            "atomicrmw add of i8: this target has atomic",
        ),
        (
            "  %o = atomicrmw uinc_wrap ptr %p, i32 9 monotonic",
            "atomicrmw uinc_wrap: this target has no such",
        ),
        (
            "  %f = load ptr, ptr %p\n  %l = call i32 (ptr, ...) @printf(ptr %f)",
            "printf gets a text",
        ),
        (
            "  %l = call i32 (ptr, ...) @printf(ptr @text, i128 1)",
            "printf gets an argument that OpenCL's cannot print: i128 1",
        ),
    ],
)
def test_what_spirv_cannot_have_is_named(tmp_path: Path, body: str, said: str) -> None:
    ir = (
        '@text = private constant [3 x i8] c"%d\\00"\ndeclare i32 @printf(ptr, ...)\n'
        f"define internal void @helper() {{\n  ret void\n}}\ndefine void @k(ptr %p) {{\n{body}\n"
        "  ret void\n}\n"
    )
    assert said in refused(tmp_path, ir, "spirv64")


def test_no_constant_of_spirv_holds_an_address(tmp_path: Path) -> None:
    ir = (
        "@x = internal global i32 1\n@p = internal global ptr @x\n"
        "define void @k(ptr %o) {\n %q = load ptr, ptr @p\n store ptr %q, ptr %o\n ret void\n}\n"
    )
    assert "the value of p holds the address of x" in refused(tmp_path, ir, "spirv64")
    made(tmp_path, ir, "amdgcn")


NUMBERS = itertools.product(
    ["fadd", "fsub", "fmin", "fmax"], ["float", "double"], ["1.0 monotonic"]
)
INTEGERS = itertools.product(["xchg", "nand", "umax", "min", "xor"], ["i32", "i64"], ["9 acq_rel"])
ATOMIC = "".join(
    f"define void @{operation}_{type_}(ptr %p, ptr %q) {{\n"
    f"  %o = atomicrmw {operation} ptr %p, {type_} {operand}\n"
    f"  store {type_} %o, ptr %q\n  ret void\n}}\n"
    for operation, type_, operand in (*NUMBERS, *INTEGERS)
)


@pytest.mark.parametrize("triple", GPUS)
def test_atomic_operations(tmp_path: Path, triple: str) -> None:
    made(tmp_path, ATOMIC, triple)


@pytest.mark.parametrize("type_", ["i32", "i64", "float", "double", "ptr"])
def test_atomic_loads_and_stores_of_spirv_are_atomic(tmp_path: Path, type_: str) -> None:
    """LLVM 22 makes plain ones of them: a loop that waits for a value never ends."""
    body = (
        f"  %o = load atomic {type_}, ptr %p acquire, align 8\n"
        f"  store atomic {type_} %o, ptr %q release, align 8\n"
    )
    ir = f"define void @k(ptr %p, ptr %q) {{\n{body}  ret void\n}}\n"
    module = made(tmp_path, ir, "spirv64")
    shown = ["spirv-dis", "--no-color", str(module)]
    text = subprocess.run(shown, capture_output=True, text=True, check=True).stdout
    assert text.count("OpAtomicLoad ") == 1
    assert text.count("OpAtomicStore ") == 1


def test_atomic_operations_are_among_the_threads_of_the_device(tmp_path: Path) -> None:
    ir = "define void @k(ptr %p) {\n %o = atomicrmw add ptr %p, i32 1 monotonic\n ret void\n}\n"
    assert ".sys" not in made(tmp_path, ir, NVPTX).read_text()


def test_the_smaller_parameters_are_passed_as_pointers_are(tmp_path: Path) -> None:
    head = "define void @k(ptr %p, i8 %a, i1 %b, i32 %c) {\n %x = zext i8 %a to i32\n"
    body = " %y = select i1 %b, i32 %c, i32 %x\n store i32 %y, ptr %p\n ret void\n}\n"
    text = made(tmp_path, head + body, NVPTX).read_text()
    found = re.search(r"\.entry k\((.*?)\)", text, re.DOTALL)
    assert found
    assert re.findall(r"\.param \.(\w+)", found[1]) == ["u64"] * 4
    made(tmp_path, head + body, "spirv64")
    made(tmp_path, head + body, "amdgcn")


@pytest.mark.parametrize("triple", GPUS)
def test_a_called_kernel_stays_callable(tmp_path: Path, triple: str) -> None:
    ir = (
        "define void @k(ptr %p) {\n store i32 1, ptr %p\n ret void\n}\n"
        "define void @outer(ptr %p) {\n call void @k(ptr %p)\n ret void\n}\n"
    )
    image = made(tmp_path, ir, triple)
    if triple == NVPTX:
        assert re.findall(r"\.entry (\w+)\(", image.read_text()) == ["k", "outer"]


def test_functions_around_a_barrier_are_convergent(tmp_path: Path) -> None:
    ir = (
        "define void @k(ptr %p) {\n call void @helper()\n call void @other(ptr %p)\n ret void\n}\n"
        "define internal void @helper() noinline {\n"
        " call void @omptool_team_barrier()\n ret void\n}\n"
        "define internal void @other(ptr %p) noinline {\n store i32 1, ptr %p\n ret void\n}\n"
        + BARRIER
    )
    bitcode = made(tmp_path, ir, NVPTX, "--emit", "bc", "-O0").read_bytes()
    functions = {function.name: function for function in llvm.parse_bitcode(bitcode).functions}
    convergent = {n for n, f in functions.items() if b"convergent" in b" ".join(f.attributes)}
    assert convergent >= {"k", "helper"}
    assert "other" not in convergent


@pytest.mark.parametrize("triple", ALL)
def test_a_kernel_of_clangs_with_its_own_section(tmp_path: Path, triple: str) -> None:
    """C as a compiler for this machine has it: static team memory, a barrier, a local array."""
    source = tmp_path / "k.c"
    source.write_text(
        "void omptool_team_barrier(void);\n"
        "int omp_get_thread_num(void), omp_get_num_threads(void);\n"
        '__attribute__((section("omptool.team"))) static double tile[128];\n'
        "void turn(double *x, int n) {\n"
        " double own[4] = {1, 2, 3, 4}; int me = omp_get_thread_num();\n"
        " tile[me] = x[me] * own[n & 3]; omptool_team_barrier();\n"
        " x[me] = tile[omp_get_num_threads() - 1 - me]; }\n"
    )
    command = ["clang-19", "-O1", "-fPIC", "-S", "-emit-llvm", str(source), "-o", "-"]
    ir = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    image = attempt(tmp_path, ir, triple=triple)
    assert image.exit_code == 0, image.output
    if triple == X86_64:
        values = (ctypes.c_double * 1)(5)
        ctypes.CDLL(str(tmp_path / "out")).turn(values, 1)
        assert values[0] == 10
