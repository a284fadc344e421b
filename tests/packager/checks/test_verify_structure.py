# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool verify`, OMP102 to OMP127: libraries, generations, leftovers, refusals of runtimes.

Compilers and linkers make the faults, as for users. Only faults that they cannot make here (a
descriptor of 2 GiB, a GPU's image in an old program) are changes of a sound program's model.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from clangs import compiled_by, tool
from fixture_programs import OMPTOOL
from llvm_runtime import llvm_libraries
from places import TESTS
from toolchain import (
    HOST,
    MAIN,
    NVPTX,
    OPENMP,
    PTX,
    REGION,
    X86_64,
    bundled,
    clang_offload,
    compile_c,
    device_image,
    fake_runtime,
    linked,
    omptool,
    run,
)
from verifying import findings

import packager
from packager.checks import CHECKS
from packager.hosts.load import load
from packager.model import DeviceImage, FatBinary, Links


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("structure")


@pytest.fixture(scope="module")
def clang_program(work: Path) -> Path:
    return clang_offload(OPENMP, work / "program")


def codes(path: Path, *options: str) -> list[tuple[str, str]]:
    return [
        (str(f["code"]), str(f["severity"])) for f in findings(path, *options)
    ]  # fmt: skip


def check(code: str, binary: FatBinary) -> list[str]:
    return [finding.severity for finding in CHECKS[code](binary)]


# ---- OMP102 ----


def test_a_library_that_was_linked_without_a_runtime(work: Path) -> None:
    part = clang_offload(OPENMP.replace("main", "part"), work / "lib.o", "-c", "-fPIC")
    run("gcc", "-shared", part, "-o", work / "alone.so")
    assert ("OMP102", "error") in codes(work / "alone.so")
    library = llvm_libraries() / "libomptarget.so"
    run("gcc", "-shared", part, library, "-o", work / "with.so")
    assert "OMP102" not in dict(codes(work / "with.so"))


# ---- OMP104 ----


@pytest.mark.slow
def test_objects_of_two_generations(work: Path) -> None:
    """One program has records of clang 19 and 22: each linker wrapper registers its own only."""
    source = work / "new.c"
    source.write_text(REGION)
    flags = ("-fopenmp", f"-fopenmp-targets={X86_64}")
    run(*tool("22"), *flags, "-c", source, "-o", work / "new.o")
    old = clang_offload(OPENMP, work / "old.o", "-c")
    run("clang-19", *flags, old, work / "new.o", "-o", work / "mixed")
    assert ("OMP104", "error") in codes(work / "mixed")
    assert "32-byte and 56-byte" in omptool("verify", work / "mixed").stdout


# ---- OMP112, 113, 115 ----


@pytest.mark.slow
def test_two_images_for_one_target(clang_program: Path) -> None:
    sound = load(clang_program)
    (image,) = sound.images
    (descriptor,) = sound.descriptors
    twice = sound._replace(
        images=(image, image._replace(index=1)),
        descriptors=(descriptor._replace(images=(0, 1)),),
    )
    assert check("OMP112", twice) == ["warning"]
    other = twice._replace(images=(image, image._replace(index=1, arch="other")))
    assert check("OMP112", other) == check("OMP112", sound) == []
    # A program of objects by clang and gcc: libgomp links GCC's part.
    theirs = tuple(image._replace(container="gcc") for image in twice.images)
    assert check("OMP112", twice._replace(images=theirs)) == []


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("sm_80", "sm_89", ["warning"]),
        ("sm_89", "sm_80", []),
        ("sm_80", "sm_90", []),
        ("sm_100", "sm_103", ["warning"]),
        ("sm_100f", "sm_103a", ["warning"]),
        ("sm_100f", "sm_120f", []),
        ("sm_100a", "sm_103a", []),
        ("sm_100a", "sm_100", ["warning"]),
        ("gfx90a", "gfx90a:xnack+", ["warning"]),
        ("gfx90a:xnack-", "gfx90a:xnack+", []),
        ("gfx90a:xnack+", "gfx90a", []),
        ("gfx906", "gfx90a", []),
    ],
)
def test_an_image_that_another_one_hides(
    clang_program: Path, first: str, second: str, expected: list[str]
) -> None:
    sound = load(clang_program)
    (image,) = sound.images
    (descriptor,) = sound.descriptors
    both = tuple(
        image._replace(index=index, arch=arch, contents=image.contents._replace(arch=arch))
        for index, arch in enumerate((first, second))
    )
    program = sound._replace(images=both, descriptors=(descriptor._replace(images=(0, 1)),))
    assert check("OMP112", program) == expected


