# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Look at this machine, and start the kit's programs on it."""

from __future__ import annotations

import ctypes
import json
import os
import platform
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

Asked = TypeVar("Asked")
Found = TypeVar("Found")

PATIENCE = 120.0  # seconds
AT_ONCE = 4
NOTHING: Mapping[str, str] = {}
# Prints whether the plugin has a device, and the images that it accepts, in a process of its own.
ASKING = """
import ctypes, sys
plugin = ctypes.CDLL(sys.argv[1])
plugin.__tgt_rtl_last_error.restype = ctypes.c_char_p
count = plugin.__tgt_rtl_number_of_devices()
print("ready" if count > 0 else (plugin.__tgt_rtl_last_error() or b"none").decode())
for path in sys.argv[2:] if count > 0 else ():
    data = open(path, "rb").read()
    held = ctypes.create_string_buffer(data, len(data))
    begin = ctypes.addressof(held)
    image = (ctypes.c_void_p * 4)(begin, begin + len(data), None, None)
    if plugin.__tgt_rtl_is_valid_binary(image):
        print(path)
"""
MAJOR, MINOR = 75, 76  # attributes of a device: its compute capability
LIBOFFLOAD = "libLLVMOffload.so.22.1"
# File that marks a completely unpacked folder of LLVM's libraries.
UNPACKED = ".unpacked"


@dataclass
class Done:
    """The end of a program."""

    code: int
    out: str
    err: str
    seconds: float

    def told(self) -> str:
        """Return the outcome in one line."""
        how = f"exit code {self.code}"
        if self.code < 0:
            how = f"signal {signal.Signals(-self.code).name}"
        said = " | ".join((self.err.strip() or self.out.strip()).splitlines()[:4])
        return f"{how}, {said[:600]}" if said else how


@dataclass
class Machine:
    """The kit's folder, and the first GPU."""

    kit: Path
    driver: Path | None
    why_not: str = ""
    asked: Sequence[str] = ()  # plugins to test
    why_no_plugin: dict[str, str] = field(default_factory=dict)  # reasons, by plugin
    images: Sequence[str] = ()  # images of the suite that liboffload's GPU accepts
    gpus: int = 0
    name: str = ""
    capability: str = ""
    cuda: str = ""
    manifest: dict[str, Any] = field(default_factory=dict)

    @property
    def has_gpu(self) -> bool:
        return self.gpus > 0

    @property
    def plugins(self) -> list[str]:
        """Return the plugins to test that have a device."""
        return [name for name in self.asked if name not in self.why_no_plugin]

    @property
    def has_opencl(self) -> bool:
        return "opencl" in self.plugins

    @property
    def why_no_opencl(self) -> str:
        return self.why_no_plugin.get("opencl", "opencl was not to be tested")

    @property
    def is_fake(self) -> bool:
        """Return whether the driver is the fake of the runtime's tests, which runs no kernel."""
        return self.name.startswith("FAKE")

    def libraries(self, *first: Path) -> str:
        """Return LD_LIBRARY_PATH for programs on the kit's runtime, or on libraries in `first`."""
        folders = [*(first or [self.kit / "lib"]), *([self.driver] if self.driver else [])]
        theirs = os.environ.get("LD_LIBRARY_PATH")
        return ":".join([*map(str, folders), *([theirs] if theirs else [])])

    def start(
        self,
        command: Sequence[object],
        environment: Mapping[str, str] = NOTHING,
        patience: float = PATIENCE,
    ) -> Done:
        """Run a program on the kit's runtime; kill it after `patience` seconds."""
        own = {"LD_LIBRARY_PATH": self.libraries(), "OMPTOOL_PLUGINS": "cuda"}
        if "liboffload" in self.asked:
            own |= self.of_liboffload()
        own |= environment
        started = time.monotonic()
        try:
            done = subprocess.run(
                [str(word) for word in command],
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
                timeout=patience,
                env=os.environ | own,
            )
        except subprocess.TimeoutExpired:
            return Done(-signal.SIGKILL, "", f"not ended within {patience:.0f} s", patience)
        except OSError as error:
            return Done(127, "", str(error), 0)
        return Done(done.returncode, done.stdout, done.stderr, time.monotonic() - started)

    def llvm(self) -> Path | None:
        """Return the folder of LLVM 19's runtime, unpacked on first use; None if there is none."""
        folder = self._unpacked("llvm")
        name = folder / "libomptarget.so" if folder else None  # as programs ask for it
        if name and not name.exists():
            name.symlink_to("libomptarget.so.19.1")
        return folder

    def of_liboffload(self) -> dict[str, str]:
        """Return the environment to use the second tarball's library, if it is here."""
        own = {"OMPTOOL_LIBOFFLOAD": os.environ.get("OMPTOOL_LIBOFFLOAD", "amd,cuda")}
        if "OMPTOOL_LIBOFFLOAD_PATH" in os.environ or not (folder := self._unpacked("liboffload")):
            return own
        libraries = f"{self.libraries()}:{folder}"
        path = str(folder / LIBOFFLOAD)
        return own | {"OMPTOOL_LIBOFFLOAD_PATH": path, "LD_LIBRARY_PATH": libraries}

    def _unpacked(self, name: str) -> Path | None:
        """Return the folder of libraries from a tarball of their own, unpacked on first use."""
        packed = self.kit / f"{name}.tar.xz"
        if not packed.exists():
            return None
        folder = self.kit / name
        if not (folder / UNPACKED).exists():
            with tarfile.open(packed) as archive:
                archive.extractall(folder)
            (folder / UNPACKED).touch()
        return folder


