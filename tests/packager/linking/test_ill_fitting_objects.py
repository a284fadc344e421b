# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Objects that do not fit together: errors and warnings, and the objects that they name."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from clangs import INSTALLED, NEWEST, libraries, made, tool
from documents import dumped, dumped_images
from fixture_programs import NVPTX, X86_64
from linked_programs import (
    PRINTED,
    SOURCES,
    TWO_TARGETS,
    compiled,
    driver,
    linked,
    printed,
    program,
)
from linking import OWN_LINKER
from toolchain import omptool


def test_a_device_symbol_that_nothing_defines_names_the_object(tmp_path: Path) -> None:
    main, summed, _ = program(tmp_path)
    host = made(tmp_path / "host.o", "gcc", "-c", SOURCES / "scaled.c")
    done = omptool("link", "--", *driver(), OWN_LINKER, main, summed, host, "-o", tmp_path / "app")
    assert done.exit_code == 2
    what = f"its device code for {X86_64} uses scaled, which nothing defines"
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"Error: {summed}: {what}; ")
    assert not (tmp_path / "app").exists()


def refused(tmp_path: Path, *words: object) -> str:
    """Return the error about objects that cannot be linked together."""
    done = omptool("link", "--", *driver(), *words, "-o", tmp_path / "app")
    assert done.exit_code == 2, done.output
    assert not (tmp_path / "app").exists()
    (line,) = done.stderr.splitlines()
    return line


def warned(tmp_path: Path, *words: object) -> str:
    """Return the warnings about objects that can be linked."""
    return linked(tmp_path / "app", *driver(), *words).replace(f"{tmp_path}/", "")


