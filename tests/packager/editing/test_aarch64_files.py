# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finished files for AArch64: images added to them and changed in them, run by qemu."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import aarch64
import pytest
from aarch64 import GCC, LINKERS, PAGES, TARGET, compiled, expect_registered, linked, ran
from products import Products
from toolchain import NVPTX, PTX, omptool, run

from packager.elf.headers import PT_LOAD, Segment, read
from packager.files.reader import open_reader
from packager.hosts.load import load

pytestmark = pytest.mark.slow
WAYS = [*product(LINKERS, ("-pie", "-no-pie")), ("lld", "-mbranch-protection=standard")]


@pytest.fixture
def work(products: Products, tmp_path: Path) -> Path:
    """Provide a folder for the test with links to the files that these tests share."""
    for path in aarch64.work(products).iterdir():
        (tmp_path / path.name).symlink_to(path)
    return tmp_path


def bundled(file: Path, image: Path) -> Path:
    """Return the file with an image that it registers."""
    out = file.with_name(f"{file.name}-with-image")
    done = omptool("bundle", file, "--image", f"{TARGET}={image}", "-o", out)
    assert done.exit_code == 0, done.output
    assert load(out).descriptors[0].registered_by
    return out


@pytest.mark.parametrize(("linker", "way"), WAYS)
def test_a_finished_program_registers(work: Path, linker: str, way: str) -> None:
    program = linked(work / "app", linker, way, work / "host.o")
    out = bundled(program, work / "image.so")
    expect_registered(out)
    assert {s.alignment for s in segments(out)[-3:]} == {0x10000}
    assert omptool("verify", out).exit_code == 0


def segments(path: Path) -> list[Segment]:
    """Return the loaded segments of a file."""
    with open_reader(path) as data:
        return [segment for segment in read(data).segments if segment.type == PT_LOAD]


def test_a_finished_library_registers(work: Path) -> None:
    source = work / "function.c"
    source.write_text((aarch64.REQUIRES).read_text())
    compiled(source, work / "function.o", "-fPIC", "--offload-host-only")
    compiled(source, work / "device.o", "-fPIC", "--offload-device-only")
    library, image = work / "libfunction.so", work / "function-image.so"
    run(GCC, "-shared", work / "device.o", "-o", image)
    run(GCC, "-shared", work / "function.o", "-o", library)
    out = bundled(library, image).rename(library)
    program = work / "uses"
    (work / "main.c").write_text(
        "int function(int*); int main(void) { int n = 0; return function(&n) - 1; }"
    )
    words = (out, f"-Wl,-rpath,{work}", f"-Wl,-rpath-link,{work}")
    run(GCC, work / "main.c", *words, "-o", program)
    for page in PAGES:
        lines = ran(program, page)
        assert lines[:2] == ["images 1", "bytes of entries 32"]
        assert lines[-1] == "unregistered 1"


@pytest.mark.parametrize("linker", LINKERS)
def test_images_are_replaced_added_and_removed(work: Path, linker: str) -> None:
    """Edits change images of `bundle`, which the next edit removes, and images of a link."""
    (work / "gpu.ptx").write_text(PTX)
    image, gpu = work / "image.so", f"{NVPTX}:sm_70={work}/gpu.ptx"
    program = linked(work / "app", linker, work / "host.o")
    with_image = work / "with-image.o"
    words = ("--image", f"{TARGET}={image}", "-o", with_image)
    assert omptool("bundle", work / "host.o", *words).exit_code == 0
    for start in (bundled(program, image), linked(work / "linked", linker, with_image)):
        for options, images in (
            (("--replace", f"0={image}"), 1),
            (("--add", gpu), 2),
            (("--remove", 0), 0),
        ):
            out = work / f"{start.name}-{images}"
            done = omptool("edit", start, *options, "--force", "-o", out)
            assert done.exit_code == 0, done.output
            expect_registered(out, images)
        again = work / "again"
        done = omptool("edit", work / f"{start.name}-2", "--remove", 1, "-o", again)
        assert done.exit_code == 0, done.output
        expect_registered(again)


def test_code_that_cannot_reach_is_one_line(work: Path) -> None:
    """A branch spans 128 MiB: a constructor is further away from new segments than that."""
    (work / "large.s").write_text(".bss\n.globl large\nlarge: .zero 0x8000000\n")
    program = linked(work / "app", "lld", work / "host.o", "-x", "assembler", work / "large.s")
    out = work / "out"
    done = omptool("bundle", program, "--image", f"{TARGET}={work}/image.so", "-o", out)
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "is so large that new code at 0x" in done.stderr
    assert not out.exists()


def test_a_file_for_another_machine_is_one_line(work: Path) -> None:
    library, out = work / "riscv.so", work / "out"
    clang = [*aarch64.driver("lld")[:-2], "--target=riscv64-linux-gnu", *LINKERS["lld"]]
    run(*clang, "-nostdlib", "-shared", "-x", "c", "/dev/null", "-o", library)
    image = f"{TARGET}={work}/image.so"
    for words in (("bundle", library, "--image", image), ("edit", library, "--add", image)):
        done = omptool(*words, "-o", out)
        assert done.exit_code == 2
        assert "is for riscv64; hosts are written for x86_64 and aarch64" in done.stderr
        assert not out.exists()
