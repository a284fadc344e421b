# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A host's object of LLVM bitcode (clang's -flto), of which only the device images are read.

Its entries become visible when the host's link has compiled the module.
"""

from __future__ import annotations

from packager.errors import FormatError
from packager.files.reader import Reader
from packager.formats.containers import offload_binary
from packager.formats.containers.payload import Damage
from packager.formats.device_images.bitcode import bitstream, embedded
from packager.formats.device_images.bitcode.module import host_regions
from packager.formats.device_images.bitcode.module import machine as machine_of
from packager.formats.device_images.known import from_payload
from packager.generations import of_release
from packager.hosts.limits import Limits
from packager.model import DeviceImage, FatBinary
from packager.triples import GPUS


def read_host(path: str, data: Reader) -> tuple[FatBinary, list[Reader]] | None:
    """Return the device code in the host's module in `data`, and the bytes of its images.

    Return None for a module that may be a device image itself.
    """
    images: list[DeviceImage] = []
    found: list[Reader] = []
    faults: list[str] = []
    limits = Limits()
    try:
        machine = machine_of(data)
        if machine in GPUS:
            return None
        with limits.noted():
            for item in embedded.images(data):
                if isinstance(item, Damage):
                    faults.append(item.message)
                    continue
                images.append(from_payload(item, len(images), offload_binary.NAME, None))
                found.append(item.image)
        release = bitstream.release(data)
    except FormatError as error:
        if not images:
            return None
        faults.append(str(error))
        release = ""
    if not (images or faults or limits.met):
        plain = _without_device_code(path, machine, data)
        return (plain, []) if plain else None
    clangs = (int(release),) if release else ()
    abi = of_release(clangs[0]).name if clangs else None
    binary = FatBinary(path, machine, "object", abi, tuple(images), (), ())
    whole = binary._replace(clangs=clangs, faults=tuple(faults), limits=limits.met, is_bitcode=True)
    return whole, found


def _without_device_code(path: str, machine: str | None, data: Reader) -> FatBinary | None:
    """Return a host's object without device code, with its regions if requested."""
    try:
        functions = host_regions(data)
    except FormatError:
        return None
    if functions is None:
        return None
    plain = FatBinary(path, machine, "object", None, (), (), ())
    if not (functions and data.context.look.host_only):
        return plain
    from packager.hosts import host_only

    return plain._replace(host_only=host_only.of_functions(functions))
