# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Budgets of a file's device code: what it must have, and the most that kernels may need.

A budget is a TOML file:

    device-code = 130000            # bytes of all images, at most
    entries = 12                    # at least
    architectures = ["sm_80"]       # each is there

    [kernels."work:*"]              # a kernel's name as `dump` shows it; * stands for anything
    registers = 64                  # at most, as spills, stack, shared and code
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from packager.errors import FormatError
from packager.model import DeviceImage, DeviceSymbol, FatBinary, Finding, Resources
from packager.naming.region_names import short_names, spellings
from packager.pairing import needs_device
from packager.questions.kernels import kernels
from packager.questions.sorting import code_size, spills
from packager.records import NamedTuple
from packager.wording import counted

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LIMITS = ("registers", "spills", "stack", "shared", "code")
KEYS = ("device-code", "entries", "architectures", "kernels")
HINT = "look at what changed, or give more in the budget"


class Budget(NamedTuple):
    """The limits of a budget; None for absent ones."""

    device_code: int | None = None
    entries: int | None = None
    architectures: tuple[str, ...] = ()
    kernels: Mapping[str, Mapping[str, int]] = {}


def parse(text: str) -> Budget:
    """Parse a budget. Raises FormatError for any other text."""
    try:
        given = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise FormatError(f"is no TOML: {error}") from error
    _check_keys(given, KEYS, "the budget")
    architectures = given.get("architectures", [])
    if not isinstance(architectures, list) or not all(isinstance(a, str) for a in architectures):
        raise FormatError("architectures must be a list of strings")
    patterns = given.get("kernels", {})
    if not isinstance(patterns, dict):
        raise FormatError("kernels must be a table of patterns")
    return Budget(
        _number(given, "device-code"),
        _number(given, "entries"),
        tuple(architectures),
        {pattern: _limits(pattern, limits) for pattern, limits in patterns.items()},
    )


def _limits(pattern: str, limits: Any) -> dict[str, int]:
    if not isinstance(limits, dict):
        raise FormatError(f"kernels.{pattern!r} must be a table of limits")
    _check_keys(limits, LIMITS, f"kernels.{pattern!r}")
    numbers = {what: _number(limits, what) for what in limits}
    return {what: number for what, number in numbers.items() if number is not None}


def _check_keys(table: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for key in table:
        if key not in known:
            raise FormatError(f"{where} has the key {key!r}; known keys: {', '.join(known)}")


def _number(table: Mapping[str, Any], key: str) -> int | None:
    value = table.get(key)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
        raise FormatError(f"{key} must be a number from 0, not {value!r}")
    return value


# ---- findings ----


def exceeded(budget: Budget, files: Sequence[FatBinary]) -> Iterator[Finding]:
    """A kernel, or all device code, needs more than its budget.

    The file of `--budget` limits registers, spills, stack and shared memory of kernels, or the
    bytes of a kernel's code or of all images. More registers or shared memory let fewer teams run
    at once, and spills are slow memory.

    Cure: look at what changed in the source, the compiler or its flags; or raise the limit.
    """
    size = sum(image.size for file in files for image in file.images)
    if budget.device_code is not None and size > budget.device_code:
        message = f"the device code has {size} bytes, and its budget is {budget.device_code}"
        yield Finding("OMP144", "error", message, HINT)
    for kernel in _all(files):
        for pattern, limits in budget.kernels.items():
            if not _matches(pattern, kernel.symbol.name):
                continue
            for what, most in limits.items():
                value = kernel.numbers.get(what)
                if value is not None and value > most:
                    message = f"kernel {kernel.name} ({kernel.image.target}) has {what} {value}"
                    message += f", and the budget of {pattern!r} is {most}"
                    yield Finding("OMP144", "error", message, HINT, None, kernel.image.index)


def lacking(budget: Budget, files: Sequence[FatBinary]) -> Iterator[Finding]:
    """The file lacks what its budget asks for.

    The file of `--budget` names architectures of which each must have an image, or a number of
    entries, or a pattern of kernels that matches none. A build that lost them still runs: its
    regions stay on the host.

    Cure: look at the offload flags of the objects; or take the line out of the budget.
    """
    there = {image.processor for file in files for image in file.images}
    for architecture in budget.architectures:
        if architecture not in there:
            known = ", ".join(sorted(filter(None, there))) or "none"
            message = f"no image is for {architecture}; architectures: {known}"
            yield Finding("OMP145", "error", message, HINT)
    count = sum(needs_device(entry) for file in files for entry in file.entries)
    if budget.entries is not None and count < budget.entries:
        message = f"there are {counted(count, 'entry')}, and the budget asks for {budget.entries}"
        yield Finding("OMP145", "error", message, HINT)
    names = {kernel.symbol.name for kernel in _all(files)}
    for pattern in budget.kernels:
        if not any(_matches(pattern, name) for name in names):
            yield Finding("OMP145", "error", f"no kernel matches {pattern!r} of the budget", HINT)


class _Kernel(NamedTuple):
    name: str  # display name
    symbol: DeviceSymbol
    image: DeviceImage
    numbers: Mapping[str, int]


def _all(files: Sequence[FatBinary]) -> Iterator[_Kernel]:
    for file in files:
        for image in file.images:
            found = kernels(file, image)
            names = short_names(kernel.name for kernel in found)
            for kernel in found:
                name = names.get(kernel.name, kernel.name)
                yield _Kernel(name, kernel, image, _numbers(kernel))


def _numbers(kernel: DeviceSymbol) -> dict[str, int]:
    needs = kernel.resources or Resources(None, None, None)
    said = (needs.registers, spills(needs), needs.stack, needs.shared, code_size(kernel))
    return {what: n for what, n in zip(LIMITS, said, strict=True) if n is not None}


def _matches(pattern: str, name: str) -> bool:
    expression = ".*".join(map(re.escape, pattern.split("*")))
    return any(re.fullmatch(expression, one) for one in spellings(name))


# ---- writing ----


def written(files: Sequence[FatBinary]) -> str:
    """Return a budget that the files meet exactly, as text.

    Kernels are named by their function, because their lines move.
    """
    size = sum(image.size for file in files for image in file.images)
    there = sorted({image.processor for file in files for image in file.images} - {""})
    lines = [
        "# A budget for `omptool verify --budget`; a key that is not here has no limit.",
        f"device-code = {size}",
        f"entries = {sum(needs_device(entry) for file in files for entry in file.entries)}",
        f"architectures = {json.dumps(there)}",
    ]
    most: dict[str, dict[str, int]] = {}
    for kernel in _all(files):
        limits = most.setdefault(re.sub(r":\d+.*", ":*", kernel.name), {})
        for what, number in kernel.numbers.items():
            limits[what] = max(limits.get(what, 0), number)
    for pattern, limits in most.items():
        if limits:
            lines += ["", f"[kernels.{json.dumps(pattern)}]"]
            lines += [f"{what} = {number}" for what, number in limits.items()]
    return "\n".join(lines) + "\n"