def test_entries_of_two_generations(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    main, _, scaled = program(tmp_path)
    newer = compiled(tmp_path / "new", "summed", version="22")
    line = refused(tmp_path, main, scaled, newer)
    older = f"{main} (32 bytes each, in omp_offloading_entries)"
    named = f"{older} and {newer} (56 bytes each, in llvm_offload_entries)"
    assert line == f"Error: entries of two generations cannot be in one table: {named}"


def test_entries_of_clang_20(tmp_path: Path) -> None:
    """Clang 20 has the records of 21 in the section of 19."""
    objects = program(tmp_path, version="20")
    linked(tmp_path / "app", *driver("20"), *objects)
    assert printed(tmp_path / "app", LD_LIBRARY_PATH=libraries("20")) == PRINTED
    (tmp_path / "app").unlink()
    newer = compiled(tmp_path, "summed", version="22")
    line = refused(tmp_path, objects[0], newer, objects[2])
    assert f"bytes each, in omp_offloading_entries) and {newer} (56 bytes each, in llvm" in line


def test_the_abi_of_clang_18(tmp_path: Path) -> None:
    """Clang 18's objects make calls like 17's, and its kernels have the parameters of 19's."""
    for version in ("17", "18"):
        path = compiled(tmp_path, "summed", version=version)
        assert dumped(path)["abi"] == {"17": "llvm-16", "18": "llvm-18"}[version]


def test_an_abi_that_the_entries_are_not_of(tmp_path: Path) -> None:
    main, *others = program(tmp_path)
    for abi in ("interface", "llvm-22"):
        done = omptool("link", "--abi", abi, "--", *driver(), main, *others)
        what = f"its entries are of llvm-19; a wrapper for {abi} cannot register them"
        assert (done.exit_code, done.stderr) == (2, f"Error: {main}: {what}\n")


def test_generations_with_one_form_of_entries(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    main, _, scaled = program(tmp_path)
    older = compiled(tmp_path / "old", "summed", version="16")
    said = warned(tmp_path, main, scaled, older)
    assert "one runtime may not serve all: calls.o (llvm-19), old/summed.o (llvm-16)" in said
    assert printed(tmp_path / "app") == PRINTED


@pytest.mark.slow
def test_two_bodies_of_one_kernel(tmp_path: Path) -> None:
    """A source that was compiled twice: its kernels have one name."""
    (tmp_path / "other").mkdir()
    main, summed, scaled = program(tmp_path)
    flags = ("-DFACTOR=3", "-Dsummed=summed")
    other = compiled(tmp_path / "other", "summed", *flags)
    same = tmp_path / "same.o"
    subprocess.run(["objcopy", "--weaken", summed, same], check=True)
    subprocess.run(["objcopy", "--weaken", other], check=True)
    said = warned(tmp_path, main, summed, scaled, other)
    assert "differs in summed.o and other/summed.o: the link takes that of summed.o" in said
    assert "differ" not in warned(tmp_path, main, summed, scaled, same)


@pytest.mark.slow
@pytest.mark.parametrize("version", ["14", INSTALLED])
def test_one_body_between_others(version: str, tmp_path: Path) -> None:
    """Only the compiler's numbers differ, not the code."""
    clang = [*tool(version, "clang++"), "-O1", "-ffunction-sections", "-fopenmp"]
    words = [*clang, f"-fopenmp-targets={X86_64}", "-c", SOURCES / "inlined.cpp"]
    parts = [made(tmp_path / "one.o", *words), made(tmp_path / "two.o", *words, "-DOTHER")]
    driver = [*tool(version, "clang++"), "-fopenmp", f"-L{libraries(version).split(':')[-1]}"]
    said = linked(tmp_path / "app", *driver, *parts)
    assert "differ" not in said
    assert omptool("verify", "--select", "OMP108", *parts).exit_code == 0
    assert printed(tmp_path / "app", LD_LIBRARY_PATH=libraries(version)) == "6 40\n"


def test_entries_without_device_code(tmp_path: Path) -> None:
    main, summed, scaled = program(tmp_path)
    subprocess.run(["objcopy", "--remove-section", ".llvm.offloading", summed], check=True)
    done = omptool("link", "--", *driver(), main, summed, scaled, "-o", tmp_path / "app")
    assert f"no device code in {summed}: the regions there run on the host" in done.stderr
    assert done.exit_code == 1  # verify finds that no image has the kernel


def turned(path: Path) -> Path:
    """Swap the two images of an object, as another compiler may order them."""
    held = path.with_suffix(".images")
    subprocess.run(["objcopy", "--dump-section", f".llvm.offloading={held}", path], check=True)
    data = held.read_bytes()
    second = data.index(b"\x10\xff\x10\xad", 4)
    held.write_bytes(data[second:] + data[:second])
    subprocess.run(["objcopy", "--update-section", f".llvm.offloading={held}", path], check=True)
    return path


@pytest.mark.slow
def test_a_target_that_an_object_lacks_and_another_order(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
    main = compiled(tmp_path, "calls", *TWO_TARGETS)
    summed = turned(compiled(tmp_path / "two", "summed", *TWO_TARGETS))
    scaled = compiled(tmp_path, "scaled", *TWO_TARGETS)
    said = warned(tmp_path, main, summed, scaled)
    order = f"two/summed.o has its images in the order {X86_64}, {NVPTX} sm_90, "
    assert f"{order}calls.o, scaled.o in another: devices are numbered {NVPTX} sm_90, " in said
    cpu = compiled(tmp_path / "one", "summed")
    words = [main, cpu, scaled]
    done = omptool("link", "--", *driver(), *words, "-o", tmp_path / "app")
    assert f"no code for {NVPTX}:sm_90 in {cpu}" in done.stderr
    assert "order" not in done.stderr


def test_an_object_that_lacks_a_target_is_the_odd_one(tmp_path: Path) -> None:
    """The others have their images in one order, and are two."""
    main, scaled = (compiled(tmp_path, name, *TWO_TARGETS) for name in ("calls", "scaled"))
    cpu = compiled(tmp_path, "summed")
    done = omptool("link", "--dry-run", "--", *driver(), cpu, main, scaled, "-o", tmp_path / "app")
    devices = f"devices are numbered {X86_64}, {NVPTX} sm_90"
    whose = f"the order in {main}, {scaled} is {NVPTX} sm_90, {X86_64}"
    lack = f"{cpu} comes first and has no code for {NVPTX} sm_90"
    assert f"Warning: {lack}: {devices}, but {whose}\n" in done.stderr


@pytest.mark.parametrize("version", ["14", NEWEST])
def test_what_not_all_objects_require(version: str, tmp_path: Path) -> None:
    """Up to clang 18 a constructor registers requirements, and since then an entry."""
    main = compiled(tmp_path, "calls", version=version)
    summed = compiled(tmp_path, "summed", "-DSHARED", version=version)
    done = omptool("link", "--dry-run", "--", *driver(version), main, summed)
    said = f"{summed} has `requires unified_shared_memory`, {main} lacks it: "
    assert done.stderr.startswith(
        f"Warning: {said}OpenMP requires it of all objects with regions\n"
    )


def test_images_of_other_models(tmp_path: Path) -> None:
    main, summed, scaled = program(tmp_path)
    host = made(tmp_path / "host.o", "gcc", "-c", SOURCES / "scaled.c")
    packed = tmp_path / "packed"
    image = f"--image=file={scaled},triple={NVPTX},arch=sm_90,kind=cuda"
    subprocess.run([*tool(INSTALLED, "clang-offload-packager"), image, "-o", packed], check=True)
    section = f".llvm.offloading={packed}"
    subprocess.run(["objcopy", "--add-section", section, host], check=True)
    line = refused(tmp_path, main, summed, host)
    assert line.startswith(f"Error: {host} has images of CUDA, and only OpenMP's are linked")


def test_images_that_register_themselves(tmp_path: Path) -> None:
    """CUDA's or HIP's compiler made the object, in a program with regions and in another."""
    hip = [
        "-x",
        "hip",
        "--offload-arch=gfx90a",
        "-nogpuinc",
        "-nogpulib",
        "--no-offload-new-driver",
    ]
    other = made(tmp_path / "other.o", *tool(INSTALLED), *hip, "-c", SOURCES / "other_model.hip")
    assert [image["container"] for image in dumped_images(other)] == ["hip-fatbin"]
    done = omptool("link", "--dry-run", "--", *driver(), *program(tmp_path), other)
    assert (done.exit_code, len(done.stderr.splitlines())) == (0, 2)
    linked(tmp_path / "lib.so", "gcc", "-shared", other)


def test_a_triple_that_is_none(tmp_path: Path) -> None:
    main, summed, scaled = program(tmp_path)
    scaled.write_bytes(scaled.read_bytes().replace(b"\0triple\0", b"\0tripel\0"))
    line = refused(tmp_path, main, summed, scaled)
    assert line == f"Error: {scaled}: its device code has a wrong triple: '' is not a target triple"


def test_a_damaged_object_is_named(tmp_path: Path) -> None:
    main, summed, scaled = program(tmp_path)
    data = bytearray(scaled.read_bytes())
    at = data.index(b"\x10\xff\x10\xad")
    data[at + 8 : at + 16] = b"\xff" * 8
    scaled.write_bytes(data)
    assert refused(tmp_path, main, summed, scaled).startswith(f"Error: {scaled}: ")


@pytest.mark.parametrize("target", [X86_64, NVPTX])
def test_a_device_library_in_vain(target: str, tmp_path: Path) -> None:
    """Machine code has no use for a library of bitcode, which was dropped in silence."""
    on_gpu = ("-nogpulib", f"-Xopenmp-target={NVPTX}", "-march=sm_80") if target == NVPTX else ()
    (tmp_path / "k.c").write_text("int f(void) {\n  int x;\n#pragma omp target map(from : x)\n")
    with (tmp_path / "k.c").open("a") as file:
        file.write("  x = 1;\n  return x;\n}\nint main(void) { return f(); }\n")
    (tmp_path / "library.c").write_text("int twice(int x) { return 2 * x; }\n")
    words = ("-O1", "-fopenmp", f"-fopenmp-targets={target}", *on_gpu)
    out = made(tmp_path / "k.o", *driver(), *words, "-c", tmp_path / "k.c")
    clang = (*tool(INSTALLED), f"--target={target}", "-emit-llvm", "-c")
    library = made(tmp_path / "library.bc", *clang, tmp_path / "library.c")
    command = ("--", *driver(), out, "-o", tmp_path / "app")
    done = omptool("link", "--device-lib", library, *command)
    what = f"holds machine code for {'sm_80' if on_gpu else 'x86_64'}"
    why = "bitcode libraries (library.bc) cannot be linked with it: compile with -foffload-lto"
    assert (done.exit_code, done.stderr) == (2, f"Error: {out}: {what}; {why}\n")
