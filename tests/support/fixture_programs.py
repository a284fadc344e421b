# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds the programs of fixtures/ with the tools that their users have: omptool, gcc, clang-19."""

from __future__ import annotations

import subprocess
from pathlib import Path

import places
import running
from linking import FAST_LINKER, link
from machine import output
from places import FIXTURES
from products import Products

from omptool.installation import includedir, libdir

OMPTOOL = places.OMPTOOL
X86_64 = "x86_64-pc-linux-gnu"
NVPTX = "nvptx64-nvidia-cuda"
CLANG = ("clang-19", "-fopenmp", f"-fopenmp-targets={X86_64}", FAST_LINKER)
PROGRAMS = sorted(path.parent.name for path in FIXTURES.glob("*/expected.txt"))
WARNINGS = ("-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas")


def call(*command: object) -> None:
    """Run a build step; show its output if it fails."""
    output(*command)


def lower(ir: Path, out: Path, *options: str, triple: str = X86_64) -> Path:
    """Lower `ir` to `out`."""
    call(OMPTOOL, "lower", ir, "--triple", triple, *options, "-o", out)
    return out


def compile_host(source: Path, out: Path, *flags: str) -> Path:
    """Compile a host source, without a warning, at the optimisation level that users have."""
    compiler = "g++" if source.suffix == ".cpp" else "gcc"
    call(compiler, "-O2", *WARNINGS, f"-I{includedir()}", *flags, "-c", source, "-o", out)
    return out


def bundled(name: str, into: Path, *flags: str, host: str = "host", ir: str = "kernels") -> Path:
    """Build an object of fixture `name` with its kernels for the CPU."""
    source = next((FIXTURES / name).glob(f"{host}.c*"))
    image = lower(FIXTURES / name / f"{ir}.ll", into / f"{ir}.so")
    object_file = compile_host(source, into / f"{host}.o", *flags)
    out = into / f"{host}-bundled.o"
    # Only missing_kernel lacks a kernel on purpose.
    more = {"missing_kernel": ("--force",), "proposal": ("--abi", "proposal")}.get(name, ())
    call(OMPTOOL, "bundle", object_file, "--image", f"{X86_64}={image}", *more, "-o", out)
    return out


def runtime_flags() -> tuple[str, ...]:
    """Return the options that a link with the runtime needs."""
    return (f"-L{libdir()}", "-lomptarget")


def build(name: str, into: Path, *flags: str, linker: str = "bfd") -> Path:
    """Build the program of fixture `name`, linked by `linker`."""
    builders = {
        "shared_library": _build_shared_library,
        "two_images": _build_two_images,
        "unloaded_library": _build_unloaded_library,
    }
    inputs = builders.get(name, _build_simple)(name, into, flags)
    if name == "mixed_clang":
        return _link_with_clang(inputs, into, flags)
    libraries = {
        "global_ctor": (*runtime_flags(), "-lstdc++"),
        "proposal": (f"-L{libdir()}", "-ltarget"),
        "unloaded_library": (),
    }
    wanted = libraries.get(name, runtime_flags())
    return link(into / "app", *inputs, linker=linker, flags=(*flags, *wanted))


def build_once(name: str, products: Products) -> Path:
    """Build the program of fixture `name` once for all tests of a run."""
    return products.made(f"fixture-{name}", lambda folder: build(name, folder))


def _build_simple(name: str, into: Path, flags: tuple[str, ...]) -> list[Path]:
    return [bundled(name, into, *_compile_flags(flags))]


def _build_two_images(name: str, into: Path, flags: tuple[str, ...]) -> list[Path]:
    ir = FIXTURES / name / "kernels.ll"
    host = compile_host(FIXTURES / name / "host.c", into / "host.o", *_compile_flags(flags))
    cpu = lower(ir, into / "kernels.so")
    gpu = lower(ir, into / "kernels.ptx", "--cpu", "sm_75", triple=NVPTX)
    images = ("--image", f"{X86_64}={cpu}", "--image", f"{NVPTX}:sm_75={gpu}")
    call(OMPTOOL, "bundle", host, *images, "-o", into / "host-bundled.o")
    return [into / "host-bundled.o"]


def _build_shared_library(name: str, into: Path, flags: tuple[str, ...]) -> list[Path]:
    return [bundled(name, into, *_compile_flags(flags)), _library(into)]


def _build_unloaded_library(name: str, into: Path, flags: tuple[str, ...]) -> list[Path]:
    _library(into)
    host = FIXTURES / name / "host.c"
    return [compile_host(host, into / "host.o", *_compile_flags(flags))]


def _library(into: Path) -> Path:
    library = bundled("shared_library", into, "-fPIC", host="library", ir="library")
    shared = ("-shared", "-Wl,-soname,libscale.so", *runtime_flags())
    return link(into / "libscale.so", library, flags=shared)


def _link_with_clang(inputs: list[Path], into: Path, flags: tuple[str, ...]) -> Path:
    compiled = into / "compiled.o"
    call(*CLANG, "-O2", "-c", FIXTURES / "mixed_clang" / "compiled.c", "-o", compiled)
    call(*CLANG, *inputs, compiled, *flags, *runtime_flags(), "-o", into / "app")
    return into / "app"


def _compile_flags(link_flags: tuple[str, ...]) -> tuple[str, ...]:
    return ("-fno-pie",) if "-no-pie" in link_flags else ("-fPIE",)


def run(program: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `program` on the bundled runtime."""
    return running.run(program, **{"LD_LIBRARY_PATH": f"{program.parent}"} | environment)
