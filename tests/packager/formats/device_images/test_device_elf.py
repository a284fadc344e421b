# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ELF images: exports, listed symbols, and GPUs' headers."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest
from documents import summarised
from places import CORPUS, DATA
from toolchain import HOST, OPENMP, clang_offload, compile_c, device_image, omptool, run

from packager.files.reader import Reader
from packager.formats.device_images import amdgpu, device_elf
from packager.hosts.load import load
from packager.model import Contents

MACHINE_AT, FLAGS_AT, ABI_VERSION_AT = 18, 48, 8
EM_CUDA, EM_AMDGPU = 190, 224


def inspect(path: Path) -> Contents:
    return device_elf.inspect(Reader(path.read_bytes()))


def test_a_table_says_what_counts(tmp_path: Path) -> None:
    contents = inspect(device_image(HOST + "int helper(void) { return 1; }", tmp_path / "image.so"))
    assert [(s.name, s.kind, s.size) for s in contents.table or ()] == [
        ("table", "global", 32),
        ("first", "kernel", 0),
        ("second", "kernel", 0),
    ]
    assert {s.name: s.listed for s in contents.symbols} == {
        "table": True,
        "first": True,
        "second": True,
        "helper": False,
    }


def test_a_record_without_address_is_absent(tmp_path: Path) -> None:
    source = HOST + 'OMPTARGET_ENTRY("third", 0, 0);'
    contents = inspect(device_image(source, tmp_path / "image.so"))
    assert [s.name for s in contents.table or ()] == ["table", "first", "second"]


def test_without_a_table_exports_count(tmp_path: Path) -> None:
    source = "int value[3]; static int hidden; void kernel(void) { hidden = value[0]; }"
    contents = inspect(device_image(source, tmp_path / "image.so"))
    assert contents.table is None
    assert {(s.name, s.kind, s.size) for s in contents.symbols} == {
        ("value", "global", 12),
        ("kernel", "kernel", 0),
    }


def test_images_that_are_not_linked_yet(tmp_path: Path) -> None:
    """Clang's objects hold device code as it was compiled: an ELF object."""
    (image,) = load(clang_offload(OPENMP, tmp_path / "program.o", "-c")).images
    assert [symbol.kind for symbol in image.table or ()] == ["global", "kernel", "kernel"]


def as_machine(source: Path, machine: int, flags: int, abi_version: int) -> bytes:
    """Return a CPU's image with another machine in its header."""
    data = bytearray(source.read_bytes())
    struct.pack_into("<H", data, MACHINE_AT, machine)
    struct.pack_into("<I", data, FLAGS_AT, flags)
    data[ABI_VERSION_AT] = abi_version
    return bytes(data)


@pytest.mark.parametrize(
    ("machine", "flags", "abi_version", "kind", "arch"),
    [
        pytest.param(EM_CUDA, 0x00500550, 7, "cubin", "sm_80", id="cuda-v1"),
        pytest.param(EM_CUDA, 0x06005A04, 8, "cubin", "sm_90", id="cuda-v2"),
        pytest.param(EM_AMDGPU, 0x53F, 2, "amdgcn", "gfx90a", id="gfx90a"),
        pytest.param(EM_AMDGPU, 0x73F, 2, "amdgcn", "gfx90a:xnack+", id="gfx90a-xnack"),
        pytest.param(EM_AMDGPU, 0x62F, 2, "amdgcn", "gfx906:xnack-", id="gfx906-no-xnack"),
        pytest.param(EM_AMDGPU, 0x0FF, 2, "amdgcn", "unknown processor 0xff", id="unknown-gfx"),
    ],
)
def test_gpus(
    tmp_path: Path, machine: int, flags: int, abi_version: int, kind: str, arch: str | None
) -> None:
    source = device_image("void kernel(void) {}", tmp_path / "image.so")
    image = tmp_path / "image.bin"
    image.write_bytes(as_machine(source, machine, flags, abi_version))
    binary = load(image)
    assert binary.machine is None
    (found,) = binary.images
    assert (found.kind, found.contents.arch) == (kind, arch)


def test_a_cubin_to_be_linked() -> None:
    """A cubin of ptxas 13 (`-c -arch=sm_80`) of `PTX`, with a constant added."""
    (image,) = load(DATA / "relocatable.cubin").images
    assert (image.kind, image.contents.arch) == ("cubin", "sm_80")
    found = {(symbol.name, symbol.kind, symbol.size) for symbol in image.symbols}
    kernels = {("first", "kernel", 0), ("second", "kernel", 0)}
    assert found == {("table", "global", 32), ("fixed", "global", 4), *kernels}


def test_processors_are_spelled_once() -> None:
    assert len(set(amdgpu.ARCHES.values())) == len(amdgpu.ARCHES)


# Numbers in BinaryFormat/ELF.h of LLVM 24 that LLVM 19 lacks.
LATER = {
    0x50: "gfx1310",
    0x57: "gfx1154",
    0x5B: "gfx12-5-generic",
    0x5C: "gfx1172",
    0x5D: "gfx1170",
    0x5E: "gfx1171",
    0x62: "gfx11-7-generic",
    0x63: "gfx13-generic",
    0xE0: "unknown processor 0xe0",
}


