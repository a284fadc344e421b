# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Links for another machine: objects name it, and its libraries are used."""

from __future__ import annotations

from pathlib import Path

import aarch64
import pytest
from aarch64 import GCC, HOST, LINKERS, SOURCES, TARGET, compiled, driver, expect_registered
from clangs import INSTALLED, OFFLOADING, libraries, tool
from products import Products
from toolchain import omptool, run

from packager.hosts.load import load
from packager.linking.host_command import parse
from packager.linking.libraries import machine_of_link

pytestmark = pytest.mark.slow


@pytest.fixture
def work(products: Products, tmp_path: Path) -> Path:
    """Provide a folder for the test with links to the files that these tests share."""
    for path in aarch64.work(products).iterdir():
        (tmp_path / path.name).symlink_to(path)
    return tmp_path


def words(work: Path) -> list[object]:
    return [f"-L{work}", "-lomptarget", f"-Wl,-rpath,{work}", "-o", work / "app"]


@pytest.mark.parametrize("linker", LINKERS)
def test_objects_are_linked_for_their_machine(work: Path, linker: str) -> None:
    done = omptool("link", "--", *driver(linker), work / "both.o", *words(work))
    assert (done.exit_code, done.stderr) == (0, "")
    expect_registered(work / "app")
    (image,) = load(work / "app").images
    assert image.triple == "aarch64-unknown-linux-gnu"


def test_an_older_clangs_object(work: Path) -> None:
    old = compiled(HOST, work / "old.o", version="16")
    done = omptool("link", "--", GCC, old, *words(work))
    assert done.exit_code == 0, done.stderr
    (descriptor,) = load(work / "app").descriptors
    assert descriptor.registered_by == ".omp_offloading.descriptor_reg"
    assert "requires 1" in aarch64.ran(work / "app", 65536)


def test_the_runtime_may_be_named(work: Path) -> None:
    runtime = work / "libomptarget.so"
    out = ("-o", work / "app")
    done = omptool("link", "--runtime", runtime, "--", GCC, work / "both.o", *out)
    assert done.exit_code == 0, done.stderr
    expect_registered(work / "app")


def test_this_machines_runtime_is_not_taken(work: Path) -> None:
    theirs = f"{libraries(INSTALLED)}/libomptarget.so"
    for options in ((), ("--runtime", theirs)):
        done = omptool("link", *options, "--", GCC, work / "both.o", "-o", work / "app")
        assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
        assert "is for x86_64, and the objects are for aarch64: name that machine's" in done.stderr
        assert not (work / "app").exists()


def test_libraries_of_another_machine_are_not_looked_into(work: Path) -> None:
    """`-lk` is that of the sysroot, or of the driver's folders; this machine's has code, too."""
    source = (SOURCES / "aarch64_requires.c").read_text()
    (work / "k.c").write_text(source)
    folder = work / "root" / "usr" / "lib" / TARGET
    folder.mkdir(parents=True)
    compiled(work / "k.c", work / "k.o")
    run(f"{TARGET}-ar", "rcs", folder / "libk.a", work / "k.o")
    command = parse([GCC, f"--sysroot={work}/root", str(work / "both.o"), "-lk"])
    assert machine_of_link(command) == "aarch64"
    done = omptool(
        "link", "--dry-run", "--", GCC, f"--sysroot={work}/root", work / "both.o", "-lk",
        "-lomptarget", "-o", work / "app",
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    assert "0-both.o" in done.stderr
    assert "libk.a-k.o" in done.stderr


def test_objects_of_two_machines_are_one_line(work: Path) -> None:
    here = work / "here.o"
    run(*tool(INSTALLED, "clang"), *OFFLOADING, "-c", HOST, "-o", here)
    for first, second, machines in (
        (work / "both.o", here, ("x86_64", "aarch64")),
        (here, work / "both.o", ("aarch64", "x86_64")),
    ):
        done = omptool("link", "--", GCC, first, second, *words(work))
        assert done.exit_code == 2
        assert done.stderr == (
            f"Error: {second}: is for {machines[0]}, and {first} is for {machines[1]}: objects of "
            "one link are for one machine\n"
        )
        assert not (work / "app").exists()


def test_objects_of_an_unknown_machine_are_one_line(work: Path) -> None:
    other = work / "riscv.o"
    flags = ("--target=riscv64-linux-gnu", "-fopenmp", f"-fopenmp-targets={TARGET}")
    source = SOURCES / "aarch64_requires.c"
    run(*tool(INSTALLED, "clang"), *flags, "--offload-host-only", "-c", source, "-o", other)
    done = omptool("link", "--", GCC, other, *words(work))
    assert (done.exit_code, done.stderr) == (
        2, f"Error: {other}: is for riscv64; hosts are written for x86_64 and aarch64\n"
    )  # fmt: skip
    assert not (work / "app").exists()


def test_cc_compiles_and_links_for_the_host_that_the_compiler_names(work: Path) -> None:
    clang = " ".join([*tool(INSTALLED, "clang"), f"--target={TARGET}", *LINKERS["lld"]])
    run(GCC, "-shared", "-x", "c", "/dev/null", "-o", work / "libomp.so")
    done = omptool("cc", "--cc", clang, "--", "-O1", HOST, *words(work))
    assert done.exit_code == 0, done.stderr
    expect_registered(work / "app")
    (image,) = load(work / "app").images
    assert image.triple == "aarch64-unknown-linux-gnu"
