# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool lower`: the contents of images, and the results of their kernels."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from images import entry_table, exported, needed, undefined
from lowered import NVPTX, SAXPY, X86_64, asking, attempt
from places import ROOT

from packager.hosts.load import load
from packager.lowering.child import LIMITS

Lower = Callable[..., Path]


@pytest.fixture
def lower(tmp_path: Path) -> Lower:
    """Provide a function that lowers IR text, and returns the output's path."""

    def run(ir: str | bytes, *options: str, triple: str = X86_64, name: str = "in.ll") -> Path:
        result = attempt(tmp_path, ir, *options, triple=triple, name=name)
        assert result.exit_code == 0, result.output
        return tmp_path / "out"

    return run


def saxpy_with(image: Path, teams: int) -> list[float]:
    """Run every team of saxpy over ten elements through the thread-state pointer."""
    library = ctypes.CDLL(str(image))
    state = (ctypes.c_int32 * 5)(0, teams, 0, 1, 0)
    getter = ctypes.CFUNCTYPE(ctypes.c_void_p)(lambda: ctypes.addressof(state))
    ctypes.c_void_p.in_dll(library, "__omptool_thread_state").value = ctypes.cast(
        getter, ctypes.c_void_p
    ).value
    y, x = (ctypes.c_float * 10)(*range(10)), (ctypes.c_float * 10)(*range(0, 100, 10))
    bits = ctypes.c_int64(0x40000000)  # 2.0f
    for team in range(teams):
        state[0] = team
        library.saxpy(y, x, bits, ctypes.c_int64(10))
    return list(y)


def test_an_x86_64_image_exports_its_entries_and_needs_nothing(lower: Lower) -> None:
    image = lower(SAXPY)
    assert exported(image) == {"saxpy", "clear", "factors", "scale", "__omptool_thread_state"}
    assert undefined(image) == set()
    assert needed(image) == []


def test_the_table_has_globals_then_kernels_as_the_ir_has_them(lower: Lower) -> None:
    assert entry_table(lower(SAXPY)) == [("factors", 12), ("scale", 8), ("saxpy", 0), ("clear", 0)]


def test_named_entries_are_the_table_in_their_order_and_the_rest_is_internal(lower: Lower) -> None:
    image = lower(SAXPY, "--entry", "clear", "--entry", "scale", "--entry", "saxpy")
    assert entry_table(image) == [("clear", 0), ("scale", 8), ("saxpy", 0)]
    assert exported(image) == {"clear", "scale", "saxpy", "__omptool_thread_state"}


@pytest.mark.parametrize("level", "0123")
@pytest.mark.parametrize("teams", [1, 3])
def test_an_x86_64_kernel_computes(lower: Lower, level: str, teams: int) -> None:
    assert saxpy_with(lower(SAXPY, f"-O{level}"), teams) == [i + 20.0 * i for i in range(10)]


def test_a_kernel_that_nobody_told_otherwise_is_alone(lower: Lower) -> None:
    library = ctypes.CDLL(str(lower(asking())))
    out = (ctypes.c_int32 * 6)(*[-1] * 6)
    library.ask(out)
    assert list(out) == [0, 1, 0, 1, 0, 0]


def test_the_device_library_reads_the_plugins_record(lower: Lower) -> None:
    library = ctypes.CDLL(str(lower(asking())))
    state = (ctypes.c_int32 * 5)(4, 7, 2, 3, 5)
    getter = ctypes.CFUNCTYPE(ctypes.c_void_p)(lambda: ctypes.addressof(state))
    pointer = ctypes.c_void_p.in_dll(library, "__omptool_thread_state")
    pointer.value = ctypes.cast(getter, ctypes.c_void_p).value
    out = (ctypes.c_int32 * 6)()
    library.ask(out)
    assert list(out) == [4, 7, 2, 3, 5, 0]


