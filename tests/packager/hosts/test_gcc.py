# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that gcc compiled for GPUs, with libgomp's tables: dump, verify, extract."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from documents import dumped
from gccs import GCN, NVPTX, compiled
from places import TESTS
from toolchain import omptool, run, stripped
from verifying import findings

from packager.elf import headers
from packager.elf.space_of import space
from packager.files.reader import Reader
from packager.formats.host_records import gcc_offload
from packager.hosts.load import load

pytestmark = pytest.mark.slow

SOURCE = (TESTS / "packager" / "hosts" / "gcc_program.c").read_text()
FORMS = ("-pie", "-no-pie")
# Kind of image for each kind of device, with its names of the functions and variables.
NAMED = {
    NVPTX: ("ptx", {"main$_omp_fn$0", "main$_omp_fn$1"}, {"table", "linked$linkptr"}),
    GCN: ("amdgcn", {"main._omp_fn.0", "main._omp_fn.1"}, {"table", "linked.linkptr"}),
}


class Program(NamedTuple):
    """A program for one kind of device."""

    path: Path
    triple: str

    @property
    def dot(self) -> bytes:
        """Return what separates the parts of the names of its functions there."""
        return b"$" if self.triple == NVPTX else b"."


Made = Callable[[str, str], Path]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Provide a function that compiles the program for a kind of device, once for each form."""
    folder = tmp_path_factory.mktemp("gcc")

    def make(form: str, triple: str) -> Path:
        out = folder / f"{triple}{form}"
        return out if out.exists() else compiled(SOURCE, out, form, targets=[triple])

    return make


@pytest.fixture(params=[(form, triple) for triple in (NVPTX, GCN) for form in FORMS])
def each(request: pytest.FixtureRequest, made: Made) -> Program:
    form, triple = request.param
    return Program(made(form, triple), triple)


@pytest.fixture
def program(made: Made) -> Path:
    """Provide a program for NVIDIA's GPUs."""
    return made("-pie", NVPTX)


@pytest.fixture
def amd(made: Made) -> Path:
    """Provide a program for AMD's GPUs."""
    return made("-pie", GCN)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(SOURCE, tmp_path_factory.mktemp("gcc") / "program", targets=[NVPTX, GCN])


@pytest.mark.slow
@pytest.mark.parametrize("strip", [False, True], ids=["", "stripped"])
def test_what_it_holds(each: Program, strip: bool) -> None:
    file = dumped(stripped(each.path) if strip else each.path)
    kind, kernels, variables = NAMED[each.triple]
    assert file["abi"] == "gcc"
    held = {(i["container"], i["kind"], i["triple"]) for i in file["images"]}
    assert held == {("gcc", kind, each.triple)}
    assert {e["name"] for e in file["entries"] if e["kind"] == "kernel"} == kernels
    others = {(e["kind"], e["name"], e["size"]) for e in file["entries"] if e["kind"] != "kernel"}
    assert ("global", "table", 16) in others
    assert {kind for kind, _, _ in others} == {"global", "link"}
    assert {name for _, name, _ in others} == variables
    (descriptor,) = file["descriptors"]
    assert descriptor["registered_by"] == (".init_array[1]" if strip else "init")
    assert descriptor["images"] == [image["index"] for image in file["images"]]
    user = file["images"][0]
    assert set(user["kernels"]) - {"_init_array", "_fini_array"} == kernels


def test_what_a_code_object_says(amd: Path) -> None:
    file = dumped(amd)
    (image,) = file["images"]
    kernels = NAMED[GCN][1]
    assert (image["machine"], image["arch"]) == ("amdgcn", "gfx906:xnack-")
    assert set(image["kernels"]) == {"_init_array", "_fini_array", *kernels}
    assert {r["kernel"] for r in image["resources"] if r["registers"]} >= kernels
    assert {entry["source"] for entry in file["entries"] if entry["kind"] == "kernel"} == {"main"}


