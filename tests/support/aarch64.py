# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs for AArch64, made by cross compilers and run by qemu, on a stand-in for libomptarget."""

from __future__ import annotations

import shutil
from pathlib import Path

from clangs import INSTALLED, UNPACKED, tool
from linking import LLD_FOLDER
from machine import lacks, output
from places import ROOT, TESTS
from products import Products

SOURCES = TESTS / "support" / "sources"
HOST, REQUIRES = SOURCES / "aarch64_host.c", SOURCES / "aarch64_requires.c"
TARGET = "aarch64-linux-gnu"
GCC = f"{TARGET}-gcc"
PAGES = (4096, 65536)
# qemu 7.2 leaves the rest of the loader's last page unmapped. glibc would place thread-local memory
# there; with this setting it is too large.
TUNABLES = "GLIBC_TUNABLES=glibc.rtld.optional_static_tls=131072"
QEMU = ("qemu-aarch64", "-L", f"/usr/{TARGET}", "-E", TUNABLES)
NOT_EMULATED = TESTS / "not_emulated.txt"
# Libraries that scripts/test.sh builds, and that scripts/compilers.sh unpacks.
RUNTIME = ROOT / "build" / "aarch64" / "libomptarget.so"
LIBOMP = UNPACKED / "arm64" / "usr" / "lib" / "llvm-19" / "lib" / "libomp.so.5"
OFFLOADING = ("-fopenmp", f"-fopenmp-targets={TARGET}")
LINKERS = {"bfd": (), "lld": (f"--ld-path={LLD_FOLDER}/ld.lld",), "mold": ("-fuse-ld=mold",)}
LIBOMPTARGET = "libomptarget.so"
# Output of the program, between the runtime's lines at its begin and at its end.
RAN = ["constructor with 2 words, word", "region with arguments 1", "42", "destructor"]


def needs_tools(*names: str) -> None:
    """End the test where a tool is missing; without names, the cross compiler or qemu."""
    for name in names or (GCC, "qemu-aarch64"):
        if not shutil.which(name):
            lacks(f"{name} is not here: scripts/packages.txt has its package")


def compiled(source: Path, out: Path, *flags: str, version: str = INSTALLED) -> Path:
    """Compile an object by a clang, with device code for AArch64 unless a flag says otherwise."""
    needs_tools()
    words = [*tool(version, "clang"), f"--target={TARGET}", "-O1", *OFFLOADING, *flags]
    output(*words, "-c", source, "-o", out)
    return out


def driver(linker: str) -> list[str]:
    """Return the command that links by a linker."""
    return (
        [*tool(INSTALLED, "clang"), f"--target={TARGET}", *LINKERS[linker]]
        if linker != "bfd"
        else [GCC]
    )


def linked(out: Path, linker: str, *words: object) -> Path:
    """Link a program with the stand-in that is in its folder."""
    folder = out.parent
    output(*driver(linker), *words, f"-L{folder}", "-lomptarget", f"-Wl,-rpath,{folder}", "-o", out)
    return out


def ran(program: Path, page: int) -> list[str]:
    """Return the lines that a program prints on a machine with pages of so many bytes."""
    emulated = [*QEMU, "-p", page, "-E", f"LD_LIBRARY_PATH={program.parent}"]
    return output(*emulated, program, "word").splitlines()


def expect_registered(program: Path, images: int = 1) -> None:
    """Expect that a program registers before its constructors, and unregisters at its end."""
    for page in PAGES:
        lines = ran(program, page)
        assert lines[:2] == [f"images {images}", "bytes of entries 32"]
        last = f"unregistered {images}"
        assert [line for line in lines[2:] if line != last] == RAN
        assert last in lines[-2:]


def work(products: Products) -> Path:
    """Make a folder with the stand-in, objects with and without device code, and an image."""

    def fill(folder: Path) -> None:
        needs_tools()
        library = folder / LIBOMPTARGET
        versions = folder / "versions"
        versions.write_text("VERS1.0 { __tgt_*; };")
        flags = (
            "-shared",
            "-fPIC",
            f"-Wl,-soname,{LIBOMPTARGET}",
            f"-Wl,--version-script={versions}",
        )
        output(GCC, *flags, SOURCES / "aarch64_runtime.c", "-o", library)
        shutil.copy(library, folder / f"{LIBOMPTARGET}.19.1")
        compiled(HOST, folder / "both.o")
        compiled(HOST, folder / "host.o", "--offload-host-only")
        compiled(HOST, folder / "device.o", "--offload-device-only")
        output(GCC, "-shared", folder / "device.o", "-o", folder / "image.so")

    return products.folder("aarch64", fill)