@pytest.mark.parametrize(("cpu", "version"), [("gfx90a", 3), ("gfx9-4-generic", 4)])
def test_code_objects_have_the_version_of_their_processor(
    lower: Lower, cpu: str, version: int
) -> None:
    """The ABI's version: 3 is that of code objects of version 5, and 4 of version 6."""
    made = lower(SAXPY, "--cpu", cpu, "--emit", "obj", triple="amdgcn-amd-amdhsa").read_bytes()
    assert made[8] == version


def test_an_image_without_library_calls_has_no_thread_state(lower: Lower) -> None:
    assert exported(lower("define void @k(ptr %p) {\n ret void\n}")) == {"k"}


def test_ptx_has_its_kernels_as_entries_in_table_order(lower: Lower) -> None:
    ptx = lower(SAXPY, "--entry", "clear", "--entry", "saxpy", triple=NVPTX).read_text()
    entries = [line for line in ptx.splitlines() if ".entry" in line]
    assert entries == [".visible .entry clear(", ".visible .entry saxpy("]
    assert "%ctaid.x" in ptx
    assert "%nctaid.x" in ptx
    assert ".func" not in ptx


@pytest.mark.parametrize(
    ("triple", "processor"),
    [
        ("amdgpu9.0a-amd-amdhsa", "gfx90a"),
        ("amdgpu11.00-amd-amdhsa", "gfx1100"),
        ("amdgpu-amd-amdhsa", "gfx90a"),
        ("amdgcn-amd-amdhsa:gfx1100", "gfx1100"),
    ],
)
def test_llvm_24s_names_of_amds_gpus(lower: Lower, triple: str, processor: str) -> None:
    image = load(lower(SAXPY, triple=triple)).images[0]
    assert (image.contents.machine, image.processor) == ("amdgcn", processor)


def test_ptx_is_for_the_processor_that_is_asked_for(lower: Lower) -> None:
    assert ".target sm_75\n" in lower(SAXPY, triple=NVPTX).read_text()
    assert ".target sm_90\n" in lower(SAXPY, "--cpu", "sm_90", triple=NVPTX).read_text()
    assert ".target sm_80\n" in lower(SAXPY, triple="nvptx64:sm_80").read_text()
    assert ".target sm_80\n" in lower(SAXPY, "--cpu", "sm_80", triple="nvptx64:sm_80").read_text()


