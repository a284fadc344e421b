"""The checks of a file: one function per code, which yields findings and never raises.

A function's docstring is the cause and cure that `omptool verify --explain` prints.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from inspect import getdoc

from packager.checks import addresses, images, pairs, registration
from packager.errors import UsageError
from packager.model import FatBinary, Finding

Check = Callable[[FatBinary], Iterator[Finding]]

# A code never changes its meaning; OMP101… are V01… of the list that the project works through,
# OMP130… are checks beyond that list.
CHECKS: dict[str, Check] = {
    "OMP101": registration.unregistered,
    "OMP103": registration.wrong_range,
    "OMP105": pairs.missing,
    "OMP106": pairs.misordered,
    "OMP107": pairs.unreferenced,
    "OMP108": pairs.duplicated,
    "OMP109": pairs.mismatched,
    "OMP110": images.mislabelled,
    "OMP130": addresses.folded,
}


def verify(
    binary: FatBinary, select: Collection[str] = (), ignore: Collection[str] = ()
) -> list[Finding]:
    """What the checks find in `binary`, in the order of their codes.

    `select` limits the checks to these codes, `ignore` leaves some out. Raises UsageError for a
    code that does not exist.
    """
    return [finding for code in selected(select, ignore) for finding in CHECKS[code](binary)]


def selected(select: Collection[str] = (), ignore: Collection[str] = ()) -> list[str]:
    """The codes that are checked."""
    for code in (*select, *ignore):
        _known(code)
    return [code for code in CHECKS if code not in ignore and (code in select or not select)]


def explain(code: str) -> str:
    """Cause and cure of a finding, some lines of text. Raises UsageError for an unknown code."""
    return getdoc(CHECKS[_known(code)]) or ""


def _known(code: str) -> str:
    if code not in CHECKS:
        raise UsageError(f"{code!r} is no code of a check; there are {', '.join(CHECKS)}")
    return code
