# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inputs made by the compilers and linkers that users have; a missing one is a failure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from click.testing import CliRunner, Result
from linking import FAST_LINKER
from machine import output
from places import INCLUDE, TESTS

from omptool.cli import cli
from packager.files.reader import OpenFiles
from packager.hosts.host_file import open_host
from packager.writers.bundle import bundle
from packager.writers.requests import WrapRequest, parse_request

X86_64 = "x86_64-pc-linux-gnu"
NVPTX = "nvptx64-nvidia-cuda"
CLANG = "clang-19"

# A source with one global and two kernels, in the same order on both sides.
HOST = (TESTS / "support" / "sources" / "host.c").read_text()
MAIN = (TESTS / "support" / "sources" / "host_main.c").read_text()
PTX = """// a kernel may be named in a comment: .visible .entry comment()
.version 7.0
.target sm_70
.address_size 64
	// .globl	first
.visible .global .align 8 .b8 table[32];
.visible .entry first(
	.param .u64 first_param_0
)
{
	ret;
}
.visible .entry second(
	.param .u64 second_param_0
)
{
	ret;
}
"""
OPENMP = (TESTS / "support" / "sources" / "openmp.c").read_text()
REGION = (TESTS / "support" / "sources" / "region.c").read_text()


def run(*command: object) -> str:
    """Return the output of a tool; show it if the tool fails."""
    return output(*command)


def compile_c(source: str, out: Path, *flags: str, compiler: str = "gcc") -> Path:
    """Compile C source text to `out`; the flags choose the kind (-c, -shared, …)."""
    text = out.with_name(out.name + ".c")
    text.write_text(source)
    run(compiler, "-O1", f"-I{INCLUDE}", text, *flags, "-o", out)
    return out


def device_image(source: str, out: Path) -> Path:
    """Compile a shared object as the CPU's device image, with a table if the source has entries."""
    return compile_c(source, out, "-shared", "-fPIC")


def clang_offload(source: str, out: Path, *flags: str) -> Path:
    """Compile an OpenMP program with clang for the CPU as its device."""
    flags = ("-fopenmp", f"-fopenmp-targets={X86_64}", FAST_LINKER, *flags)
    return compile_c(source, out, *flags, compiler=CLANG)


def bundled(host: Path, out: Path, images: Mapping[str, Path]) -> Path:
    """Bundle `host` with `images` (target to file), despite faults."""
    requests = [parse_request(f"{target}={path}") for target, path in images.items()]
    with open_host(host) as file, OpenFiles() as files:
        bundle(file, WrapRequest(requests, files, "host", force=True), out)
    return out


def fake_runtime(folder: Path) -> Path:
    """Build a libomptarget.so to link with: symbols and versions without code."""
    names = ("__tgt_register_lib", "__tgt_unregister_lib", "__tgt_target")
    source = "\n".join(f"void {name}(void) {{}}" for name in names)
    script = folder / "versions.map"
    script.write_text("OMPTARGET_4.5 { global: __tgt_*; };\n")
    flags = ("-shared", "-fPIC", f"-Wl,--version-script={script}", "-Wl,-soname,libomptarget.so")
    return compile_c(source, folder / "libomptarget.so", *flags)


def linked(inputs: Sequence[Path], out: Path, *flags: str, runtime: Path) -> Path:
    """Link objects with gcc."""
    run("gcc", *inputs, *flags, "-Wl,--no-as-needed", runtime, "-o", out)
    return out


def stripped(path: Path) -> Path:
    """Copy a file without its symbol table."""
    out = path.with_name(path.name + ".stripped")
    run("strip", "-s", path, "-o", out)
    return out


def omptool(*arguments: object, environment: Mapping[str, str] | None = None) -> Result:
    """Run the command line in this process, with `environment` added."""
    return CliRunner().invoke(cli, [str(argument) for argument in arguments], env=environment)
