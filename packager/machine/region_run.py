# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Records of where the regions of a program ran, as the runtime counts them. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from packager.machine.facts import GccRegions
from packager.machine.host_regions import Left
from packager.records import NamedTuple


class Region(NamedTuple):
    """Runs of one region in one process that went one way."""

    process: int
    name: str  # name of the kernel
    device: int | None  # None: the host
    plugin: str  # plugin of the device; "" on the host
    reason: str  # why on the host; "" on a device
    begun: int
    ended: int  # without a fault; on the host: as many as have begun
    failed: int  # runs that the device refused
    title: str  # title of the device: its plugin, or more for another rank's device; "" on the host

    @property
    def unfinished(self) -> int:
        """Return how many were running when the process ended."""
        return self.begun - self.ended - self.failed


class Idle(NamedTuple):
    """A region of a file with entries that no call passed to the runtime."""

    name: str  # name of the kernel
    file: str


@dataclass(frozen=True)
class RegionRun:
    """The outcome of a program that ran, and of its regions."""

    program: str
    exit_code: int | None  # None: a signal ended it
    signal: int | None
    regions: Sequence[Region]  # ordered by their first run
    libraries: Sequence[str]  # files that registered regions, the program among them
    lost: int = 0  # runs that found no place in the report
    host_only: Sequence[Left] = ()  # files that show regions without device code
    of_gcc: Sequence[GccRegions] = ()  # files with regions for libgomp, linked or opened
    idle: Sequence[Idle] = ()  # regions that were never launched, which is no fault

    @property
    def processes(self) -> Sequence[int]:
        """Return the processes in which regions ran."""
        return list(dict.fromkeys(region.process for region in self.regions))

    @property
    def away(self) -> Sequence[Region]:
        """Return the runs that were not on a device to their end."""
        return [one for one in self.regions if one.device is None or one.unfinished]

    @property
    def is_well(self) -> bool:
        """Return whether the program ended well and all its regions ran on devices."""
        stays = self.away or self.lost or self.host_only or any(one.reason for one in self.of_gcc)
        return self.exit_code == 0 and not stays


def names(regions: Iterable[Region]) -> list[str]:
    """Return the names of regions, each once."""
    return list(dict.fromkeys(region.name for region in regions))
