# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels of fixtures/portable on every target: each target's own tools accept the output."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection
from images import entry_table, exported, undefined
from lowered import NVPTX, X86_64, attempt
from places import FIXTURES

from omptool.cli import cli
from packager.lowering.libdevice import libdevice

KERNELS = FIXTURES / "portable" / "kernels.ll"
LIBRARY = FIXTURES / "portable" / "library.ll"
NAMES = ["where", "turn", "steps", "sums", "atomics", "shared_count", "local"]
MEMORY = {"calls"}
needs_libdevice = pytest.mark.skipif(not libdevice(), reason="libdevice is not on this machine")


def lower(source: Path, out: Path, triple: str, *options: str) -> Result:
    command = ["lower", str(source), "--triple", triple, "-o", str(out), *options]
    return CliRunner().invoke(cli, command)


def lowered(source: Path, out: Path, triple: str, *options: str) -> Path:
    result = lower(source, out, triple, *options)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return out


def said(*command: object) -> str:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("level", "0123")
def test_x86_64_needs_nothing_but_memory_functions(tmp_path: Path, level: str) -> None:
    image = lowered(KERNELS, tmp_path / "out", X86_64, f"-O{level}")
    assert undefined(image) <= {"memcpy"}
    assert [name for name, _ in entry_table(image)] == ["calls", *NAMES]
    assert exported(image) - {"calls", *NAMES} == {
        "__omptool_team_barrier",
        "__omptool_team_kernels",
        "__omptool_team_memory",
        "__omptool_thread_state",
    }


def test_the_list_has_the_kernels_whose_teams_work_together(tmp_path: Path) -> None:
    library = ctypes.CDLL(str(lowered(KERNELS, tmp_path / "out", X86_64)))

    class Record(ctypes.Structure):
        _fields_ = (("kernel", ctypes.c_void_p), ("memory", ctypes.c_int64))

    listed = (Record * 5).in_dll(library, "__omptool_team_kernels")
    names = ["turn", "steps", "sums", "shared_count"]
    addresses = [ctypes.cast(getattr(library, n), ctypes.c_void_p).value for n in names]
    assert [record.kernel for record in listed] == [*addresses, None]
    assert {record.memory for record in listed[:4]} == {8 * 256 + 8 * 1024 + 4}


def test_a_kernel_that_nobody_told_otherwise_is_a_team_of_one(tmp_path: Path) -> None:
    library = ctypes.CDLL(str(lowered(KERNELS, tmp_path / "out", X86_64)))
    values = (ctypes.c_int64 * 1)(7)
    library.turn(values)
    assert values[0] == 7
    library.steps(values, 3)
    assert values[0] == 56
    out = (ctypes.c_int32 * 1)()
    library.shared_count(out)
    assert out[0] == 2