@pytest.mark.slow
def test_clang_16_registers_containers(work: Path, clang_program: Path) -> None:
    source = work / "sixteen.c"
    source.write_text(OPENMP)
    assert ("OMP113", "warning") in codes(compiled_by("16", source, work))
    assert "OMP113" not in dict(codes(clang_program))


def test_an_image_that_brings_another_runtime(work: Path, clang_program: Path) -> None:
    sound = load(clang_program)
    assert check("OMP115", sound) == []
    assert check("OMP115", sound._replace(needed=("libomptarget.so.22.1",))) == ["warning"]
    (image,) = sound.images
    fixed = image.contents._replace(links=Links(search=("/opt/lib", "$ORIGIN")))
    assert check("OMP115", sound._replace(images=(image._replace(contents=fixed),))) == ["warning"]


# ---- OMP114 ----


@pytest.mark.parametrize(
    ("name", "libraries", "expected"),
    [
        ("__kmpc_barrier", [], [("OMP114", "error")]),
        ("omp_get_team_num", [], [("OMP114", "error")]),
        ("printf", [], []),
        ("__kmpc_barrier", ["/usr/lib/llvm-19/lib/libomp.so"], []),
    ],
)
def test_an_image_without_its_device_library(
    work: Path, tmp_path: Path, name: str, libraries: list[str], expected: list[tuple[str, str]]
) -> None:
    device = HOST.replace(
        "void first(void *p) {", f"int {name}(); void first(void *p) {{ {name}();"
    )
    image = tmp_path / "image.so"
    compile_c(device, tmp_path / "image.o", "-c", "-fPIC", "-fno-builtin", "-w")
    run("gcc", "-shared", tmp_path / "image.o", *libraries, "-o", image)
    host = compile_c(HOST + MAIN, tmp_path / "host.o", "-c", "-fPIC")
    out = bundled(host, tmp_path / "bundled.o", {X86_64: image})
    assert codes(linked([out], tmp_path / "program", runtime=fake_runtime(tmp_path))) == expected


# ---- OMP116 to 119 ----


def ptx_program(work: Path) -> Path:
    host = compile_c(HOST + MAIN, work / "ptx.o", "-c", "-fPIC")
    (work / "image.ptx").write_text(PTX)
    out = bundled(host, work / "ptx-bundled.o", {f"{NVPTX}:sm_70": work / "image.ptx"})
    return linked([out], work / "ptx", runtime=fake_runtime(work))


def test_ptx_is_compiled_when_it_is_loaded(work: Path) -> None:
    program = load(ptx_program(work))
    assert check("OMP116", program) == ["info"]
    (image,) = program.images
    cubin = image._replace(index=1, contents=image.contents._replace(kind="cubin"))
    assert check("OMP116", program._replace(images=(image, cubin))) == []  # the cubin is ready


def as_cubin(image: DeviceImage, abi_version: int) -> DeviceImage:
    contents = image.contents._replace(kind="cubin", abi_version=abi_version)
    return image._replace(triple=NVPTX, contents=contents)


@pytest.mark.parametrize(
    ("library", "abi_version", "expected"),
    [
        ("libomptarget.so.19.1", 8, ["warning"]),
        ("libomptarget.so.19.1", 7, []),
        ("libomptarget.so.22.1", 8, []),
        ("libomptarget.so", 8, []),
    ],
)
def test_cubins_of_cuda_13(
    clang_program: Path, library: str, abi_version: int, expected: list[str]
) -> None:
    sound = load(clang_program)
    images = (as_cubin(sound.images[0], abi_version),)
    assert check("OMP117", sound._replace(needed=(library,), images=images)) == expected


