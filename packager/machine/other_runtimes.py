# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Predict whether CUDA's, HIP's and SYCL's runtimes find a device for a file's images. No I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from packager.gpus import on_amd, on_nvidia
from packager.machine.facts import LEVEL_ZERO, NODES, OPENCL, Machine, OtherRuntime
from packager.machine.kernel_archives import elsewhere, why_not
from packager.model import DeviceImage, FatBinary, Model, Registration
from packager.records import NamedTuple
from packager.triples import code_of

# Runtimes by the prefix of their library names.
LIBRARIES: dict[Model, str] = {
    "cuda": "libcudart.so",
    "hip": "libamdhip64.so",
    "sycl": "libsycl.so",
}
OF_DRIVER = ("ptx", "tileir")  # kinds that CUDA's driver compiles
NAMES: dict[Model, str] = {"cuda": "CUDA's", "hip": "HIP's", "sycl": "SYCL's"}
# Names of GPUs by architecture, for messages.
GPUS = {"nvptx64": "NVIDIA GPU", "amdgcn": "AMD GPU"}
DRIVERS: dict[Model, tuple[str, ...]] = {
    "cuda": NODES["nvptx64"][1:],
    "hip": NODES["amdgcn"][1:],
    "sycl": (LEVEL_ZERO, OPENCL),
}


class Taken(NamedTuple):
    """Outcome of an image: taken by a device or not, the rule that decides, and the reason."""

    is_taken: bool
    rule: str
    reason: str = ""  # why not, of all images that are refused so


def diagnose(program: FatBinary, machine: Machine) -> tuple[OtherRuntime, ...]:
    """Return a diagnosis for each runtime that the file registers images with."""
    models = dict.fromkeys(row.model for row in program.registrations)
    return tuple(_of(model, program, machine) for model in models)


def registered(program: FatBinary) -> frozenset[int]:
    """Return the indices of the images that are registered with these runtimes."""
    return frozenset(index for row in program.registrations for index in row.images)


def rules(program: FatBinary, machine: Machine) -> dict[int, Taken]:
    """Return the fate of each image registered with these runtimes, by index."""
    return {
        index: takes(program.images[index], row.model, machine)
        for row in program.registrations
        for index in row.images
    }


def _of(model: Model, program: FatBinary, machine: Machine) -> OtherRuntime:
    rows = [row for row in program.registrations if row.model == model]
    each = [_taken(row, program, machine) for row in rows]
    library = next((one for one in machine.libraries if _is(one.name, model)), None)
    drivers = tuple((name, name in machine.files) for name in DRIVERS[model])
    reasons = _reasons(model, machine, library is not None and library.path is None, each)
    return OtherRuntime(
        model=model,
        images=len({index for row in rows for index in row.images}),
        archived=sum(not row.images for row in rows) if model == "hip" and program.archives else 0,
        registrations=len(rows),
        taken=sum(any(one.is_taken for one in images) for images in each),
        library=library.name if library else None,
        path=library.path if library else None,
        drivers=drivers,
        reason="; ".join(reasons),
    )


def _taken(row: Registration, program: FatBinary, machine: Machine) -> list[Taken]:
    """Return the fates of a registration's images, or of the archives that hold them."""
    if row.images or row.model != "hip" or not program.archives:
        return [takes(program.images[index], row.model, machine) for index in row.images]
    if not machine.amd:
        return [_refused(f"there is no {GPUS['amdgcn']}")]
    if variable := elsewhere(machine.environment):
        return [Taken(True, f"the archives that {variable} names may have kernels for it")]
    reason = why_not(program.archives, machine.amd)
    return [_refused(reason) if reason else Taken(True, "an archive has kernels for it")]


def _is(name: str, model: Model) -> bool:
    return name.startswith(LIBRARIES[model])


def _reasons(
    model: Model, machine: Machine, is_lacking: bool, each: Sequence[Sequence[Taken]]
) -> Iterator[str]:
    """Yield the reasons why some images do not run; none if all run."""
    if is_lacking:
        yield f"{LIBRARIES[model]} is not found"
    if not any(name in machine.files for name in DRIVERS[model]):
        yield f"no driver is on this machine ({' or '.join(DRIVERS[model])})"
        return
    refused = [images for images in each if not any(one.is_taken for one in images)]
    if refused:
        said = dict.fromkeys(one.reason for images in refused for one in images)
        yield from said or ("it registers no image",)


def takes(image: DeviceImage, model: Model, machine: Machine) -> Taken:
    """Return whether a device of this machine runs an image of a runtime."""
    code = image.contents.machine or code_of(image.triple)
    if image.kind == "spirv" and model == "sycl":
        return _compiled_by_driver(machine)
    if image.kind == "zebin":
        reason = "doctor does not ask for this machine's Intel GPU"
        rule = f"it is native code for Intel's {image.processor}, and {reason}"
        return Taken(False, rule, reason)
    if model == "hip" and image.kind in ("spirv", "bitcode"):
        return _on(image, machine.amd, "amdgcn", lambda _: True)
    if code == "amdgcn":
        return _on(image, machine.amd, code, lambda has: on_amd(image.processor, has))
    if code == "nvptx64":
        devices = machine.cuda.devices if machine.cuda else ()
        named = [f"sm_{number}" for number in devices]
        return _on(image, named, code, lambda has: _is_cuda(image, has))
    return _refused(f"no driver is known for {image.kind} code for {code or 'no machine'}")


def _refused(reason: str) -> Taken:
    return Taken(False, reason, reason)


def _compiled_by_driver(machine: Machine) -> Taken:
    """Return the outcome of SPIR-V, which the drivers of Level Zero and OpenCL compile."""
    count = machine.devices.get("opencl", 0)
    if count:
        return Taken(True, "OpenCL's driver compiles it")
    if LEVEL_ZERO in machine.files:
        return Taken(True, "Level Zero's driver compiles it, if it has a device")
    return _refused("OpenCL has no device here")


def _on(
    image: DeviceImage, devices: Sequence[str], code: str, fits: Callable[[str], bool]
) -> Taken:
    """Return the outcome of an image on the first device that it fits."""
    if not devices:
        return _refused(f"there is no {GPUS[code]}")
    taker = next((name for name in devices if fits(name)), None)
    if taker:
        return Taken(True, f"{taker} takes it")
    there = ", ".join(dict.fromkeys(devices))
    return Taken(
        False,
        f"it is for {image.processor}, and this machine has {there}",
        f"no image is for {there}",
    )


def _is_cuda(image: DeviceImage, has: str) -> bool:
    return on_nvidia(image.processor, has, is_ptx=image.kind in OF_DRIVER) is not None