def test_libm_and_libc_are_the_library_of_a_cpu(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    library = ctypes.CDLL(str(lowered(LIBRARY, tmp_path / "out", X86_64)))
    out, small, exponent = (ctypes.c_double * 1)(), (ctypes.c_float * 1)(), (ctypes.c_int32 * 1)()
    library.mathematics(out, small, exponent)
    assert out[0] == pytest.approx(0.8414709848078965 + 1 + 0 + 1)
    assert small[0] == pytest.approx(1.6487212707 + 0.5403023059 + 0, rel=1e-6)
    assert exponent[0] == 1
    library.say(ctypes.c_int64(1 << 40))
    ctypes.CDLL(None).fflush(None)
    assert capfd.readouterr().out == "team 0 of 1: 1099511627776,  0.75, fine\n"


@pytest.mark.parametrize("level", "02")
def test_aarch64_is_an_object_for_that_machine(tmp_path: Path, level: str) -> None:
    object_file = lowered(KERNELS, tmp_path / "out", "aarch64", "--emit", "obj", f"-O{level}")
    with object_file.open("rb") as file:
        assert ELFFile(file)["e_machine"] == "EM_AARCH64"


def test_aarch64_is_linked_by_lld_where_it_needs_no_library(tmp_path: Path) -> None:
    image = lowered(FIXTURES / "saxpy" / "kernels.ll", tmp_path / "out", "aarch64")
    assert undefined(image) == set()
    names = ["saxpy_distribute", "saxpy_distribute_parallel_for"]
    assert [name for name, _ in entry_table(image)] == names


@pytest.mark.skipif(
    bool(shutil.which("aarch64-linux-gnu-gcc")),
    reason="the C library of aarch64 is on this machine",
)
def test_aarch64_without_its_c_library_names_what_is_called(tmp_path: Path) -> None:
    result = lower(LIBRARY, tmp_path / "out", "aarch64")
    assert result.exit_code == 3
    assert "it calls cosf, floorf, frexp, log, pow, printf, sin: a link with" in result.stderr


def ptx_kernels(path: Path) -> list[str]:
    return re.findall(r"\.visible \.entry (\w+)\(", path.read_text())


@pytest.mark.parametrize("level", "0123")
def test_ptx_has_all_and_ptxas_takes_it(tmp_path: Path, level: str) -> None:
    ptx = lowered(KERNELS, tmp_path / "out", NVPTX, f"-O{level}")
    assert ptx_kernels(ptx) == NAMES
    assert ".shared" in ptx.read_text()
    assert "bar.sync" in ptx.read_text() or "barrier.sync" in ptx.read_text()
    if shutil.which("ptxas"):
        said("ptxas", "-arch=sm_75", ptx, "-o", tmp_path / "cubin")


def test_every_parameter_of_ptx_has_the_size_of_a_pointer(tmp_path: Path) -> None:
    text = lowered(KERNELS, tmp_path / "out", NVPTX).read_text()
    heads = re.findall(r"\.entry \w+\((.*?)\)", text, re.DOTALL)
    words = re.findall(r"\.param \.(\w+)", "".join(heads))
    assert set(words) == {"u64"}


@pytest.mark.skipif(not shutil.which("ptxas"), reason="ptxas is not on this machine")
def test_obj_for_nvptx_is_a_cubin(tmp_path: Path) -> None:
    cubin = lowered(KERNELS, tmp_path / "out", NVPTX, "--emit", "obj", "--cpu", "sm_90")
    with cubin.open("rb") as file:
        assert ELFFile(file)["e_machine"] == "EM_CUDA"


def test_a_cubin_without_ptxas_is_missing_a_tool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    result = lower(KERNELS, tmp_path / "out", NVPTX, "--emit", "obj")
    assert result.exit_code == 3
    assert "ptxas is not on PATH" in result.stderr


@needs_libdevice
@pytest.mark.parametrize("level", "02")
def test_libdevice_is_linked_in(tmp_path: Path, level: str) -> None:
    ptx = lowered(LIBRARY, tmp_path / "out", NVPTX, f"-O{level}")
    text = ptx.read_text()
    assert ptx_kernels(ptx) == ["mathematics", "say"]
    assert "vprintf" in text
    assert "__nv_pow" not in re.findall(r"\.extern \.func.*?(\w+)\n", text, re.DOTALL)
    if shutil.which("ptxas"):
        said("ptxas", "-arch=sm_75", ptx, "-o", tmp_path / "cubin")


SINE = "define void @k(ptr %p) {\n {}\n ret void\n}\ndeclare double @sin(double)\n".replace(
    "{}", "%x = load double, ptr %p\n %s = call double @sin(double %x)\n store double %s, ptr %p"
)


def test_without_libdevice_what_it_has_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("packager.lowering.lower.libdevice", lambda: None)
    result = attempt(tmp_path, SINE, triple=NVPTX)
    assert result.exit_code == 2
    assert "libdevice.10.bc, which is not on this machine: sin; give" in result.stderr


def test_a_device_library_can_be_given(tmp_path: Path) -> None:
    text = "define double @__nv_sin(double %x) {\n  ret double 4.25e+01\n}\n"
    library = tmp_path / "own.ll"
    library.write_text(text)
    result = attempt(tmp_path, SINE, "--device-lib", str(library), triple=NVPTX)
    assert result.exit_code == 0, result.output
    assert (
        "0x4045400000000000" in (tmp_path / "out").read_text()
        or "4631178160564600832" in (tmp_path / "out").read_text()
    )


def spirv(path: Path) -> str:
    said("spirv-val", "--target-env", "spv1.2", path)
    return said("spirv-dis", "--no-color", path)


@pytest.mark.parametrize("source", [KERNELS, LIBRARY], ids=["kernels", "library"])
@pytest.mark.parametrize("level", "0123")
def test_spirv_is_valid(tmp_path: Path, level: str, source: Path) -> None:
    text = spirv(lowered(source, tmp_path / "out", "spirv64", f"-O{level}"))
    wanted = NAMES if source == KERNELS else ["mathematics", "say"]
    assert re.findall(r'OpEntryPoint Kernel %\S+ "(\w+)"', text) == wanted


def test_every_parameter_of_spirv_is_an_integer_of_64_bits(tmp_path: Path) -> None:
    text = spirv(lowered(KERNELS, tmp_path / "out", "spirv64"))
    entry = re.search(r"%steps = OpFunction %void None (%\d+)", text)
    assert entry
    assert re.search(rf"{entry[1]} = OpTypeFunction %void %ulong %ulong\n", text)


def test_spirv_has_barriers_team_memory_and_the_devices_number(tmp_path: Path) -> None:
    text = spirv(lowered(KERNELS, tmp_path / "out", "spirv64"))
    assert "OpControlBarrier" in text
    assert re.search(r"%tile = OpVariable %_ptr_Workgroup\w+ Workgroup", text)
    assert "SpecId 1" in text


def test_opencl_has_its_own_words_for_printf_and_mathematics(tmp_path: Path) -> None:
    text = spirv(lowered(LIBRARY, tmp_path / "out", "spirv64"))
    for name in ("printf", "sin", "pow", "frexp", "log"):
        assert re.search(rf"OpExtInst %\w+ %\d+ {name} ", text), name
    format_ = bytes(int(c) for c in re.findall(r"%uchar_(\d+) = OpConstant %uchar \1", text))
    assert ord("l") in format_


@pytest.mark.parametrize("cpu", ["gfx90a", "gfx942", "gfx1100"])
@pytest.mark.parametrize("level", "02")
def test_amdgcn_is_a_code_object(tmp_path: Path, cpu: str, level: str) -> None:
    image = lowered(KERNELS, tmp_path / "out", "amdgcn", "--cpu", cpu, f"-O{level}")
    with image.open("rb") as file:
        elf = ELFFile(file)
        assert (elf["e_machine"], elf["e_type"]) == ("EM_AMDGPU", "ET_DYN")
        assert elf.header["e_ident"]["EI_ABIVERSION"] == 3  # code object version 5
        symbols = elf.get_section_by_name(".dynsym")
        assert isinstance(symbols, SymbolTableSection)
        names = {symbol.name for symbol in symbols.iter_symbols()}
    assert {f"{name}.kd" for name in NAMES} <= names
    assert {"calls", "__omptool_device_num"} <= names


def test_amdgcn_names_what_needs_a_library(tmp_path: Path) -> None:
    result = lower(LIBRARY, tmp_path / "out", "amdgcn")
    assert result.exit_code == 2
    names = "sin, pow, log, expf, cosf, frexp, printf"
    assert f"it calls functions that no amdgcn image can have: {names}" in result.stderr


def test_a_code_object_without_lld_is_missing_a_tool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    result = lower(KERNELS, tmp_path / "out", "amdgcn")
    assert result.exit_code == 3
    assert "no ld.lld is on PATH" in result.stderr


@pytest.mark.parametrize("triple", [X86_64, NVPTX, "amdgcn", "spirv64"])
def test_the_same_kernels_give_the_same_bytes(tmp_path: Path, triple: str) -> None:
    first = lowered(KERNELS, tmp_path / "first", triple).read_bytes()
    assert lowered(KERNELS, tmp_path / "second", triple).read_bytes() == first


@pytest.mark.parametrize("triple", [X86_64, NVPTX, "amdgcn", "spirv64"])
def test_bitcode_of_them_is_lowered_again(tmp_path: Path, triple: str) -> None:
    options = [word for name in NAMES for word in ("--entry", name)]
    bitcode = lowered(KERNELS, tmp_path / "in.bc", triple, "--emit", "bc", *options)
    image = lowered(bitcode, tmp_path / "out", triple, *options)
    if triple == X86_64:
        assert [name for name, _ in entry_table(image)] == NAMES
        assert "__omptool_team_kernels" in exported(image)
    elif triple == NVPTX:
        assert ptx_kernels(image) == NAMES
    elif triple == "spirv64":
        assert "OpControlBarrier" in spirv(image)
