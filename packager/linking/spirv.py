# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Link clang's OpenMP code for OpenCL devices: device library, and checks of SPIR-V's limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from packager.errors import FindingError, MissingToolError, UsageError
from packager.files.portable import is_file
from packager.files.reader import open_reader
from packager.formats.device_images.bitcode.openmp_spirv import is_miscompiled
from packager.linking.device_runtime import OwnLibraries
from packager.linking.inputs import Part
from packager.lowering.joining.request import JoinAnswer
from packager.lowering.joining.request import Part as Module
from packager.lowering.targets import Family
from packager.naming.demangle import demangled

PORTABLE = "spirv64-unknown-unknown"  # target of portable kernels, and LLVM's for its output
BITCODE = "omptool-devicertl-spirv64.bc"
_ENTRY_POINT = b"__kmpc_target_init"  # first function that clang's kernels call
_MOST_NAMED = 6
WRONG_CODE = (
    "OMP136: clang 22 drops stores of functions that regions call: compile with omptool cc, or "
    "clang 23"
)


def expect_bitcode(parts: Sequence[Part]) -> None:
    """Raise UsageError for an object with SPIR-V that lacks its device library.

    LLVM guesses the types in SPIR-V module by module, so they differ between modules.
    """
    for part in parts:
        if part.image.kind == "spirv":
            with open_reader(part.file) as data:
                if data.holds(_ENTRY_POINT):
                    what = f"its device code for {part.image.triple} is SPIR-V"
                    why = "which cannot be linked with a device library"
                    raise UsageError(
                        f"{what}, {why}: compile with -foffload-lto", Path(part.origin)
                    )


def _is_miscompiled(part: Part) -> bool:
    with part.opened() as data:
        return is_miscompiled(data)


def warnings(parts: Sequence[Part]) -> Iterator[str]:
    """Yield a warning for code that clang miscompiles."""
    wrong = [
        part.origin for part in parts if part.image.kind == "bitcode" and _is_miscompiled(part)
    ]
    if wrong:
        yield f"{', '.join(wrong)}: {WRONG_CODE}"


def own_library(folder: Callable[[], Path] | None) -> OwnLibraries:
    """Return omptool's device library. Raises MissingToolError if it was not built."""
    path = folder() / BITCODE if folder else None
    if path is None or not is_file(path):
        what = f"{path or BITCODE}, omptool's device library for OpenCL devices, is missing"
        raise MissingToolError(f"{what}: it is built where there is a clang of 19 to 22")
    return OwnLibraries((Module(str(path), path.name, is_own=True),))


def expect_complete(answer: JoinAnswer, family: Family) -> None:
    """Raise FindingError for calls by address and undefined functions, which SPIR-V cannot have.

    Drivers accept such a module, and resolve the names in their own process.
    """
    if answer.by_address:
        names = _listed([demangled(name) for name in answer.by_address])
        what = f"{names} calls a function by its address"
        raise FindingError(f"{what}: SPIR-V has no such calls; virtual functions need them, too")
    missing = [one for one in answer.undefined if not family.provides(one.name)]
    if missing:
        users = ", ".join(dict.fromkeys(user for one in missing for user in one.users))
        names = _listed([one.name for one in missing])
        raise FindingError(
            f"{users or 'the joined device code'} uses {names}, which nothing defines for OpenCL "
            "devices"
        )


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more
