# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Regions in the libraries of a program, and images of other runtimes than OpenMP's."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
import sycl
from clangs import INSTALLED, OFFLOADING, tool
from doctoring import PROGRAM, diagnosis, output, predicted
from documents import document
from sycl import Part
from toolchain import compile_c, omptool, run

from packager.hosts.load import load
from packager.machine import other_runtimes
from packager.machine.dynamic_loader import Library
from packager.machine.facts import LEVEL_ZERO, Cuda, Machine
from packager.model import Contents, DeviceImage, FatBinary, ImageKind, Model, Registration

REGIONS = PROGRAM.replace("int main(void)", "int regions(void)")
CALLER = "int regions(void); int main(void) { return regions(); }"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide a library with two regions and a variable."""
    folder = tmp_path_factory.mktemp("libraries")
    (folder / "regions.c").write_text(REGIONS)
    out = folder / "libregions.so"
    run(*tool(INSTALLED), "-O1", *OFFLOADING, "-fPIC", "-shared", folder / "regions.c", "-o", out)
    return out


def linked_with(library: Path) -> tuple[str, ...]:
    search = f"-Wl,-rpath,{library.parent},--allow-shlib-undefined"
    return (f"-L{library.parent}", "-lregions", search)


@pytest.mark.offloads
def test_regions_that_are_all_in_a_library(library: Path, tmp_path: Path) -> None:
    program = compile_c(CALLER, tmp_path / "program.c.out", *linked_with(library))
    found = diagnosis(program)
    assert {entry["file"] for entry in found["entries"]} == {str(library)}
    assert {image["file"] for image in found["images"]} == {str(library)}
    assert predicted(found) == output(program) == "00\n"
    text = omptool("doctor", program).stdout
    assert "no offload code" not in text
    assert "under `omptool run` everything runs on a device (1 device)" in text
    assert str(library) in text
    off = {"OMPTOOL_PLUGINS": "none"}
    assert predicted(diagnosis(program, **off)) == output(program, **off) == "11\n"


@pytest.mark.offloads
def test_regions_of_the_program_and_of_a_library(library: Path, tmp_path: Path) -> None:
    """The library registers its regions first; numbers continue in the program."""
    source = tmp_path / "both.c"
    source.write_text(PROGRAM.replace("return 0; }", "return regions(); }"))
    text = source.read_text().replace("int main", "int regions(void);\nint main")
    source.write_text(text)
    program = tmp_path / "both"
    run(*tool(INSTALLED), "-O1", *OFFLOADING, source, "-o", program, *linked_with(library))
    found = diagnosis(program)
    kernels = [entry["file"] for entry in found["entries"] if entry["kind"] == "kernel"]
    assert kernels == [str(library)] * 2 + [str(program)] * 2
    assert [entry["index"] for entry in found["entries"]] == list(range(6))
    assert output(program) == "00\n00\n"
    assert predicted(found) == "0000\n"
    assert {tuple(image["devices"]) for image in found["images"]} == {(0,)}


def test_a_library_that_is_damaged(library: Path, tmp_path: Path) -> None:
    """Predictions for the program's own regions are not affected."""
    data = bytearray(library.read_bytes())
    (table,) = load(library).tables
    own = tmp_path / "libregions.so"
    at = data.index(b"\x10\xff\x10\xad") + 16 if b"\x10\xff\x10\xad" in data else table.offset
    data[at : at + 8] = b"\xff" * 8
    own.write_bytes(data)
    program = compile_c(CALLER, tmp_path / "caller", *linked_with(own))
    done = omptool("doctor", "--json", program)
    found = [f for f in document("doctor", done.stdout)["findings"] if f["code"] == "OMP210"]
    assert [(f["severity"], f["message"].startswith(f"{own}: ")) for f in found] == [
        ("warning", True)
    ]


def test_a_program_without_any(library: Path, tmp_path: Path) -> None:
    program = compile_c("int main(void) { return 0; }", tmp_path / "plain")
    assert omptool("doctor", program).stdout == f"{program}: no offload code\n"


def test_a_library_of_sycl(tmp_path: Path) -> None:
    """doctor names the missing needs of the library; both commands find its images."""
    parts = [Part(sycl.spirv("first")) for _ in range(3)]
    soname = ("-shared", "-Wl,-soname,libsycl.so.9")
    needed = compile_c("void __sycl_register_lib(void *p) {}", tmp_path / "libsycl.so.9", *soname)
    path = sycl.library(tmp_path, parts, flags=(str(needed),))
    text = omptool("doctor", path).stdout
    assert "3 images for SYCL's runtime do not run here: libsycl.so is not found" in text
    assert "nothing to offload" not in text
    assert "SYCL's runtime is libsycl.so.9, which is not found" in text
    with_it = {"LD_LIBRARY_PATH": str(tmp_path)}
    done = omptool("doctor", "--json", path, environment=with_it)
    (other,) = document("doctor", done.stdout)["others"]
    assert (other["runtime"], other["images"], other["registrations"]) == ("sycl", 3, 1)
    assert (other["library"], other["path"]) == ("libsycl.so.9", str(needed))
    assert done.exit_code == (1 if other["reason"] else 0)
    (checked,) = document("verify", omptool("verify", "--json", path).stdout)["files"]
    assert "OMP120" not in [finding["code"] for finding in checked["findings"]]