@pytest.mark.skipif(not shutil.which("ptxas"), reason="ptxas is not on this machine")
@pytest.mark.parametrize("level", "0123")
def test_ptxas_accepts_the_ptx(lower: Lower, tmp_path: Path, level: str) -> None:
    image = lower(SAXPY, f"-O{level}", "--cpu", "sm_90", triple=NVPTX)
    command = ["ptxas", "-arch=sm_90", str(image), "-o", str(tmp_path / "cubin")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_globals_are_visible_in_ptx(lower: Lower) -> None:
    ptx = lower(SAXPY, triple=NVPTX).read_text()
    assert ".visible .global" in ptx
    assert "factors" in ptx


def test_obj_keeps_the_table_when_sections_are_collected(lower: Lower, tmp_path: Path) -> None:
    object_file = lower(SAXPY, "--emit", "obj")
    image = tmp_path / "linked.so"
    options = ["-shared", "-nostdlib", "-Wl,--gc-sections", "-x", "none"]
    subprocess.run(["gcc", *options, str(object_file), "-o", str(image)], check=True)
    assert entry_table(image) == [("factors", 12), ("scale", 8), ("saxpy", 0), ("clear", 0)]


def test_asm_is_what_an_assembler_takes(lower: Lower, tmp_path: Path) -> None:
    assembly = lower(SAXPY, "--emit", "asm")
    command = ["gcc", "-c", "-x", "assembler", str(assembly), "-o", str(tmp_path / "a.o")]
    subprocess.run(command, check=True)


@pytest.mark.parametrize("triple", [X86_64, NVPTX])
def test_bitcode_lowers_as_its_text_does(lower: Lower, tmp_path: Path, triple: str) -> None:
    options = ["--entry", "clear", "--entry", "saxpy"]
    bitcode = lower(SAXPY, "--emit", "bc", *options, triple=triple).read_bytes()
    assert bitcode.startswith(b"BC\xc0\xde")
    image = lower(bitcode, name="in.bc", triple=triple)
    if triple == X86_64:
        assert entry_table(image) == [("clear", 0), ("saxpy", 0)]
        assert saxpy_with(image, 2) == [i + 20.0 * i for i in range(10)]
    else:
        assert image.read_bytes() == lower(SAXPY, *options, triple=triple).read_bytes()


@pytest.mark.parametrize("emit", ["image", "asm", "bc"])
@pytest.mark.parametrize("triple", [X86_64, NVPTX])
def test_the_same_input_gives_the_same_bytes(
    lower: Lower, tmp_path: Path, emit: str, triple: str
) -> None:
    first = lower(SAXPY, "--emit", emit, triple=triple).read_bytes()
    assert lower(SAXPY, "--emit", emit, triple=triple, name="elsewhere.ll").read_bytes() == first
    assert str(tmp_path).encode() not in first


MATH = """
define void @k(ptr %p) {
  %v = load double, ptr %p
  %s = call double @sin(double %v)
  store double %s, ptr %p
  ret void
}
declare double @sin(double)
"""


def test_libm_becomes_needed_where_it_is_used(lower: Lower) -> None:
    image = lower(MATH)
    assert needed(image) == ["libm.so.6"]
    value = ctypes.c_double(1.0)
    ctypes.CDLL(str(image)).k(ctypes.byref(value))
    assert value.value == pytest.approx(0.8414709848078965)


def only_tools(folder: Path, monkeypatch: pytest.MonkeyPatch, **tools: str) -> None:
    """Make a PATH of `tools` alone: name to the real tool."""
    folder.mkdir()
    for name, real in tools.items():
        (folder / name).symlink_to(str(shutil.which(real)))
    monkeypatch.setenv("PATH", str(folder))


def test_bare_ld_links_when_there_is_no_compiler(
    lower: Lower, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only_tools(tmp_path / "bin", monkeypatch, ld="ld")
    image = lower(MATH)
    assert needed(image) == ["libm.so.6"]
    assert exported(image) == {"k"}


def test_without_a_linker_the_exit_code_is_3(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only_tools(tmp_path / "bin", monkeypatch)
    result = attempt(tmp_path, MATH)
    assert result.exit_code == 3
    assert "neither cc nor ld is on PATH" in result.stderr
    assert not (tmp_path / "out").exists()


def test_ptx_and_objects_need_no_linker(
    lower: Lower, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only_tools(tmp_path / "bin", monkeypatch)
    lower(SAXPY, triple=NVPTX)
    lower(SAXPY, "--emit", "obj")


def test_a_called_kernel_stays_callable_on_the_cpu(lower: Lower) -> None:
    image = lower(
        "define void @outer(ptr %p) {\n call void @inner(ptr %p)\n ret void\n}\n"
        "define void @inner(ptr %p) {\n store i32 7, ptr %p\n ret void\n}\n"
    )
    value = ctypes.c_int32(0)
    ctypes.CDLL(str(image)).outer(ctypes.byref(value))
    assert value.value == 7


def test_kernel_conventions_of_other_targets_are_replaced(lower: Lower) -> None:
    ir = "define ptx_kernel void @k(ptr %p) {\n store i32 7, ptr %p\n ret void\n}"
    value = ctypes.c_int32(0)
    ctypes.CDLL(str(lower(ir))).k(ctypes.byref(value))
    assert value.value == 7
    ptx = lower(ir.replace("ptx_kernel", "amdgpu_kernel"), triple=NVPTX).read_text()
    assert ".entry k(" in ptx


def test_names_that_llvm_quotes_and_strings_that_look_like_code(lower: Lower) -> None:
    ir = (
        '@text = constant [19 x i8] c"define void @k(ptr\\00"\n'
        'define void @"k-1"(ptr %p) {\n ret void\n}\n'
        "define void @k(ptr %p) {\n ret void\n}\n"
    )
    image = lower(ir, "--entry", "k", "--entry", "k-1", "--entry", "text")
    assert entry_table(image) == [("k", 0), ("k-1", 0), ("text", 19)]


def test_globals_in_other_address_spaces_are_entries(lower: Lower) -> None:
    ir = "@g = addrspace(1) global i64 5\ndefine void @k(ptr %p) {\n ret void\n}\n"
    assert entry_table(lower(ir)) == [("g", 8), ("k", 0)]
    assert ".visible .global .align 8 .u64 g = 5" in lower(ir, triple=NVPTX).read_text()


def clang_ir(folder: Path, *options: str) -> str:
    source = folder / "k.c"
    source.write_text("void scale(double *x, long n) { for (long i = 0; i < n; ++i) x[i] *= 2; }\n")
    command = ["clang-19", "-O1", "-S", "-emit-llvm", *options, str(source), "-o", "-"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_clangs_ir_for_the_host_is_lowered_for_both(lower: Lower, tmp_path: Path) -> None:
    ir = clang_ir(tmp_path, "-fPIC")
    image = lower(ir)
    values = (ctypes.c_double * 3)(1, 2, 3)
    ctypes.CDLL(str(image)).scale(values, ctypes.c_int64(3))
    assert list(values) == [2, 4, 6]
    assert ".entry scale(" in lower(ir, triple=NVPTX).read_text()


def test_a_processor_asked_for_overrides_the_functions_own(lower: Lower, tmp_path: Path) -> None:
    ir = clang_ir(tmp_path, "-march=x86-64")
    assert "ymm" not in lower(ir, "--emit", "asm").read_text()
    assert "ymm" in lower(ir, "--emit", "asm", "--cpu", "x86-64-v3", "-O3").read_text()


def test_native_is_the_processor_of_this_machine(lower: Lower) -> None:
    flags = (Path("/proc/cpuinfo").read_text().partition("flags")[2]).partition("\n")[0].split()
    assembly = lower(SAXPY, "--emit", "asm", "--cpu", "native", "-O3").read_text()
    assert ("\tvmul" in assembly or "\tvfmadd" in assembly) == ("avx" in flags)
    assert saxpy_with(lower(SAXPY, "--cpu", "native"), 2) == [i + 20.0 * i for i in range(10)]


def test_ir_for_another_machine_is_lowered_with_a_warning(tmp_path: Path) -> None:
    ir = 'target triple = "aarch64-linux-gnu"\ndefine void @k(ptr %p) {\n ret void\n}\n'
    result = attempt(tmp_path, ir)
    assert result.exit_code == 0
    assert "Warning" in result.stderr
    assert "aarch64-linux-gnu" in result.stderr
    assert attempt(tmp_path, ir.replace("aarch64", "amd64")).stderr == ""


def test_llvmlite_stays_out_of_the_parent() -> None:
    script = (
        "import sys, omptool.commands.lower\n"
        "assert not [m for m in sys.modules if m.startswith('llvmlite')]"
    )
    subprocess.run([shutil.which("python3") or "python3", "-c", script], check=True, cwd=ROOT)


@pytest.mark.parametrize("triple", [X86_64, NVPTX])
@pytest.mark.parametrize("linkage", ["internal", "private"])
def test_internal_definitions_that_are_named_become_entries(
    lower: Lower, linkage: str, triple: str
) -> None:
    text = f"define {linkage} void @hidden(ptr %p) {{\n  store i32 1, ptr %p\n  ret void\n}}\n"
    assert b"hidden" in lower(text, "--entry", "hidden", triple=triple).read_bytes()


def test_the_runtime_names_the_limit_of_lower() -> None:
    """Whoever waits for bitcode to be compiled reads this limit."""
    helper = ROOT / "runtime" / "plugins" / "compile" / "helper.cpp"
    assert f"kMostSeconds = {LIMITS.wall_seconds};" in helper.read_text()
