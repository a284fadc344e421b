# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launches in a log of the fake CUDA driver, by what each argument of a kernel stands for.

The log is the standard error of a program that has sources/told_regions.c in it: the driver's
calls, what the program's regions pass, and what LIBOMPTARGET_INFO tells of the mapping table.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

LITERAL = 0x100  # flag in a parameter's type
NO_ENVIRONMENT = 2**64 - 1
ENVIRONMENT = 16  # bytes of it
STACK = 8 << 20
WORD = 8
# A line of the driver may follow half a line of the runtime.
DRIVER = re.compile(r"(cuLaunchKernel|cuMemAlloc\w*) (.*) = (\d+)$")
TOLD = re.compile(r"# (program|memory|region|runs)\b ?(.*)$")
MAPPED = re.compile(
    r"(Creating new|Removing) map entry with .*?HstPtrBegin=(\w+), .*?TgtPtrBegin=(\w+), Size=(\d+)"
)


@dataclass(frozen=True)
class Parameter:
    """Parameter of a region, as the program passes it."""

    base: int
    begin: int
    size: int
    kind: int


@dataclass
class Launch:
    """One of a kernel, with what its arguments stand for."""

    kernel: str
    grid: list[int]  # blocks, threads, memory of each block's own
    result: int
    arguments: list[str] = field(default_factory=list)
    # Bytes from the address of driver memory lent to a reduction.
    lent: int = field(default=0, compare=False)


@dataclass
class _Moment:
    """A launch as requested, with the mappings at that time."""

    launch: Launch
    words: list[int]
    parameters: list[Parameter]
    mapped: dict[int, tuple[int, int]]  # the device's address: the host's, and the size
    owned: list[range]  # memory that the program has of the runtime


class LaunchLog:
    """The logs of one run of a program."""

    def __init__(self, text: str) -> None:
        self._program = self._stack = range(0)
        self._mapped: dict[int, tuple[int, int]] = {}
        self._owned: list[range] = []
        self._regions: list[list[Parameter]] = []
        self._contents: dict[tuple[str, ...], list[list[bytes | None]]] = defaultdict(list)
        self._given: dict[int, int] = {}  # the driver's memory: address and size
        self._moments: list[_Moment] = []
        for line in text.splitlines():
            if found := DRIVER.search(line):
                self._called(found[1], found[2].split(), int(found[3]))
            elif found := TOLD.search(line):
                self._told(found[1], found[2].split())
            elif found := MAPPED.search(line):
                self._changed(found[1], *(int(word, 0) for word in found.groups()[1:]))
        self.launches = [self._understood(moment) for moment in self._moments]

    def _called(self, function: str, words: list[str], result: int) -> None:
        if function != "cuLaunchKernel":
            if result == 0:
                self._given[int(words[-1], 0)] = int(words[0])
            return
        launch = Launch(words[0], [int(word) for word in words[1:8]], result)
        values = [_number(word) for word in words[9:]]
        parameters = self._regions.pop(0) if values else []
        mapped, owned = dict(self._mapped), list(self._owned)
        self._moments.append(_Moment(launch, values, parameters, mapped, owned))

    def _told(self, what: str, words: list[str]) -> None:
        if what == "program":
            self._program = range(int(words[0], 16), int(words[1], 16))
            top = int(words[3], 16)
            self._stack = range(top - STACK, top)
        elif what == "memory":
            at = _number(words[0])
            self._owned.append(range(at, at + int(words[1])))
        elif what == "region":
            numbers = [one.split(":") for one in words]
            self._regions.append(
                [Parameter(int(a, 16), int(b, 16), int(c), int(d, 16)) for a, b, c, d in numbers]
            )
        else:
            pairs = words[1:-2]
            contents = [None if one == "-" else bytes.fromhex(one) for one in pairs[1::2]]
            key = (words[0], *pairs[::2])
            self._contents[key].append(contents)

    def _changed(self, what: str, host: int, device: int, size: int) -> None:
        if what == "Removing":
            self._mapped.pop(device, None)
        else:
            self._mapped[device] = (host, size)

    def _understood(self, moment: _Moment) -> Launch:
        launch, words = moment.launch, moment.words
        key = (launch.kernel, *map(_word, words))
        contents = self._contents[key].pop(0)
        if words:
            launch.arguments.append(self._environment(launch, words[0], contents[0]))
        for parameter, word, content in zip(
            moment.parameters, words[1:], contents[1:], strict=True
        ):
            launch.arguments.append(self._argument(moment, parameter, word, content))
        return launch

    def _environment(self, launch: Launch, word: int, content: bytes | None) -> str:
        if content is None:
            return "no environment" if word == NO_ENVIRONMENT else hex(word)
        count, iteration, buffer = (
            int.from_bytes(content[at:end], "little") for at, end in ((0, 4), (4, 8), (8, 16))
        )
        launch.lent = self._room(buffer)
        return f"an environment of {count}, {iteration} and memory"

    def _room(self, address: int) -> int:
        starts = sorted(self._given)
        start = starts[bisect_right(starts, address) - 1]
        return max(start + self._given[start] - address, 0)

    def _argument(
        self, moment: _Moment, parameter: Parameter, word: int, content: bytes | None
    ) -> str:
        device = word + parameter.begin - parameter.base
        place = self._mapped_to(moment, device, parameter.begin)
        place = place or _place_in(moment.owned, word)
        if place or content is None or parameter.kind & LITERAL:
            return place or self._host(moment, word, 0)
        own = content[: parameter.size]
        parts = [own[at : at + WORD] for at in range(0, len(own), WORD)]
        return f"a copy of {parameter.size} bytes: " + " ".join(
            self._mapped_to(moment, int.from_bytes(part, "little")) or part.hex() for part in parts
        )

    def _mapped_to(self, moment: _Moment, device: int, wanted: int = -1) -> str:
        """Name the host object of an address, which may precede it if that is `wanted`."""
        for start, (host, size) in moment.mapped.items():
            if start <= device < start + max(size, 1) or host + device - start == wanted:
                at = host + device - start
                place = self._host(moment, at, size)
                return place if at == device else f"what maps {place}"
        return ""

    def _host(self, moment: _Moment, address: int, size: int) -> str:
        """Return a name for a host address that does not depend on the runtime."""
        is_elsewhere = size and address not in self._program and address not in self._stack
        elsewhere = f"{size} bytes of another thread's" if is_elsewhere else hex(address)
        return _place_in(moment.owned, address) or elsewhere


def read(path: Path) -> LaunchLog:
    """Read the log in this file."""
    return LaunchLog(path.read_text(errors="replace"))


def _place_in(ranges: list[range], address: int) -> str:
    for number in reversed(range(len(ranges))):
        if address in ranges[number]:
            return f"memory {number} of the program's, +{address - ranges[number].start}"
    return ""


def _number(word: str) -> int:
    return 0 if word in ("0", "(nil)") else int(word, 16)


def _word(number: int) -> str:
    return hex(number) if number else "0"