def test_where_the_code_does_not_tell_the_kind(
    each: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Code does not show the kind on hosts other than x86-64."""
    monkeypatch.setattr(gcc_offload, "_device_kind", lambda *_: None)
    held = {(image.kind, image.triple) for image in load(each.path).images}
    assert held == {(NAMED[each.triple][0], each.triple)}


@pytest.mark.slow
@pytest.mark.parametrize("strip", [False, True], ids=["", "stripped"])
def test_both_kinds_in_one_program(both: Path, strip: bool) -> None:
    path = stripped(both) if strip else both
    file = dumped(path)
    assert [d["registered_by"] for d in file["descriptors"]] == (
        [".init_array[1]", ".init_array[2]"] if strip else ["init", "init"]
    )
    (_, of_ptx, _), (_, of_amd, _) = NAMED[NVPTX], NAMED[GCN]
    kernels = [e["name"] for e in file["entries"] if e["kind"] == "kernel"]
    assert (set(kernels[:2]), set(kernels[2:])) == (of_ptx, of_amd)
    *modules, last = [image["index"] for image in file["images"]]
    assert [d["images"] for d in file["descriptors"]] == [modules, [last]]
    assert [f for f in findings(path) if f["severity"] != "info"] == []


def test_it_is_sound(each: Program) -> None:
    assert [f for f in findings(each.path) if f["severity"] != "info"] == []


def registered(data: bytes, name: bytes) -> int:
    """Return where the name of a function is that the constructor registers."""
    if b"$" in name:
        return data.rindex(name)  # behind the modules
    return data.index(name, data.index(b"_fini_array\0"))  # the name's place before the image


def test_kernels_whose_places_were_exchanged(each: Program, tmp_path: Path) -> None:
    """libgomp pairs by place alone: the wrong kernel would run."""
    data = each.path.read_bytes()
    one, two = (each.dot.join((b"main", b"_omp_fn", n)) + b"\0" for n in (b"0", b"1"))
    at, other = registered(data, one), registered(data, two)
    changed = bytearray(data)
    changed[at : at + len(one)], changed[other : other + len(two)] = two, one
    (tmp_path / "swapped").write_bytes(changed)
    found = findings(tmp_path / "swapped")
    assert {(f["code"], f["severity"]) for f in found} == {("OMP106", "error")}


def test_a_kernel_that_the_images_lack(each: Program, tmp_path: Path) -> None:
    data = each.path.read_bytes()
    changed = bytearray(data)
    at = registered(data, each.dot.join((b"main", b"_omp_fn", b"1")) + b"\0")
    changed[at + 13] = ord("9")
    (tmp_path / "missing").write_bytes(changed)
    codes = {f["code"] for f in findings(tmp_path / "missing") if f["severity"] == "error"}
    assert "OMP105" in codes


def test_modules_come_out(program: Path, tmp_path: Path) -> None:
    result = omptool("extract", program, "--image", "0", "-o", tmp_path)
    (path,) = (Path(line) for line in result.stdout.splitlines())
    assert path.read_bytes().startswith(b"// BEGIN PREAMBLE")
    assert path.suffix == ".ptx"


def test_a_code_object_comes_out(amd: Path, tmp_path: Path) -> None:
    result = omptool("extract", amd, "-o", tmp_path)
    (path,) = (Path(line) for line in result.stdout.splitlines())
    assert "AMD GPU" in run("readelf", "-h", path)
    assert "main._omp_fn.0.kd" in run("readelf", "--dyn-syms", "-W", path)


def test_a_code_object_that_runs_out_of_the_file(amd: Path, tmp_path: Path) -> None:
    """The word before the code object's address is its size."""
    data = bytearray(amd.read_bytes())
    (image,) = dumped(amd)["images"]
    at = data.index(image["size"].to_bytes(8, "little"))
    data[at : at + 8] = (1 << 40).to_bytes(8, "little")
    (tmp_path / "damaged").write_bytes(data)
    result = omptool("dump", tmp_path / "damaged")
    assert result.exit_code == 2
    assert re.search(
        f"its image of {1 << 40} bytes at 0x[0-9a-f]+ is not in the file", result.stderr
    )


@pytest.mark.parametrize("name", ["target_data", "gcn_image", "gcn_kernels"])
@pytest.mark.parametrize("value", [0, 1, (1 << 63) - 8, (1 << 64) - 1])
def test_one_wrong_word_of_what_is_registered(
    made: Made, tmp_path: Path, name: str, value: int
) -> None:
    """The program has no relocations, which would override the changed word."""
    program = made("-no-pie", GCN)
    data = program.read_bytes()
    file = headers.read(Reader(data))
    (table,) = file.of_type(headers.SHT_SYMTAB)
    names = file.strings(table.link, "names")
    (symbol,) = (s for s in file.symbols(table) if s.name_at and names[s.name_at] == name)
    start = space(file).offset(symbol.value)
    assert start is not None
    for at in range(start, start + min(symbol.size, 32), 8):
        changed = data[:at] + value.to_bytes(8, "little") + data[at + 8 :]
        (tmp_path / "changed").write_bytes(changed)
        result = omptool("dump", tmp_path / "changed")
        assert result.exit_code in (0, 2)
        assert result.exit_code == 0 or re.fullmatch(r"Error: .*\n", result.stderr)


def damaged(program: Path, name: str, at: int, value: int, tmp_path: Path) -> Path:
    """Change 8 bytes in a section's header; offset 32 is its size."""
    data = bytearray(program.read_bytes())
    file = headers.read(Reader(bytes(data)))
    (section,) = file.named(name)
    header = int.from_bytes(data[40:48], "little") + section.number * headers.SECTION_HEADER.size
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


def test_a_program_without_constructors(program: Path, tmp_path: Path) -> None:
    """Nothing registers the entries, but they are shown."""
    binary = dumped(damaged(program, ".init_array", 32, 0, tmp_path))
    assert (binary["descriptors"], binary["images"]) == ([], [])
    assert len(binary["entries"]) > 1


def test_a_table_that_nothing_registers(program: Path, tmp_path: Path) -> None:
    """The section's bounds differ from those in the constructor's table."""
    wrong = damaged(program, ".gnu.offload_funcs", 32, 8, tmp_path)
    assert dumped(wrong)["descriptors"] == []


@pytest.mark.parametrize("triple", [NVPTX, GCN])
def test_a_program_with_variables_alone(tmp_path: Path, triple: str) -> None:
    source = "".join(SOURCE.split("#pragma omp target map")[0]) + "return table[0]; }"
    # The linker plugin adds the calls of libgomp.
    flags = ("-Wl,--no-as-needed",)
    path = compiled(source, tmp_path / "program", *flags, targets=[triple])
    file = dumped(path)
    assert {entry["name"] for entry in file["entries"]} >= {"table"}
    assert [d["registered_by"] for d in file["descriptors"]] == ["init"]
    assert [f for f in findings(path) if f["severity"] == "error"] == []


def test_intermediate_code_is_said_to_be_unread(tmp_path: Path) -> None:
    result = omptool("dump", compiled(SOURCE, tmp_path / "source.o", "-c"))
    assert result.exit_code == 2
    assert "is GCC's intermediate code for a device" in result.stderr
