"""Programs that gcc compiled for NVIDIA's GPUs, with libgomp's tables: dump, verify, extract."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from documents import dumped
from toolchain import omptool, run, stripped
from verifying import findings

from packager import elf
from packager.reader import Reader

SOURCE = """
int table[4];
#pragma omp declare target to(table)
int linked[8];
#pragma omp declare target link(linked)
int main(void) {
  int y[4] = {0};
#pragma omp target map(tofrom : y)
  y[0] = table[1] + 1;
#pragma omp target map(tofrom : y) map(to : linked)
  y[1] = linked[2];
  return y[0] != 1;
}
"""
FLAGS = {"pie": ("-pie",), "no-pie": ("-no-pie",)}


@pytest.fixture(scope="module", params=FLAGS)
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gcc")
    (folder / "source.c").write_text(SOURCE)
    offload = ("-fopenmp", "-foffload=nvptx-none", "-foffload-options=-misa=sm_35")
    # A ptxas of a newer CUDA that is on PATH would be asked to check code for archs it dropped.
    quiet = ("env", "PATH=/usr/bin:/bin", "gcc-12", "-O1", *FLAGS[request.param], *offload)
    run(*quiet, folder / "source.c", "-o", folder / "program")
    return folder / "program"


@pytest.mark.parametrize("strip", [False, True], ids=["", "stripped"])
def test_what_it_holds(program: Path, strip: bool) -> None:
    file = dumped(stripped(program) if strip else program)
    assert file["abi"] == "gcc"
    assert {(i["container"], i["kind"], i["triple"]) for i in file["images"]} == {
        ("gcc", "ptx", "nvptx-none")
    }
    kernels = {e["name"] for e in file["entries"] if e["kind"] == "kernel"}
    assert kernels == {"main$_omp_fn$0", "main$_omp_fn$1"}
    others = {(e["kind"], e["name"], e["size"]) for e in file["entries"] if e["kind"] != "kernel"}
    assert ("global", "table", 16) in others
    assert {kind for kind, _, _ in others} == {"global", "link"}
    (descriptor,) = file["descriptors"]
    assert descriptor["registered_by"] == (".init_array[1]" if strip else "init")
    assert descriptor["images"] == [image["index"] for image in file["images"]]
    user = file["images"][0]
    assert set(user["kernels"]) == kernels


def test_it_is_sound(program: Path) -> None:
    assert [f for f in findings(program) if f["severity"] != "info"] == []


def test_kernels_whose_places_were_exchanged(program: Path, tmp_path: Path) -> None:
    """libgomp pairs by place alone: the wrong kernel would run."""
    data = program.read_bytes()
    one, two = b"main$_omp_fn$0\0", b"main$_omp_fn$1\0"
    at, other = data.rindex(one), data.rindex(two)  # the names that are registered come last
    changed = bytearray(data)
    changed[at : at + len(one)], changed[other : other + len(two)] = two, one
    (tmp_path / "swapped").write_bytes(changed)
    found = findings(tmp_path / "swapped")
    assert {(f["code"], f["severity"]) for f in found} == {("OMP106", "error")}


def test_a_kernel_that_the_modules_lack(program: Path, tmp_path: Path) -> None:
    data = program.read_bytes()
    changed = bytearray(data)
    at = data.rindex(b"main$_omp_fn$1\0")
    changed[at : at + 14] = b"main$_omp_fn$9"
    (tmp_path / "missing").write_bytes(changed)
    codes = {f["code"] for f in findings(tmp_path / "missing") if f["severity"] == "error"}
    assert "OMP105" in codes


def test_modules_come_out(program: Path, tmp_path: Path) -> None:
    result = omptool("extract", program, "--image", "0", "-o", tmp_path)
    (path,) = (Path(line) for line in result.stdout.splitlines())
    assert path.read_bytes().startswith(b"// BEGIN PREAMBLE")
    assert path.suffix == ".ptx"


def damaged(program: Path, name: str, at: int, value: int, tmp_path: Path) -> Path:
    """The program with 8 bytes changed in the header of a section; 32 is its size's place."""
    data = bytearray(program.read_bytes())
    file = elf.read(Reader(bytes(data)))
    (section,) = file.named(name)
    header = int.from_bytes(data[40:48], "little") + section.number * elf.SECTION_HEADER.size
    data[header + at : header + at + 8] = value.to_bytes(8, "little")
    (tmp_path / "damaged").write_bytes(data)
    return tmp_path / "damaged"


@pytest.mark.parametrize("name", [".gnu.offload_funcs", ".gnu.offload_vars"])
@pytest.mark.parametrize(("at", "value"), [(16, (1 << 63) - 8), (32, (1 << 63) - 8)])
def test_one_wrong_field_of_a_table(
    program: Path, tmp_path: Path, name: str, at: int, value: int
) -> None:
    result = omptool("dump", damaged(program, name, at, value, tmp_path))
    assert result.exit_code == 2
    assert re.fullmatch(f"Error: .*: section {name} .*\\n", result.stderr)


def test_a_table_that_nothing_registers(program: Path, tmp_path: Path) -> None:
    """Its bounds are not those that the constructor's table has."""
    wrong = damaged(program, ".gnu.offload_funcs", 32, 8, tmp_path)
    assert dumped(wrong)["descriptors"] == []


def test_a_program_with_variables_alone(tmp_path: Path) -> None:
    source = "".join(SOURCE.split("#pragma omp target map")[0]) + "return table[0]; }"
    (tmp_path / "source.c").write_text(source)
    quiet = ("env", "PATH=/usr/bin:/bin", "gcc-12", "-fopenmp", "-foffload=nvptx-none")
    command = (*quiet, "-Wl,--no-as-needed")  # libgomp is called by what the linker plugin adds
    options = ("-foffload-options=-misa=sm_35", tmp_path / "source.c", "-o", tmp_path / "program")
    run(*command, *options)
    file = dumped(tmp_path / "program")
    assert {entry["name"] for entry in file["entries"]} >= {"table"}
    assert [d["registered_by"] for d in file["descriptors"]] == ["init"]
    assert [f for f in findings(tmp_path / "program") if f["severity"] == "error"] == []


def test_intermediate_code_is_said_to_be_unread(tmp_path: Path) -> None:
    (tmp_path / "source.c").write_text(SOURCE)
    command = ("gcc-12", "-fopenmp", "-foffload=nvptx-none", "-c", tmp_path / "source.c")
    run(*command, "-o", tmp_path / "source.o")
    result = omptool("dump", tmp_path / "source.o")
    assert result.exit_code == 2
    assert "is GCC's intermediate code for a device" in result.stderr