@pytest.mark.parametrize(("number", "name"), LATER.items())
def test_processors_of_later_compilers(tmp_path: Path, number: int, name: str) -> None:
    """Each is named, and `--summary` has a row for its GPUs."""
    content = bytearray((CORPUS / "seed-image.co").read_bytes())
    content[48] = number
    (tmp_path / "k.co").write_bytes(content)
    (image,) = load(tmp_path / "k.co").images
    assert image.processor.split(":")[0] == name
    (file,) = summarised(tmp_path / "k.co")
    rows = [row for row in file["gpus"] if row["runs"] == "natively"]
    assert rows


def test_a_declared_processor_names_an_unknown_one(tmp_path: Path) -> None:
    content = bytearray((CORPUS / "seed-image.co").read_bytes())
    content[48] = 0xE0
    (tmp_path / "k.co").write_bytes(content)
    target = f"amdgcn-amd-amdhsa:gfx1400={tmp_path / 'k.co'}"
    made = tmp_path / "made.bin"
    omptool("emit", "--image", target, "--format", "offload-binary", "-o", made)
    (image,) = load(made).images
    assert image.processor == "gfx1400"
    assert omptool("verify", "--select", "OMP110", made).exit_code == 0


def test_a_host_library_is_no_device_image(tmp_path: Path) -> None:
    """The library has a table like an image, but calls the runtime."""
    call = "void use(void) { __tgt_target(-1, (void *)first, 0, 0, 0, 0, 0); }"
    library = compile_c(HOST + call, tmp_path / "library.so", "-shared", "-fPIC")
    assert load(library).type == "shared"
    assert load(device_image(HOST, tmp_path / "image.so")).type is None


def test_what_kernels_of_amd_need(tmp_path: Path) -> None:
    """Resources equal those in the metadata that the compiler writes for the driver."""
    (tmp_path / "k.ll").write_text(
        'target triple = "amdgcn-amd-amdhsa"\n'
        "@lds = internal addrspace(3) global [256 x i32] undef\n"
        "define amdgpu_kernel void @small(ptr addrspace(1) %p) { ret void }\n"
        "define amdgpu_kernel void @large(ptr addrspace(1) %p, i32 %i) {\n"
        "  %a = alloca [16 x i32], addrspace(5)\n"
        "  store volatile i32 %i, ptr addrspace(5) %a\n"
        "  store volatile i32 %i, ptr addrspace(3) @lds\n"
        "  ret void\n}\n"
    )
    for arch in ("gfx90a", "gfx906", "gfx1100"):
        run("llc-19", f"-mcpu={arch}", "-filetype=obj", tmp_path / "k.ll", "-o", tmp_path / "k.o")
        run("ld.lld-19", "-shared", tmp_path / "k.o", "-o", tmp_path / "k.co")
        notes = run("llvm-readelf-19", "--notes", tmp_path / "k.co")
        (image,) = load(tmp_path / "k.co").images
        kernels = {symbol.name: symbol.resources for symbol in image.symbols}
        found = [needs for name in sorted(kernels) if (needs := kernels[name])]
        assert [needs.shared for needs in found] == [1024, 0]
        fields = {
            ".group_segment_fixed_size": [needs.shared for needs in found],
            ".private_segment_fixed_size": [needs.stack for needs in found],
            ".vgpr_count": [needs.registers for needs in found],
            ".sgpr_count": [needs.scalar_registers for needs in found],
            ".agpr_count": [needs.accumulators for needs in found],
            ".vgpr_spill_count": [needs.vector_spills for needs in found],
            ".sgpr_spill_count": [needs.scalar_spills for needs in found],
        }
        for name, values in fields.items():
            told = [int(number) for number in re.findall(rf"{re.escape(name)}: +(\d+)", notes)]
            assert sorted(told) == sorted(v for v in values if v is not None), (arch, name)
        assert (found[0].accumulators is None) == (arch != "gfx90a")


def test_a_code_object_without_metadata(tmp_path: Path) -> None:
    """The allocated registers are known then, and not the used ones."""
    (tmp_path / "k.s").write_text(
        '.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"\n.text\n.globl k\n.type k,@function\n'
        "k:\n s_endpgm\n.rodata\n.amdhsa_kernel k\n .amdhsa_next_free_vgpr 33\n"
        " .amdhsa_next_free_sgpr 10\n .amdhsa_group_segment_fixed_size 64\n"
        " .amdhsa_accum_offset 4\n.end_amdhsa_kernel\n"
    )
    amd = ("-triple", "amdgcn-amd-amdhsa", "-mcpu=gfx90a", "-filetype=obj")
    run("llvm-mc-19", *amd, tmp_path / "k.s", "-o", tmp_path / "k.o")
    run("ld.lld-19", "-shared", tmp_path / "k.o", "-o", tmp_path / "k.co")
    (image,) = load(tmp_path / "k.co").images
    (kernel,) = image.symbols
    assert kernel.resources is not None
    assert (kernel.resources.registers, kernel.resources.shared) == (None, 64)