def test_destructors_and_cuda(clang_program: Path) -> None:
    sound = load(clang_program)
    images = (as_cubin(sound.images[0], 7),)
    assert check("OMP119", sound._replace(abi="llvm-14", images=images)) == ["warning"]
    assert check("OMP119", sound._replace(abi="llvm-19", images=images)) == []
    assert check("OMP119", sound._replace(abi="llvm-14")) == []


@pytest.mark.slow
def test_two_tables_that_are_registered_apart(work: Path, clang_program: Path) -> None:
    part = work / "part.c"
    part.write_text(REGION.replace("f(", "part("))
    flags = ("-fopenmp", f"-fopenmp-targets={X86_64}")
    run("clang-19", *flags, "-c", part, "-o", work / "part.o")
    run("clang-19", *flags, "-r", work / "part.o", "-o", work / "closed.o")
    assert ("OMP123", "warning") in codes(work / "closed.o")
    assert "OMP123" not in dict(codes(work / "part.o"))
    (work / "main.c").write_text(OPENMP)
    run("clang-19", *flags, work / "main.c", work / "closed.o", "-o", work / "two")
    assert codes(work / "two") == [("OMP118", "warning")]
    assert check("OMP118", load(clang_program)) == []
    sound = load(clang_program)
    assert check("OMP118", sound._replace(descriptors=sound.descriptors * 2)) == ["warning"]


# ---- OMP120 to 122 ----


@pytest.mark.slow
def test_offload_flags_and_no_region(work: Path) -> None:
    path = clang_offload("int main(void) { return 0; }", work / "empty")
    assert codes(path) == [("OMP120", "info")]


def test_images_in_front_of_the_data(clang_program: Path) -> None:
    sound = load(clang_program)
    (image,) = sound.images
    far = sound._replace(images=(image._replace(size=3 << 30),), data_address=4 << 30)
    assert check("OMP121", far) == ["warning"]
    assert check("OMP121", far._replace(data_address=1)) == []  # they come last
    assert check("OMP121", sound) == []


@pytest.mark.exhaustive
def test_images_in_front_of_the_data_that_clang_put_there(tmp_path: Path) -> None:
    """The image has 1600 MiB, for which the linker wrapper takes a minute."""
    small = clang_offload(OPENMP, tmp_path / "program")
    run(OMPTOOL, "extract", small, "-o", tmp_path / "images")
    (image,) = (tmp_path / "images").iterdir()
    os.truncate(image, 1600 << 20)  # ELF doesn't mind what follows it
    try:
        far = clang_offload(OPENMP, small, f"-Wl,--override-image=openmp={image}")
        assert codes(far) == [("OMP121", "warning")]
    finally:
        shutil.rmtree(tmp_path)


def test_without_section_headers(work: Path, clang_program: Path) -> None:
    out = work / "headerless"
    run("llvm-strip-19", "--strip-sections", clang_program, "-o", out)
    assert codes(out) == [("OMP122", "info")]


# ---- OMP124 to 127 ----


def test_a_member_that_lost_its_device_code(work: Path) -> None:
    whole = clang_offload(OPENMP.replace("main", "part"), work / "whole.o", "-c")
    cut = work / "cut.o"
    run("objcopy", "-R", ".llvm.offloading", whole, cut)
    run("ar", "rcs", work / "whole.a", whole)
    run("ar", "rcs", work / "cut.a", cut)
    assert ("OMP124", "error") in codes(work / "cut.a")
    assert "OMP124" not in dict(codes(work / "whole.a"))
    assert "OMP124" not in dict(codes(cut))  # an object may be bundled yet


@pytest.mark.slow
def test_shared_memory_without_xnack(work: Path) -> None:
    source = "#pragma omp requires unified_shared_memory\n" + OPENMP
    program = load(clang_offload(source, work / "usm"))
    assert check("OMP125", program) == []  # a CPU needs no XNACK
    (image,) = program.images
    for arch, expected in (("gfx90a", ["warning"]), ("gfx90a:xnack+", [])):
        contents = image.contents._replace(kind="amdgcn", arch=arch)
        images = (image._replace(contents=contents, arch=arch),)
        assert check("OMP125", program._replace(images=images)) == expected


