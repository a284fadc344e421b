# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of the generations of LLVM's offloading ABI: their names and properties.

A generation is a range of releases with equal properties. A new generation is a new row here and in
`runtime/common/generations.h`. Three facts are not properties of a generation: each call states the
version of its record and the place of the launch environment, and the compiler of an image decides
the calling convention of kernels for a CPU.
"""

from __future__ import annotations

from typing import Literal

from packager.records import NamedTuple

GenerationName = Literal[
    "llvm-14", "llvm-16", "llvm-18", "llvm-19", "llvm-20", "llvm-22", "llvm-23", "llvm-24"
]


class Generation(NamedTuple):
    """Properties that programs of some clang releases and their runtimes share.

    The columns up to `launch_environment` are also in the runtime's table.
    """

    name: GenerationName
    first_release: int
    last_release: int
    soname: str  # SONAME of the library that the last release links with
    record_size: int  # bytes of an entry
    entries_section: str
    is_wrapped: bool  # registered are the OffloadBinaries around images, not images
    registration: Literal["init_array", "at_exit"]  # how the program unregisters, by .fini_array or
    pairing: Literal["position", "name"]  # how host and image entries are paired
    container_version: int  # version of written OffloadBinaries; 0: none
    kernel_environment: int  # bytes of a GPU kernel's own record; 0: none
    launch_environment: int  # bytes of what a GPU kernel is given per launch; 0: none
    # The fields below are for this package only.
    has_typed_pointers: bool  # typed pointers in LLVM IR that its first release reads
    are_models_bits: bool  # programming models are numbered 1, 2, 4, 8 instead of 1, 2, 3
    bundle_names: Literal["bare", "dashed", "unknown"]  # targets without processor, environment
    compression_version: int  # version of compressed bundles for the last release; 0: unsupported

    @property
    def releases(self) -> str:
        """Return the releases in words."""
        if not self.first_release:
            return f"{self.last_release} or older"
        if self.first_release == self.last_release:
            return str(self.last_release)
        joint = "and" if self.last_release - self.first_release == 1 else "to"
        return f"{self.first_release} {joint} {self.last_release}"


# fmt: off
GENERATIONS: tuple[Generation, ...] = (
    Generation("llvm-14",  0, 14, "libomptarget.so",      32, "omp_offloading_entries",
               False, "init_array", "position", 0,  0,  0, True,  False, "bare",    0),
    Generation("llvm-16", 15, 17, "libomptarget.so.16",   32, "omp_offloading_entries",
               True,  "init_array", "name",     1,  0,  0, False, False, "bare",    0),
    Generation("llvm-18", 18, 18, "libomptarget.so.18.1", 32, "omp_offloading_entries",
               False, "init_array", "name",     1, 48, 16, False, False, "dashed",  0),
    Generation("llvm-19", 19, 19, "libomptarget.so.19.1", 32, "omp_offloading_entries",
               False, "at_exit",    "name",     1, 48, 16, False, False, "dashed",  2),
    Generation("llvm-20", 20, 20, "libomptarget.so.20.1", 56, "omp_offloading_entries",
               False, "at_exit",    "name",     1, 48, 16, False, False, "dashed",  2),
    Generation("llvm-22", 21, 22, "libomptarget.so.22.1", 56, "llvm_offload_entries",
               False, "at_exit",    "name",     1, 48, 16, False, True,  "unknown", 3),
    Generation("llvm-23", 23, 23, "libomptarget.so.23.1", 56, "llvm_offload_entries",
               False, "at_exit",    "name",     2, 40, 32, False, True,  "unknown", 3),
    Generation("llvm-24", 24, 24, "libomptarget.so.24.0", 56, "llvm_offload_entries",
               False, "at_exit",    "name",     3, 40, 32, False, True,  "unknown", 3),
)
# fmt: on
NAMES: tuple[GenerationName, ...] = tuple(row.name for row in GENERATIONS)
NEWEST = GENERATIONS[-1]
_BY_NAME: dict[str, Generation] = {row.name: row for row in GENERATIONS}


def named(abi: str | None) -> Generation | None:
    """Return the generation of an ABI's name; None for an ABI that is not LLVM's."""
    return _BY_NAME.get(abi or "")


def of_release(release: int) -> Generation:
    """Return the generation that a release is of; the newest for releases that came later."""
    return next((row for row in GENERATIONS if release <= row.last_release), NEWEST)


def is_newer(release: int) -> bool:
    """Return whether a release of LLVM is newer than this table."""
    return release > NEWEST.last_release


def listed(names: tuple[str, ...] = NAMES) -> str:
    """Return names in words: "a, b or c"."""
    return f"{', '.join(names[:-1])} or {names[-1]}"
