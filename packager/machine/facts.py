# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Records of `doctor`: facts of a machine, and the diagnosis of a program on it. No I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from packager.machine.dynamic_loader import Library
from packager.machine.host_regions import Left
from packager.machine.llvm_runtime import Outcome
from packager.machine.runtimes import Runtime
from packager.model import DeviceImage, Finding, Model, OffloadEntry
from packager.records import NamedTuple
from packager.wording import counted

# Device file and driver library for each kind of GPU.
NODES = {
    "nvptx64": ("/dev/nvidia0", "libcuda.so.1"),
    "amdgcn": ("/dev/kfd", "libhsa-runtime64.so.1"),
}
LEVEL_ZERO, OPENCL = "libze_loader.so.1", "libOpenCL.so.1"  # libraries for SYCL's devices


# A record for each plugin of omptool's runtime: name, path, state, reason, devices: [{number}].
Plugins = list[dict[str, Any]]
CPU_PLUGIN = "host"
FAILS = "fails"  # the state of one that ends whoever asks it
FOLDERS = "OMPTOOL_PLUGIN_PATH"  # the name in a row of a folder that cannot be read


class Answer(NamedTuple):
    """A plugin's answer about an image."""

    plugin: str
    accepts: bool
    reason: str
    fatal: bool = False  # asking it, or for its devices once it has accepted, ends the program


class Cuda(NamedTuple):
    """The answer of CUDA's driver about the devices of this machine."""

    problem: str  # why it cannot be used; "" if it can
    devices: tuple[int, ...] = ()  # compute capabilities, as in sm_90


class Tmp(NamedTuple):
    """The folder where LLVM's runtimes put images for the CPU: /tmp."""

    problem: str = ""  # why they cannot; "" if they can
    left: int = 0  # how many such images are in it
    size: int = 0  # bytes of these images


NOTHING_WRONG = Tmp()


@dataclass(frozen=True)
class Machine:
    """The facts of this machine that matter to one program."""

    libraries: Sequence[Library]  # libraries that the loader picks
    under_run: Sequence[Library]  # libraries that it picks under `omptool run`
    devices: Mapping[str, int]  # number of devices of each ready plugin, in order
    answers: Sequence[Sequence[Answer]]  # answers for each image of the program
    environment: Mapping[str, str]
    files: frozenset[str] = frozenset()  # files of NODES that exist
    tmp: Tmp = NOTHING_WRONG
    clangs: tuple[int, ...] = ()  # the releases that compiled the program, where it says so
    runtime: Runtime | None = None  # the libomptarget among the libraries
    # Plugins that GCC's library finds, by its name of the kind of device.
    libgomp_plugins: Mapping[str, Path] = field(default_factory=dict)
    amd: tuple[str, ...] = ()  # processor of each AMD GPU, as in gfx90a
    lacks: Sequence[str] = ()  # missing requirement of each image under `omptool run`, or ""
    lacks_alone: Sequence[str] = ()  # missing libraries on LLVM's runtime
    deviceless: Mapping[str, str] = field(default_factory=dict)  # plugins, and "(why)" or ""
    unread_folders: Mapping[str, str] = field(default_factory=dict)  # folders, with the errors
    fatal_plugin: str = ""  # one that ends whoever opens it, and how; "" if none does
    refusal: str = ""  # why the loader does not start the program, libraries aside
    rights: str = ""  # reason for raised rights; "" without
    ignored: tuple[str, ...] = ()  # variables that are set, and ignored for its rights
    # Facts for an omptool runtime that the loader picks; None if it picks none.
    alone: Machine | None = None
    unasked: str = ""  # why the plugins of that one could not be asked; "" if they were
    cuda: Cuda | None = None  # None: the driver's library is missing, or not needed
    # Architectures of each plugin's devices, if it describes them.
    architectures: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    processor: frozenset[str] = frozenset()  # features of the CPU, as Linux names them

    def have_none(self, owners: Sequence[Owner]) -> str:
        """Return a sentence on why these plugins have no device."""
        names = (owner.plugin for owner in owners)
        said = (f"plugin {name} has none {self.deviceless.get(name, '')}" for name in names)
        return ", ".join(map(str.rstrip, said))


# Facts of a file that the loader does not load.
NOT_LOADED = Machine((), (), {}, (), {})


class Owner(NamedTuple):
    """A plugin that accepts an image, and the numbers of its devices."""

    plugin: str
    devices: tuple[int, ...]


class ImageFate(NamedTuple):
    """Fate of an image: the plugins that accept it, and its devices."""

    image: DeviceImage
    owners: tuple[Owner, ...]  # the order in which they are queried
    rule: str  # why it is accepted, or refused by each
    taken: bool = False  # accepted by a device of another runtime than OpenMP's

    @property
    def devices(self) -> tuple[int, ...]:
        """Return the numbers of all devices that get it."""
        return tuple(number for owner in self.owners for number in owner.devices)

    def plugin_of(self, device: int) -> str:
        """Return the name of the plugin that has this device, which gets the image."""
        return next(owner.plugin for owner in self.owners if device in owner.devices)


class EntryFate(NamedTuple):
    """The outcome of an entry: the device that runs it, or why the host does."""

    entry: OffloadEntry
    runs_on: str  # "device 0 (host)" or "host"
    reason: str  # why on the host; "" on a device


class OtherRuntime(NamedTuple):
    """A runtime of CUDA, HIP or SYCL, with the outcome of the images registered with it."""

    model: Model
    images: int
    registrations: int
    taken: int  # registrations of which a device takes an image
    library: str | None  # name as required; None: not needed, or built in
    path: Path | None  # path that the loader picks
    drivers: tuple[tuple[str, bool], ...]  # libraries, one of which it needs, and if they are here
    reason: str  # why not all of it runs; "" if it does
    archived: int = 0  # registrations whose images are in archives


class GccRegions(NamedTuple):
    """The regions by GCC of one file, and where libgomp will run them."""

    path: str
    regions: int
    runs_on: str  # "device 0 (nvptx)" or "host"
    reason: str  # why on the host; "" on a device

    @property
    def sentence(self) -> str:
        """Return the prediction as a sentence."""
        does = "runs" if self.regions == 1 else "run"
        why = f": {self.reason}" if self.reason else ""
        where = "the host" if self.reason else self.runs_on
        what = f"{counted(self.regions, 'region')} by GCC {does} on {where}"
        return f"{what}, by libgomp{why}"


@dataclass(frozen=True)
class Diagnosis:
    """The predicted outcome of a program under `omptool run`, with findings about it."""

    images: tuple[ImageFate, ...]
    entries: tuple[EntryFate, ...]
    devices: int
    findings: tuple[Finding, ...] = field(default=())
    without_run: Outcome | None = None  # on the runtime that the loader picks
    obstacle: str = ""  # why it does not start at all; "" if it does
    end: str = ""  # why it ends at its first region; "" if it does not
    others: tuple[OtherRuntime, ...] = ()
    is_of_default: bool = False  # the program may choose another device than the default
    unfit: str = ""  # why code for the CPU may end the program by SIGILL; "" if it does not
    host_only: tuple[Left, ...] = ()  # files that show regions without device code
    of_gcc: tuple[GccRegions, ...] = ()  # files with regions for libgomp, beside others'

    @property
    def offloads(self) -> bool:
        """Return whether a device runs every region that shows."""
        of_gcc = any(one.reason for one in self.of_gcc)
        stays = self.obstacle or self.end or self.host_only or of_gcc
        runs = not (stays or any(other.reason for other in self.others))
        return runs and all(not fate.reason for fate in self.entries)
