# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cause and cure of each finding, whichever command has it. A code never changes its meaning."""

from __future__ import annotations

from packager import checks
from packager.errors import UsageError
from packager.gates import codes as gates
from packager.machine.run_check.check_codes import CODES

# Explanations of `doctor`'s codes. Those of `verify` are docstrings of checks, those of `run
# --check` are in CODES.
DOCTORS = {
    "OMP201": """A library that is not found.

The program, or the plugin of LLVM's runtime, needs a library that is in none of the folders where
the loader looks: DT_RPATH, LD_LIBRARY_PATH, DT_RUNPATH, the cache of ldconfig, the default folders.
A program without a library does not start; a plugin without one is not there.

Cure: install the library, or name its folder in LD_LIBRARY_PATH. Where the library is libomptarget,
`omptool run` brings one.""",
    "OMP202": """A runtime that cannot read what the compiler wrote.

The loader picks a libomptarget of an LLVM release that came before the compiler's, or of one that
no longer reads the output of older compilers: regions run on the host, or the program ends. Or a
clang that came after this omptool made the program, and omptool guesses nothing about it.

Cure: start the program with `omptool run`, or let the loader find the runtime of the compiler's own
release; update omptool for a newer compiler.""",
    "OMP203": """Two runtimes in one process, or one of another release than the compiler.

Two OpenMP runtimes each have threads and settings of their own; two LLVMs may end the program with
"registered more than once". A libomptarget of another release can read the program, but was not
made for it.

Cure: link all parts of the program with one OpenMP runtime; name the folder of the compiler's own
release in LD_LIBRARY_PATH.""",
    "OMP204": """No driver for an image's kind of device.

The driver's library (libcuda.so.1, libhsa-runtime64.so.1) is not on this machine, so no plugin can
use the image.

Cure: install the driver, or run the program on a machine with one. Start a container with the
option that adds the driver.""",
    "OMP205": """An image that no device takes, or whose code this machine's CPU cannot run.

Every plugin refuses the image, or the plugin that accepts it has no device. The finding repeats
the plugins' reasons: code for another GPU, for another machine, or a damaged image. Or an image is
for a CPU with instructions that this machine lacks (-march): kernels that use them end by SIGILL.

Cure: compile the program for this machine's device; `omptool devices` lists it.""",
    "OMP206": """An environment variable that changes where regions run, or is not read.

OMP_TARGET_OFFLOAD, OMP_DEFAULT_DEVICE, CUDA_VISIBLE_DEVICES and their like keep regions off a
device, or have an invalid value. omptool's runtime does not read LLVM's own variables.
A setuid program, or one with file capabilities, ignores LD_LIBRARY_PATH, LD_PRELOAD and each
OMPTOOL_ variable.

Cure: correct the variable, or unset it.""",
    "OMP207": """/tmp takes no images, or has old ones.

LLVM's runtimes write an image for the CPU to /tmp and load it from there, whatever TMPDIR is.
Where /tmp is not writable or is mounted noexec, the program ends. Programs that crashed leave
such files behind.

Cure: start the program with `omptool run`, which writes no files; delete /tmp/tmpfile_*.""",
    "OMP208": """A device node without its driver's libraries, or a driver without a device.

The kernel knows the GPU, but the library through which programs use it is missing, as in a
container that has only the node.

Cure: install the driver's libraries, of the version of the kernel's driver.""",
    "OMP209": """Libgomp lacks a plugin, a driver or a device.

Regions of GCC run on a device by a plugin of libgomp, which needs the vendor's driver. The
plugin, the driver or a device is missing.

Cure: install the plugin (libgomp-plugin-nvptx1, libgomp-plugin-gcn1) and the driver.""",
    "OMP210": """A library of the program that is not part of the prediction.

It has regions, but cannot be read. Or the program imports dlopen, and may open libraries by itself,
which only a run shows.

Cure: check the library with `omptool verify`; run `omptool doctor --run -- PROG`.""",
    "OMP211": """OpenMP without code for devices.

The program, a library that it needs, or an object of them, was compiled with OpenMP and has no code
for devices: clang makes plain functions of target regions unless -fopenmp-targets names a target.
They silently run on the host. Names of regions show this where optimizer and strip have left them.

Cure: give -fopenmp-targets=TRIPLE to compiler and linker, or build with `omptool cc`.""",
}


def known() -> tuple[str, ...]:
    """Return all codes."""
    return (*checks.CHECKS, *gates.CODES, *DOCTORS, *CODES)


def explain(code: str) -> str:
    """Return cause and cure of a finding, some lines of text. Raises UsageError for no code."""
    if code in DOCTORS:
        return DOCTORS[code]
    if code in CODES:
        return CODES[code].text
    if code in gates.CODES:
        return gates.explain(code)
    if code in checks.CHECKS:
        return checks.explain(code)
    raise UsageError(f"no finding has the code {code!r}; known codes: {', '.join(known())}")
