# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Check the output of `make dist`: each wheel's tags, machine, C library, and paths in its files.

Usage: python scripts/check_wheels.py FOLDER GLIBC MACHINE... (glibc's oldest release, as 2.28)
Exits 1 with a line for each fault.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection

MACHINES = {"x86_64": "EM_X86_64", "aarch64": "EM_AARCH64"}
# Libraries in each wheel with the runtime; all other files are the same in all wheels.
RUNTIME = (
    "libomptarget.so",
    "libomptarget.rtl.host.so",
    "libomptool_observe.so",
    "libtarget.so",
    "libomptool_inspect.so",
)
# Paths of this machine that no wheel may contain: the sources, pip's temporary folders, the user's
# home.
PLACES = (str(Path(__file__).parents[1]), "/pip-", str(Path.home()) + "/")


def faults(folder: Path, glibc: str, machines: Sequence[str]) -> Iterator[str]:
    """Yield a sentence for each fault of the files in `folder`."""
    wheels = {path.name: path for path in folder.glob("*.whl")}
    endings = {"any": "-py3-none-any.whl"}
    endings |= {machine: f"_{machine}.whl" for machine in machines}
    if len(list(folder.glob("*.tar.gz"))) != 1:
        yield f"{folder}: there is not one sdist"
    libraries: dict[str, set[str]] = {}
    for kind, ending in endings.items():
        found = [path for name, path in wheels.items() if name.endswith(ending)]
        if len(found) != 1:
            yield f"{folder}: {len(found)} wheels end in {ending}, and one should"
            continue
        if kind != "any":
            yield from wrong_tags(found[0], kind, glibc)
        with ZipFile(found[0]) as wheel:
            names = {Path(name).name for name in wheel.namelist() if is_compiled(wheel, name)}
            libraries[kind] = names
            for name in wheel.namelist():
                yield from (f"{found[0].name}: {name}: {fault}"
                            for fault in wrong_file(wheel.read(name), kind, glibc))  # fmt: skip
    if libraries.pop("any", None):
        yield "the wheel for any system has compiled files"
    for kind, names in libraries.items():
        missing = {*RUNTIME, *set().union(*libraries.values())} - names
        if missing:
            yield f"the wheel for {kind} lacks {', '.join(sorted(missing))}"


def is_compiled(wheel: ZipFile, name: str) -> bool:
    """Return whether a file of the wheel is an ELF file."""
    with wheel.open(name) as file:
        return file.read(4) == b"\x7fELF"


def wrong_tags(path: Path, machine: str, glibc: str) -> Iterator[str]:
    """Yield the tags in the wheel's name that are not for the machine, or for a newer glibc."""
    for tag in path.stem.split("-")[-1].split("."):
        found = re.fullmatch(rf"manylinux_(\d+)_(\d+)_{machine}", tag)
        if not found or release(".".join(found.groups())) > release(glibc):
            yield f"{path.name}: the tag {tag} is not for {machine} with glibc {glibc}"


def wrong_file(content: bytes, kind: str, glibc: str) -> Iterator[str]:
    """Yield the faults of one file of a wheel."""
    for place in PLACES:
        if place.encode() in content:
            yield f"it names {place}, a place of the machine that built it"
    if not content.startswith(b"\x7fELF"):
        return
    file = ELFFile(BytesIO(content))
    if file["e_machine"] != MACHINES.get(kind):
        yield f"it is for {file['e_machine']}"
    for version in needed(file):
        if release(version) > release(glibc):
            yield f"it needs glibc {version}, which is newer than {glibc}"


def needed(file: ELFFile) -> Iterator[str]:
    """Yield the releases of glibc whose symbols a file needs."""
    for section in file.iter_sections():
        if isinstance(section, GNUVerNeedSection):
            for _, versions in section.iter_versions():
                for version in versions:
                    prefix, _, rest = version.name.partition("_")
                    if prefix == "GLIBC" and rest[:1].isdigit():
                        yield rest


def release(version: str) -> tuple[int, ...]:
    """Return a release as numbers that compare."""
    return tuple(int(part) for part in version.split("."))


if __name__ == "__main__":
    found = list(faults(Path(sys.argv[1]), sys.argv[2], sys.argv[3:]))
    print(*(f"Error: {fault}" for fault in found), sep="\n", end="\n" if found else "")
    sys.exit(1 if found else 0)