def test_host_and_image_of_two_copies_of_a_source(work: Path, clang_program: Path) -> None:
    sound = load(clang_program)
    (table,) = sound.tables
    moved = [
        e._replace(name=e.name.replace("__omp_offloading_", "__omp_offloading_1"))
        for e in table.entries
    ]
    other = sound._replace(tables=(table._replace(entries=tuple(moved)),))
    assert check("OMP126", other) == ["info", "info"]
    assert check("OMP126", sound) == []


def two_orders(work: Path) -> list[Path]:
    """Bundle two objects whose images are in different orders."""
    image = device_image(HOST.replace("table", "t2"), work / "o.so")
    (work / "o.ptx").write_text(PTX.replace("table", "t2"))
    images = {X86_64: image, f"{NVPTX}:sm_70": work / "o.ptx"}
    source = HOST.replace("table", "t2")
    host = compile_c(source, work / "order.o", "-c", "-fPIC")
    turned = dict(reversed(images.items()))
    return [
        bundled(host, work / "order1.o", images),
        bundled(host, work / "order2.o", turned),
    ]


def test_triples_in_two_orders(work: Path) -> None:
    one, two = two_orders(work)
    for path in (one, two):
        assert "OMP127" not in dict(codes(path))
    result = omptool("verify", "--select", "OMP127", one, two)
    assert result.exit_code == 1
    assert f"{one} lists {X86_64}, {NVPTX}, this file {NVPTX}, {X86_64}" in result.stdout
    assert omptool("verify", "--select", "OMP127", one, one).exit_code == 0
    run("ar", "rcs", work / "orders.a", one, two)
    assert omptool("verify", "--select", "OMP127", work / "orders.a").exit_code == 1


# ---- OMP108 between objects ----


@pytest.mark.slow
def test_one_source_compiled_twice(work: Path) -> None:
    """The names of both kernels are the same: the linker keeps one, for both callers."""
    source = TESTS / "packager" / "checks" / "named_region.c"
    flags = ("-O1", "-fopenmp", f"-fopenmp-targets={X86_64}", "-c")
    objects = []
    for name, value in (("one", 1), ("two", 2), ("same", 1)):
        objects.append(work / f"{name}.o")
        define = (f"-DNAME={name}", f"-DVALUE={value}")
        run("clang-19", *flags, *define, source, "-o", objects[-1])
    one, two, same = objects
    result = omptool("verify", "--select", "OMP108", one, two)
    assert result.exit_code == 1
    assert f"region:4 is in {one}, too, and has other code for {X86_64}" in result.stdout
    assert omptool("verify", "--select", "OMP108", one, same).exit_code == 0
    run("ar", "rcs", work / "twice.a", one, two)
    assert omptool("verify", "--select", "OMP108", work / "twice.a").exit_code == 1
    with zipfile.ZipFile(work / "twice.whl", "w", zipfile.ZIP_DEFLATED) as wheel:
        for path in (one, two):
            wheel.write(path, path.name)
    assert omptool("verify", "--select", "OMP108", work / "twice.whl").exit_code == 1
    assert not packager.verify(one, same, select=["OMP108"])[1].has_errors
    assert packager.verify(one, two, select=["OMP108"])[1].has_errors
    for other, code in ((one, 0), (two, 1)):
        command = [OMPTOOL, "verify", "--select", "OMP108", "-", str(other)]
        done = subprocess.run(command, input=same.read_bytes(), capture_output=True, check=False)
        assert done.returncode == code, done.stdout


ABSENT: dict[str, Callable[[FatBinary], FatBinary]] = {
    "no descriptors": lambda b: b._replace(descriptors=()),
    "no images": lambda b: b._replace(images=(), tables=(), descriptors=()),
}


@pytest.mark.parametrize("code", [c for c in CHECKS if c not in ("OMP101", "OMP103")])
@pytest.mark.parametrize("less", ABSENT.values(), ids=ABSENT)
def test_checks_do_not_stumble_over_what_is_not_there(
    clang_program: Path, code: str, less: Callable[[FatBinary], FatBinary]
) -> None:
    assert check(code, less(load(clang_program))) == []
