# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The checks of a file: one function per code, which yields findings and never raises.

A function's docstring is the cause and cure that `omptool verify --explain` prints.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from packager.checks import (
    archives,
    images,
    loading,
    pairs,
    registration,
    structure,
)
from packager.checks.between import Earlier
from packager.errors import UsageError
from packager.model import FatBinary, Finding

__all__ = ["CHECKS", "Earlier", "against", "explain", "selected", "verify"]

Check = Callable[[FatBinary], Iterator[Finding]]

# A code never changes its meaning. OMP101… follow the project's own list of faults; OMP130… are
# further checks.
CHECKS: dict[str, Check] = {
    "OMP101": registration.unregistered,
    "OMP102": structure.without_runtime,
    "OMP103": registration.wrong_range,
    "OMP104": structure.mixed_generations,
    "OMP105": pairs.missing,
    "OMP106": pairs.misordered,
    "OMP107": pairs.unreferenced,
    "OMP108": pairs.duplicated,
    "OMP109": pairs.mismatched,
    "OMP110": images.mislabelled,
    "OMP111": images.malformed,
    "OMP112": structure.same_target_twice,
    "OMP113": loading.wrapped,
    "OMP114": loading.unlinked,
    "OMP115": loading.second_runtime,
    "OMP116": loading.compiled_later,
    "OMP117": loading.newer_cubin,
    "OMP118": structure.several_registrations,
    "OMP119": loading.unregisters_late,
    "OMP120": structure.nothing_to_offload,
    "OMP121": structure.out_of_reach,
    "OMP122": structure.without_headers,
    "OMP123": structure.leftovers_of_relocatable_link,
    "OMP124": structure.member_without_device_code,
    "OMP125": loading.shared_memory_without_xnack,
    "OMP126": structure.rebuilt_apart,
    "OMP127": structure.other_device_numbers,
    "OMP130": registration.folded,
    "OMP131": structure.newer_compiler,
    "OMP132": structure.host_only,
    "OMP133": structure.regions_without_entry,
    "OMP134": archives.without_archive,
    "OMP135": images.for_another_cpu,
    "OMP136": images.miscompiled,
}


def verify(
    binary: FatBinary, select: Collection[str] = (), ignore: Collection[str] = ()
) -> list[Finding]:
    """Return what the checks find in `binary`, in the order of their codes.

    `select` limits the checks to these codes, `ignore` leaves some out. Raises UsageError for a
    code that does not exist.
    """
    return [finding for code in selected(select, ignore) for finding in CHECKS[code](binary)]


def against(earlier: Earlier, binary: FatBinary, codes: Collection[str]) -> list[Finding]:
    """Return the findings between files that are checked together, as parts of one program."""
    found: list[Finding] = []
    if "OMP108" in codes:
        found += earlier.collisions(binary)
    if "OMP127" in codes:
        found += earlier.orders(binary)
    return found


def selected(select: Collection[str] = (), ignore: Collection[str] = ()) -> list[str]:
    """Return the codes of the checks to run."""
    for code in (*select, *ignore):
        _known(code)
    return [code for code in CHECKS if code not in ignore and (code in select or not select)]


def explain(code: str) -> str:
    """Return the explanation of a code: cause and cure. Raises UsageError for an unknown code."""
    from inspect import getdoc  # slow to load

    return getdoc(CHECKS[_known(code)]) or ""


def _known(code: str) -> str:
    if code not in CHECKS:
        raise UsageError(f"{code!r} is not a check's code; known codes: {', '.join(CHECKS)}")
    return code
