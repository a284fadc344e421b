# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Hosts for AArch64: bundled objects and wrappers, linked by each linker, run by qemu."""

from __future__ import annotations

from pathlib import Path

import aarch64
import pytest
from aarch64 import GCC, LINKERS, TARGET, expect_registered, linked
from clangs import INSTALLED, tool
from products import Products
from toolchain import omptool, run

from packager.hosts.load import load

pytestmark = pytest.mark.slow


@pytest.fixture
def work(products: Products, tmp_path: Path) -> Path:
    """Provide a folder for the test with links to the files that these tests share."""
    for path in aarch64.work(products).iterdir():
        (tmp_path / path.name).symlink_to(path)
    return tmp_path


@pytest.mark.parametrize("linker", LINKERS)
@pytest.mark.parametrize("pie", ["-pie", "-no-pie"])
def test_a_bundled_object_registers(work: Path, linker: str, pie: str) -> None:
    out = work / "host-with-image.o"
    image = f"{TARGET}={work}/image.so"
    assert omptool("bundle", work / "host.o", "--image", image, "-o", out).exit_code == 0
    program = linked(work / "app", linker, pie, out)
    expect_registered(program)
    assert load(program).descriptors[0].registered_by == ".omp_offloading.descriptor_reg"
    assert omptool("verify", program).exit_code == 0


def emitted(work: Path, form: str, *options: str) -> Path:
    """Emit the wrapper in a form, and compile it to an object if necessary."""
    ending = {"object": "o", "asm": "s", "llvm-ir": "ll"}[form]
    out = work / f"wrapper.{ending}"
    words = ("--host", "aarch64", "--format", form, *(options or ("--abi", "llvm-19")))
    done = omptool("emit", *words, "--image", f"{TARGET}={work}/image.so", "-o", out)
    assert done.exit_code == 0, done.output
    return out


@pytest.mark.parametrize("form", ["object", "asm", "llvm-ir"])
def test_each_form_of_the_wrapper_registers(work: Path, form: str) -> None:
    wrapper = emitted(work, form)
    makers = {"object": (), "asm": (GCC, "14", INSTALLED), "llvm-ir": (INSTALLED,)}[form]
    objects = [wrapper] if form == "object" else []
    for number, maker in enumerate(makers):
        objects.append(work / f"{number}.o")
        compiler = [maker] if maker == GCC else [*tool(maker, "clang"), f"--target={TARGET}"]
        run(*compiler, "-fPIC", "-c", wrapper, "-o", objects[-1])
    for one in objects:
        for linker in LINKERS:
            expect_registered(linked(work / "app", linker, work / "host.o", one))


def test_the_wrapper_keeps_the_features_of_the_code(work: Path) -> None:
    """Branch tracking stays on if all other objects have it; the needed bits are 1 for none."""
    options = ("--abi", "llvm-16", "--entries", "auto")
    wrapper = emitted(work, "object", *options)
    assert "AArch64 feature: BTI, PAC" in run(f"{TARGET}-readelf", "-n", wrapper)
    shown = run("llvm-objdump-19", "-dr", "--no-show-raw-insn", wrapper)
    assert shown.count("bti\tc") == shown.count(">:\n") == 3
    assert "R_AARCH64_JUMP26\t__tgt_register_lib" in shown
    out = emitted(work, "asm", *options)
    run(GCC, "-c", out, "-o", work / "again.o")
    codes = []
    for path in (wrapper, work / "again.o"):
        code = path.with_suffix(".code")
        run(f"{TARGET}-objcopy", "-O", "binary", "-j", ".text.omptool", path, code)
        codes.append(code.read_bytes())
    assert codes[0] == codes[1]


def test_entries_that_the_wrapper_lists(work: Path) -> None:
    """The host has no table, so the wrapper has one with the document's records."""
    source, names = work / "plain.c", work / "names"
    source.write_text("void first(void) {}\nint table[4];\nint main(void) { return 0; }\n")
    names.write_text("first\ntable\n")
    out = work / "plain.o"
    run(GCC, "-c", source, "-o", out)
    bundled, image = work / "bundled.o", f"{TARGET}={work}/image.so"
    words = ("--force", "--entries", names, "--image", image, "-o", bundled)
    assert omptool("bundle", out, *words).exit_code == 0
    entries = load(bundled).entries
    assert [(entry.name, entry.symbol, entry.size) for entry in entries] == [
        ("first", "first", 0),
        ("table", "table", 16),
    ]


def test_a_host_of_another_machine_is_one_line(work: Path) -> None:
    host, out = work / "riscv.o", work / "out.o"
    run(
        *tool(INSTALLED, "clang"),
        "--target=riscv64-linux-gnu",
        "-x",
        "c",
        "-c",
        "/dev/null",
        "-o",
        host,
    )
    done = omptool("bundle", host, "--image", f"{TARGET}={work}/image.so", "-o", out)
    assert done.exit_code == 2
    assert done.stderr == (
        f"Error: {host}: is for riscv64; hosts are written for x86_64 and aarch64\n"
    )
    assert not out.exists()
    done = omptool("emit", "--host", "riscv64", "--image", f"{TARGET}={work}/image.so", "-o", out)
    assert done.exit_code == 2
    assert "'riscv64' is not one of 'aarch64', 'x86_64'" in done.stderr
    assert not out.exists()


def test_the_machine_is_of_wrappers_alone(work: Path) -> None:
    words = ("--host", "aarch64", "--format", "offload-binary", "-o", work / "out")
    done = omptool("emit", *words, "--image", f"{TARGET}={work}/image.so")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "--host is for the wrappers (object, asm, llvm-ir)" in done.stderr
