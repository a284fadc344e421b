# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Find the registration of descriptors and the requirements of objects for AArch64.

For machines other than x86-64 and AArch64 both are unknown.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

import aarch64
import pytest
from aarch64 import GCC, LINKERS, OFFLOADING, REQUIRES, TARGET, compiled
from clangs import INSTALLED, tool
from products import Products
from toolchain import NVPTX, PTX, omptool, run

from packager.elf.headers import read
from packager.files.reader import open_reader
from packager.formats.host_records import requirements
from packager.hosts.load import load

pytestmark = pytest.mark.slow
SHARED_MEMORY = 0x8
MACHINE_AT = 0x12  # offset in an ELF header
RISCV64 = 243


@pytest.mark.parametrize(("linker", "pie"), list(product(LINKERS, ("-pie", "-no-pie"))))
def test_clangs_programs_name_who_registers(
    products: Products, tmp_path: Path, linker: str, pie: str
) -> None:
    work, program, stripped = aarch64.work(products), tmp_path / "app", tmp_path / "stripped"
    for name in ("libomp.so", "libomptarget.devicertl.so"):
        run(GCC, "-shared", "-x", "c", "/dev/null", "-o", tmp_path / name)
    clang = [*tool(INSTALLED, "clang"), f"--target={TARGET}", *LINKERS[linker]]
    words = (*OFFLOADING, f"-L{work}", f"-L{tmp_path}", work / "both.o", "-o", program)
    run(*clang, pie, *words)
    run(f"{TARGET}-strip", program, "-o", stripped)
    for path, name in ((program, ".omp_offloading.descriptor_reg"), (stripped, ".init_array[0]")):
        (descriptor,) = load(path).descriptors
        assert descriptor.registered_by == name
        assert f" {name}\n" in omptool("dump", path, "--descriptors").stdout


@pytest.mark.parametrize("level", ["-O0", "-O1", "-O2"])
@pytest.mark.parametrize(("clause", "mask"), [((), 0), (("-DREQUIRED",), SHARED_MEMORY)])
def test_what_clangs_objects_require(
    tmp_path: Path, level: str, clause: tuple[str, ...], mask: int
) -> None:
    """Up to clang 18 a constructor passes the mask as a number in a register."""
    flags = (level, *clause, "--offload-host-only")
    path = compiled(REQUIRES, tmp_path / "a.o", *flags, version="16")
    with open_reader(path) as data:
        assert requirements.of_object(read(data), ()) == mask
    assert for_riscv(path) is None


def for_riscv(path: Path) -> int | None:
    """Return an object's requirements if its machine is one without a code reader."""
    content = bytearray(path.read_bytes())
    content[MACHINE_AT] = RISCV64
    path.write_bytes(content)
    with open_reader(path) as data:
        return requirements.of_object(read(data), ())


def test_what_is_not_read_is_unknown(tmp_path: Path) -> None:
    """The result is unknown, not "none", because omptool cannot read this machine's code."""
    (tmp_path / "image").write_bytes(b"any")
    wrapper, library = tmp_path / "wrapper.ll", tmp_path / "library.so"
    words = ("--abi", "llvm-19", "--format", "llvm-ir", "--force", "-o", wrapper)
    assert omptool("emit", "--image", f"own-x-y={tmp_path}/image", *words).exit_code == 0
    text = wrapper.read_text()
    wrapper.write_text(text.replace("x86_64-pc-linux-gnu", "riscv64-unknown-linux-gnu"))
    flags = ("--target=riscv64-linux-gnu", "-nostdlib", "-shared", "-fPIC", *LINKERS["lld"])
    run(*tool(INSTALLED, "clang"), *flags, wrapper, "-o", library)
    (descriptor,) = load(library).descriptors
    assert (descriptor.registered_by, descriptor.is_traced) == (None, False)
    assert omptool("dump", library, "--descriptors").stdout.rstrip().endswith(" unknown")
    assert "OMP101" not in omptool("verify", library).stdout


def test_pointers_of_loongarch64_are_read(tmp_path: Path) -> None:
    """LoongArch's relocations have the same numbers as RISC-V's."""
    (tmp_path / "image.ptx").write_text(PTX)
    wrapper, out = tmp_path / "wrapper.ll", tmp_path / "out.o"
    words = ("--entries", "auto", "--abi", "llvm-19", "--format", "llvm-ir", "-o", wrapper)
    image = f"{NVPTX}:sm_70={tmp_path}/image.ptx"
    assert omptool("emit", "--image", image, *words).exit_code == 0
    text = wrapper.read_text()
    wrapper.write_text(text.replace("x86_64-pc-linux-gnu", "loongarch64-unknown-linux-gnu"))
    run(*tool(INSTALLED, "clang"), "--target=loongarch64-linux-gnu", "-c", wrapper, "-o", out)
    assert {entry.name for entry in load(out).entries} == {"first", "second", "table"}