def test_a_program_whose_library_has_images_of_another_runtime(tmp_path: Path) -> None:
    path = sycl.library(tmp_path, [Part(sycl.spirv("first"))])
    flags = ("-Wl,--no-as-needed", f"-L{tmp_path}", "-lsycl_user", f"-Wl,-rpath,{tmp_path}")
    text = "int main(void) { return 0; }\nvoid __sycl_register_lib(void *p) {}"
    program = compile_c(text, tmp_path / "program", "-rdynamic", *flags)
    done = omptool("doctor", program)
    assert done.stdout.startswith(f"{program}: no offload code of its own\n")
    assert str(path) in done.stdout
    assert "SYCL's runtime" in done.stdout
    said = document("doctor", omptool("doctor", "--json", program).stdout)
    assert said["elsewhere"] == [{"path": str(path), "runtimes": ["sycl"]}]


def image(kind: ImageKind, machine: str, arch: str) -> DeviceImage:
    return DeviceImage(0, "raw", "", "", 0, 8, None, Contents(kind, machine, arch))


def machine(**facts: object) -> Machine:
    around = Machine([], [], {}, [], dict(os.environ))
    return replace(around, **facts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "code", "arch", "model", "facts", "expected"),
    [
        ("amdgcn", "amdgcn", "gfx90a:xnack-", "hip", {"amd": ("gfx906", "gfx90a")}, True),
        ("amdgcn", "amdgcn", "gfx906", "hip", {"amd": ("gfx90a",)}, False),
        ("amdgcn", "amdgcn", "gfx9-4-generic", "hip", {"amd": ("gfx942",)}, True),
        ("amdgcn", "amdgcn", "gfx9-4-generic", "hip", {"amd": ("gfx90a",)}, False),
        ("amdgcn", "amdgcn", "gfx90a", "hip", {}, False),
        ("spirv", "spirv64", "SPIR-V 1.6", "hip", {"amd": ("gfx1100",)}, True),
        ("cubin", "nvptx64", "sm_80", "cuda", {"cuda": Cuda("", (86,))}, True),
        ("cubin", "nvptx64", "sm_86", "cuda", {"cuda": Cuda("", (80,))}, False),
        ("cubin", "nvptx64", "sm_80", "cuda", {"cuda": Cuda("", (90,))}, False),
        ("cubin", "nvptx64", "sm_90a", "cuda", {"cuda": Cuda("", (90,))}, True),
        ("cubin", "nvptx64", "sm_100f", "cuda", {"cuda": Cuda("", (103,))}, True),
        ("cubin", "nvptx64", "sm_100a", "cuda", {"cuda": Cuda("", (103,))}, False),
        ("ptx", "nvptx64", "sm_75", "cuda", {"cuda": Cuda("", (120,))}, True),
        ("ptx", "nvptx64", "sm_90a", "cuda", {"cuda": Cuda("", (120,))}, False),
        ("ptx", "nvptx64", "sm_75", "cuda", {"cuda": Cuda("no driver")}, False),
        ("spirv", "spirv64", "SPIR-V 1.0", "sycl", {"devices": {"opencl": 1}}, True),
        ("spirv", "spirv64", "SPIR-V 1.0", "sycl", {"files": frozenset((LEVEL_ZERO,))}, True),
        ("spirv", "spirv64", "SPIR-V 1.0", "sycl", {}, False),
        ("zebin", "intelgt", "12.60.7", "sycl", {"devices": {"opencl": 1}}, False),
    ],
)
def test_what_takes_an_image(
    kind: ImageKind,
    code: str,
    arch: str,
    model: Model,
    facts: dict[str, object],
    expected: bool,
) -> None:
    taken = other_runtimes.takes(image(kind, code, arch), model, machine(**facts))
    assert taken.is_taken is expected
    assert taken.rule
    assert bool(taken.reason) is not expected


def test_what_keeps_it_from_running() -> None:
    """The library, the driver, the device: each is named when it lacks."""
    images = (image("amdgcn", "amdgcn", "gfx90a"),)
    rows = (Registration("hip", 0, 0, (0,), "__hip_module_ctor"),)
    program = FatBinary("lib", "x86_64", "shared", None, images, (), (), registrations=rows)
    absent = Library("libamdhip64.so.6", "lib", None)
    present = absent._replace(path=Path("/opt/libamdhip64.so.6"))
    driver = frozenset(("libhsa-runtime64.so.1",))
    cases: list[tuple[Machine, str]] = [
        (machine(libraries=[absent], files=driver, amd=("gfx90a",)), "libamdhip64.so is not found"),
        (machine(libraries=[present]), "no driver is on this machine (libhsa-runtime64.so.1)"),
        (machine(libraries=[present], files=driver), "there is no AMD GPU"),
        (machine(libraries=[present], files=driver, amd=("gfx906",)), "no image is for gfx906"),
        (machine(libraries=[present], files=driver, amd=("gfx90a",)), ""),
    ]
    for around, reason in cases:
        (other,) = other_runtimes.diagnose(program, around)
        assert other.reason == reason
        assert other.taken == ("gfx90a" in around.amd)
