# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parse the devices to compile for, and return clang's options for them."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

from packager.compiling.compilers import clangs_release, named, words_of
from packager.compiling.spelling import expect_processor, expect_triple
from packager.conventions import ARRAY, FIRST, PLAIN, called_by, in_words
from packager.errors import UsageError
from packager.formats.device_images.bitcode.openmp_spirv import (
    MARK,
    WRONG_RELEASE,
)
from packager.formats.device_images.bitcode.openmp_spirv import TARGET as WRONG_TARGET
from packager.records import NamedTuple
from packager.triples import GPUS, code_of, normalise

OPENMP = "-fopenmp"
# GPU bitcode needs no vendor library before its link, which clang does not do here.
FOR_GPUS = ("-foffload-lto", "-nogpulib")

# Clang 22 warns of unused processors although it compiles for them.
QUIET = "-Wno-unused-command-line-argument"
# First clang that compiles for host and devices separately.
APART = 15
# First clang whose OpenMP code for spirv64-intel fits omptool's device library.
OF_OPENCL = 22
# Target whose images record the calling convention of each kernel.
TELLING = "nvptx64"


class Target(NamedTuple):
    """A triple with its processors in the user's order, and its compiler."""

    triple: str
    archs: tuple[str, ...] = ()
    compiler: tuple[str, ...] = ()  # (): the host's

    @property
    def is_gpu(self) -> bool:
        """Return whether its code is bitcode until the link."""
        return code_of(self.triple) in GPUS

    def named(self, archs: Sequence[str]) -> list[str]:
        """Return the options that pass the processors to clang."""
        if not archs:
            return []
        if len(archs) == 1:
            return [f"-Xopenmp-target={self.triple}", f"-march={archs[0]}"]
        return [f"-Xopenmp-target={self.triple}", f"--offload-arch={','.join(archs)}", QUIET]

    def corrected(self, release: int) -> list[str]:
        """Return options that keep a clang release from miscompiling, and mark the code."""
        if release != WRONG_RELEASE or not self.triple.startswith(WRONG_TARGET):
            return []
        words = (
            "-mllvm=-openmp-opt-disable",
            "-Xclang=-default-function-attr",
            f"-Xclang={MARK}=off",
        )
        return [part for word in words for part in (f"-Xopenmp-target={self.triple}", word)]


def targets(words: Iterable[str], compilers: Iterable[str]) -> list[Target]:
    """Parse `TRIPLE[:ARCH]` words, with the compilers of `TRIPLE=COMMAND` words.

    Raises UsageError for a malformed word, and for a compiler of a triple that is not listed.
    """
    archs: dict[str, list[str]] = {}
    for word in words:
        triple, colon, arch = word.partition(":")
        if not triple or (colon and not arch):
            raise UsageError(f"{word!r} is not TRIPLE[:ARCH]")
        expect_triple(triple)
        known = archs.setdefault(normalise(triple), [])
        if arch:
            expect_processor(normalise(triple), arch)
        if arch in known:
            raise UsageError(f"{word} is named twice")
        known += [arch] if arch else []
    chosen: dict[str, tuple[str, ...]] = {}
    for word in compilers:
        triple, equals, text = word.partition("=")
        if not equals or not text.strip():
            raise UsageError(f"{word!r} is not TRIPLE=COMPILER")
        if normalise(triple) not in archs:
            raise UsageError(
                f"--device-compiler is for {normalise(triple)}, which no --triple names"
            )
        chosen[normalise(triple)] = named(words_of(text)).words
    return [Target(t, tuple(known), chosen.get(t, ())) for t, known in archs.items()]


def device_of(arch: str) -> str:
    """Return the TRIPLE:ARCH of --offload-arch=ARCH. Raises UsageError for an unknown ARCH."""
    for begin, triple in (("sm_", "nvptx64-nvidia-cuda"), ("gfx", "amdgcn-amd-amdhsa")):
        if arch.startswith(begin):
            return f"{triple}:{arch}"
    raise UsageError(f"the triple of --offload-arch={arch} is unknown: give both with --triple")


def offloading(own: Sequence[Target], release: int = 0) -> list[str]:
    """Return the options with which a clang release (0: unknown) compiles for targets."""
    words = [OPENMP, f"-fopenmp-targets={','.join(target.triple for target in own)}"]
    words += [word for target in own for word in target.named(target.archs)]
    words += [word for target in own for word in target.corrected(release)]
    return words + (list(FOR_GPUS) if any(target.is_gpu for target in own) else [])


def expect_able(host: int, target: Target) -> None:
    """Check that a target's compiler can compile for it and matches the host's kernel calls.

    Raises UsageError if not.
    """
    own = clangs_release(target.compiler) if target.compiler else host
    name = shlex.join(target.compiler)
    if own is None:
        raise UsageError(f"{name}, for {target.triple}, is not clang")
    if min(own, host) < APART and (target.is_gpu or target.compiler):
        what = "beside another" if target.compiler else "for a GPU without its vendor's libraries"
        raise UsageError(f"clang {min(own, host)} cannot compile {what}: clang {APART} can")
    if target.triple.startswith(WRONG_TARGET) and own < OF_OPENCL:
        what = f"clang {own} compiles no OpenMP for {target.triple}"
        raise UsageError(f"{what}: clang {OF_OPENCL} and later do")
    called = called_by(host)
    if target.is_gpu:
        called = next(releases for releases in (PLAIN, FIRST, ARRAY) if host in releases)
    if own not in called and code_of(target.triple) != TELLING:
        raise UsageError(
            f"{name}, for {target.triple}, is clang {own}: a program of clang {host} calls kernels "
            f"of clang {in_words(called)} only"
        )
