# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks of images by real tools: images with a fault, and similar ones without.

They are put into programs by the wrappers of clang 14 and 22 and by `omptool bundle`; the cubin and
the AMD code object are the corpus's, of CUDA 13's ptxas and of LLVM 19.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from clangs import libraries, tool, unpacked
from documents import dumped_images
from llvm_runtime import llvm_libraries
from places import CORPUS, TESTS
from toolchain import (
    HOST,
    MAIN,
    NVPTX,
    OPENMP,
    PTX,
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

CUBIN, AMD = CORPUS / "seed-image.cubin", CORPUS / "seed-image.co"
AMDGCN = "amdgcn-amd-amdhsa"
KERNEL = f"""
target triple = "{AMDGCN}"
define amdgpu_kernel void @first(ptr addrspace(1) %p) {{
  store i32 1, ptr addrspace(1) %p
  ret void
}}
"""
OFFLOAD = ("-O1", "-fopenmp", f"-fopenmp-targets={X86_64}")


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("images")
    (folder / "image.ptx").write_text(PTX)
    fake_runtime(folder)
    compile_c(HOST + MAIN, folder / "host.o", "-c", "-fPIC")
    return folder


def codes(path: Path, *options: str) -> dict[str, str]:
    return {str(f["code"]): str(f["severity"]) for f in findings(path, *options)}


def wrapped(version: str, source: str, images: list[Path], folder: Path, *words: str) -> Path:
    """Build a program whose images are these, wrapped by the clang's own tool."""
    usr = unpacked(version)
    (folder / "main.c").write_text(source)
    clang = tool(version)
    run(*clang, *OFFLOAD, "-c", folder / "main.c", "-o", folder / "whole.o")
    sections = ("-R", ".llvm.offloading", "-R", "__CLANG_OFFLOAD_BUNDLE__*")
    run("objcopy", "-w", *sections, folder / "whole.o", folder / "main.o")
    wrapper = {"14": "clang-offload-wrapper", "22": "llvm-offload-wrapper"}[version]
    run(*tool(version, wrapper), *words, "-o", folder / "wrapper.bc", *images)
    run(*clang, "-c", folder / "wrapper.bc", "-o", folder / "wrapper.o")
    runtime = next((usr / f"lib/llvm-{version}/lib").glob("libomptarget.so*"))
    parts = (folder / "main.o", folder / "wrapper.o", runtime, "/usr/lib/llvm-19/lib/libomp.so")
    out = folder / "wrapped"
    run("gcc", *parts, "-Wl,--allow-shlib-undefined", "-o", out)
    return out


@pytest.mark.parametrize(
    ("first", "second", "is_hidden"),
    [("sm_70", "sm_70", True), ("sm_70", "sm_80", False)],
)
def test_two_images_for_one_target(
    tmp_path: Path, first: str, second: str, is_hidden: bool
) -> None:
    packed = []
    for number, arch in enumerate((first, second)):
        text, blob = tmp_path / f"{number}.ptx", tmp_path / f"{number}.bin"
        text.write_text(PTX.replace("sm_70", arch))
        image = f"--image=file={text},triple={NVPTX},arch={arch},kind=openmp"
        run("clang-offload-packager-19", "-o", blob, image)
        packed.append(blob)
    path = wrapped("22", OPENMP, packed, tmp_path, "--kind=openmp", f"--triple={NVPTX}")
    assert codes(path).get("OMP112") == ("warning" if is_hidden else None)


def test_spirv_that_clang_declares_by_the_end_of_its_name(tmp_path: Path) -> None:
    """Clang 22 on calls it an object, as its file ends in ".o"."""
    path = tmp_path / "k.o"
    (tmp_path / "k.c").write_text(OPENMP)
    words = ("-O1", "-fopenmp", "-fopenmp-targets=spirv64-intel", "-nogpulib")
    run(*tool("22"), *words, "-c", tmp_path / "k.c", "-o", path)
    (image,) = dumped_images(path)
    assert (image["kind"], image["declared_kind"]) == ("spirv", "elf")
    assert "OMP110" not in codes(path)


@pytest.mark.parametrize(
    "flags",
    [["libomptarget.so.19.1"], ["-Wl,-rpath,/opt/lib"], []],
    ids=["another runtime", "a fixed folder", "neither"],
)
def test_what_an_image_brings(work: Path, tmp_path: Path, flags: list[str]) -> None:
    """The host needs libomptarget.so."""
    found = [llvm_libraries() / word if word.startswith("lib") else word for word in flags]
    words = ("-shared", "-fPIC", "-Wl,--no-as-needed", *map(str, found))
    image = compile_c(HOST, tmp_path / "image.so", *words)
    out = bundled(work / "host.o", tmp_path / "bundled.o", {X86_64: image})
    path = linked([out], tmp_path / "x", runtime=work / "libomptarget.so")
    assert codes(path).get("OMP115") == ("warning" if flags else None)


@pytest.mark.parametrize("flags", [[], ["-Wl,--enable-new-dtags"], ["-Wl,--disable-new-dtags"]])
def test_a_folder_that_the_host_names_too(tmp_path: Path, flags: list[str]) -> None:
    """Clang links images with the host's words."""
    path = clang_offload(OPENMP, tmp_path / "x", "-Wl,-rpath,/opt/one:/opt/two", *flags)
    (image,) = dumped_images(path)
    assert "libomptarget.so.19.1" in image["needed"]
    assert "OMP115" not in codes(path)


def test_ptx_alone_and_beside_a_cubin(work: Path, tmp_path: Path) -> None:
    alone = {f"{NVPTX}:sm_70": work / "image.ptx"}
    for images, expected in ((alone, "info"), (alone | {f"{NVPTX}:sm_80": CUBIN}, None)):
        out = bundled(work / "host.o", tmp_path / "bundled.o", images)
        path = linked([out], tmp_path / "x", runtime=work / "libomptarget.so")
        assert codes(path, "--select", "OMP116").get("OMP116") == expected


@pytest.mark.parametrize(("version", "expected"), [("19", "warning"), ("22", None)])
def test_a_cubin_of_cuda_13(work: Path, tmp_path: Path, version: str, expected: str | None) -> None:
    """Programs need an LLVM runtime that misreads the cubin, or one that does not."""
    out = bundled(work / "host.o", tmp_path / "bundled.o", {f"{NVPTX}:sm_80": CUBIN})
    folder = llvm_libraries() if version == "19" else Path(libraries(version).split(":")[-1])
    library = next(folder.glob("libomptarget.so.*"))
    path = linked([out], tmp_path / "x", "-Wl,--unresolved-symbols=ignore-all", runtime=library)
    assert codes(path).get("OMP117") == expected


@pytest.mark.slow
def test_a_destructor_that_comes_after_cuda_has_gone(tmp_path: Path) -> None:
    """Clang 14's wrapper unregisters in one; on the CPU that is no matter."""
    image = device_image(HOST, tmp_path / "image.so")
    for images, target, expected in (([CUBIN], NVPTX, "warning"), ([image], X86_64, None)):
        path = wrapped("14", OPENMP, images, tmp_path, "-target", X86_64)
        assert codes(path).get("OMP119") == expected, target


@pytest.mark.parametrize(
    ("requires", "feature", "expected"),
    [(True, "", "warning"), (True, "+xnack", None), (False, "", None)],
    ids=["without xnack", "with xnack", "not required"],
)
def test_shared_memory_on_an_amd_device(
    tmp_path: Path, requires: bool, feature: str, expected: str | None
) -> None:
    image = AMD
    if feature:
        (tmp_path / "amd.ll").write_text(KERNEL)
        words = ("llc-19", "-mcpu=gfx90a", f"-mattr={feature}", "-filetype=obj")
        run(*words, tmp_path / "amd.ll", "-o", tmp_path / "amd.o")
        image = tmp_path / "image.co"
        run("ld.lld-19", "-shared", tmp_path / "amd.o", "-o", image)
    source = "#pragma omp requires unified_shared_memory\n" * requires + OPENMP
    path = wrapped("22", source, [image], tmp_path, "--kind=openmp", f"--triple={AMDGCN}")
    assert codes(path).get("OMP125") == expected


@pytest.mark.slow
def test_host_and_image_of_two_copies_of_a_source(tmp_path: Path) -> None:
    """Clang's names hold the number of the file: a copy has another."""
    for name in ("one", "other"):
        (tmp_path / f"{name}.c").write_text(OPENMP)
        run("clang-19", *OFFLOAD, "-c", tmp_path / f"{name}.c", "-o", tmp_path / f"{name}.o")
    section = ".llvm.offloading"
    taken = f"{section}={tmp_path / 'taken'}"
    run("objcopy", "--dump-section", taken, tmp_path / "other.o", tmp_path / "copy.o")
    run("objcopy", "--update-section", taken, tmp_path / "one.o", tmp_path / "mixed.o")
    for name, expected in (("one", None), ("mixed", "info")):
        run("clang-19", *OFFLOAD, tmp_path / f"{name}.o", "-o", tmp_path / name)
        assert codes(tmp_path / name).get("OMP126") == expected


@pytest.mark.slow
@pytest.mark.parametrize("version", ["14", "19"])
def test_a_region_of_a_header_in_two_objects(tmp_path: Path, version: str) -> None:
    """The linker merges weak copies with equal code; clang lists each of them."""
    objects = []
    clang = [*tool(version, "clang++"), *OFFLOAD]
    for name in ("main", "part"):
        objects.append(tmp_path / f"{name}.o")
        run(*clang, "-c", TESTS / "packager" / "checks" / f"twice_{name}.cpp", "-o", objects[-1])
    assert omptool("verify", "--select", "OMP108", *objects).exit_code == 0
    run(*clang, *objects, "-o", tmp_path / "x")
    assert codes(tmp_path / "x", "--select", "OMP106,OMP108") == {"OMP108": "info"}
    run("ld", "-r", *objects, "-o", tmp_path / "both.o")
    if version != "14":  # whose bundles cannot be put together
        assert codes(tmp_path / "both.o", "--select", "OMP106,OMP108") == {"OMP108": "info"}
    shutil.copy(objects[0], tmp_path / "same.o")
    assert omptool("verify", "--select", "OMP108", objects[0], tmp_path / "same.o").exit_code == 0


# A symbol of team memory that no relocation uses, as in rocrand 5.3. The loader does not resolve
# unused symbols; a used one is missing.
UNUSED = f'.amdgcn_target "{AMDGCN}--gfx90a"\n.globl vectors\n.text\n s_endpgm\n'
USED = f"{UNUSED}.data\n.globl table\ntable: .quad vectors\n"


@pytest.mark.parametrize(("source", "expected"), [(UNUSED, {}), (USED, {"OMP114": "error"})])
def test_what_an_amd_image_lacks(tmp_path: Path, source: str, expected: dict[str, str]) -> None:
    (tmp_path / "k.s").write_text(source)
    amd = ("-triple", AMDGCN, "-mcpu=gfx90a", "-filetype=obj")
    run("llvm-mc-19", *amd, tmp_path / "k.s", "-o", tmp_path / "k.o")
    run("ld.lld-19", "-shared", tmp_path / "k.o", "-o", tmp_path / "k.co")
    assert codes(tmp_path / "k.co") == expected
    text = omptool("verify", tmp_path / "k.co").stdout
    assert ("image 0 (amdgcn gfx90a) needs vectors" in text) == bool(expected)


@pytest.mark.parametrize("word", ["amdhsa.kernels", ".symbol"])
def test_metadata_that_is_malformed_or_lacks_a_kernel(tmp_path: Path, word: str) -> None:
    """`verify` judges kernels of a code object without a host by whole tables."""
    (tmp_path / "k.ll").write_text(KERNEL)
    made, wrong = tmp_path / "k.o", tmp_path / "wrong.co"
    run("llc-19", "-mcpu=gfx90a", "-filetype=obj", tmp_path / "k.ll", "-o", made)
    run("ld.lld-19", "-shared", made, "-o", tmp_path / "k.co")
    content = (tmp_path / "k.co").read_bytes()
    assert codes(tmp_path / "k.co") == {}
    at = content.index(word.encode()) - 1
    wrong.write_bytes(content[:at] + b"\xc1" + content[at + 1 :])
    (found,) = findings(wrong)
    assert (found["code"], found["severity"]) == ("OMP110", "error")
    assert "MessagePack" in found["message"]