def at_once(test: Callable[[Asked], Found], all_of_it: Iterable[Asked]) -> Iterator[Found]:
    """Yield what `test` finds for each, in their order; several run at once."""
    with ThreadPoolExecutor(min(AT_ONCE, os.cpu_count() or 1)) as pool:
        yield from pool.map(test, all_of_it)


def look(kit: Path, driver: Path | None, plugins: Sequence[str]) -> Machine:
    """Return what this machine has, by the drivers' own calls."""
    manifest = json.loads((kit / "manifest.json").read_text())
    machine = Machine(kit, driver.resolve() if driver else None, manifest=manifest, asked=plugins)
    machine = _with_gpu(machine)
    if "cuda" in plugins and not machine.has_gpu:
        machine.why_no_plugin["cuda"] = machine.why_not
    for name, title in (("opencl", "OpenCL"), ("liboffload", "liboffload")):
        if name in plugins:
            images = sorted((kit / "images").glob("conformance.*")) if name == "liboffload" else []
            plugin = kit / "lib" / f"libomptarget.rtl.{name}.so"
            done = machine.start([sys.executable, "-c", ASKING, plugin, *images])
            if not done.out.startswith("ready"):
                said = done.out.strip() or done.told()
                machine.why_no_plugin[name] = f"no device of {title}: {said}"
            elif images:
                machine.images = [Path(line).name for line in done.out.splitlines()[1:]]
    return machine


def _with_gpu(machine: Machine) -> Machine:
    name = str(machine.driver / "libcuda.so.1") if machine.driver else "libcuda.so.1"
    try:
        cuda = ctypes.CDLL(name)
    except OSError as error:
        machine.why_not = f"no NVIDIA driver ({error})"
        return machine
    if result := cuda.cuInit(0):
        machine.why_not = f"the driver's cuInit fails with {result}"
        return machine
    count = ctypes.c_int()
    cuda.cuDeviceGetCount(ctypes.byref(count))
    if count.value < 1:
        machine.why_not = "the driver has no device"
        return machine
    machine.gpus = count.value
    text = ctypes.create_string_buffer(256)
    cuda.cuDeviceGetName(text, len(text), 0)
    machine.name = text.value.decode(errors="replace")
    machine.capability = "".join(str(_attribute(cuda, what)) for what in (MAJOR, MINOR))
    version = ctypes.c_int()
    cuda.cuDriverGetVersion(ctypes.byref(version))
    machine.cuda = f"{version.value // 1000}.{version.value % 1000 // 10}"
    return machine


def _attribute(cuda: ctypes.CDLL, what: int) -> int:
    value = ctypes.c_int()
    cuda.cuDeviceGetAttribute(ctypes.byref(value), what, 0)
    return value.value


def described(machine: Machine) -> dict[str, Any]:
    """Return the machine's facts for the file of results."""
    return {
        "gpu": machine.name,
        "gpus": machine.gpus,
        "plugins": machine.plugins,
        "without a device": machine.why_no_plugin,
        "opencl": machine.has_opencl or machine.why_no_opencl,
        "capability": machine.capability,
        "driver's CUDA": machine.cuda,
        "fake driver": machine.is_fake,
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "kit": machine.manifest,
    }
