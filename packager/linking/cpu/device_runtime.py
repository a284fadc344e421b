# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Omptool's device runtime for CPUs, which is linked into images that call it.

Flang writes device code for such a runtime on every target, and LLVM has none for CPUs. Ours has
two forms in one folder: an object, in an archive like LLVM's own, and bitcode, whose functions are
inlined into device code in bitcode.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from packager.elf import headers
from packager.elf.imports import defines
from packager.errors import FormatError, MissingToolError, UsageError
from packager.files.portable import is_file
from packager.files.reader import Reader, open_reader
from packager.formats.containers import archive
from packager.linking.cpu.link import Libraries
from packager.linking.groups import Group
from packager.linking.host_command import Given
from packager.linking.inputs import LOOK, Part, device_symbols, objects
from packager.linking.libraries import LinkedFile, linked
from packager.linking.tools import Tools
from packager.triples import code_of

ENTRY_POINT = "__kmpc_target_init"  # kernels that need a device runtime call it first
ARCHIVE = "libomptarget.devicertl.host.a"
BITCODE = "omptool-devicertl-host.bc"


def added(
    group: Group, libraries: Libraries, device_libraries: Sequence[Path], tools: Tools
) -> tuple[Part, ...]:
    """Return the device runtime for a CPU's code; nothing if the code needs or links none.

    `device_libraries` are the user's, in bitcode. Raises MissingToolError if the runtime is not
    installed, UsageError if it is for another machine.
    """
    callers = [part for part in group.parts if part.holds(ENTRY_POINT.encode())]
    if not callers or any(ENTRY_POINT in device_symbols(part)[1] for part in group.parts):
        return ()
    missing = [part for part in callers if ENTRY_POINT in device_symbols(part)[0]]
    if not missing or _is_elsewhere(group, libraries, device_libraries, tools):
        return ()
    # One copy serves all images. The bitcode copy keeps the functions that objects beside it need.
    folder = libraries.folder()
    in_bitcode = [part for part in missing if part.image.kind == "bitcode"]
    if in_bitcode and is_file(folder / BITCODE):  # installed where there was a clang
        found = _bitcode(in_bitcode[0], folder / BITCODE)
    else:
        found = _object(group, folder / ARCHIVE, tools)
    if found is None:
        what = f"its device code for {group.name} calls {ENTRY_POINT}, and omptool's device runtime"
        raise UsageError(f"{what} is for another machine", Path(missing[0].origin))
    return (found,)


def _is_elsewhere(
    group: Group, libraries: Libraries, device_libraries: Sequence[Path], tools: Tools
) -> bool:
    """Return whether a library of the user's defines it, for the machine that the code is for."""
    if any(_defines_in_bitcode(path, group) for path in device_libraries):
        return True
    files = linked(libraries.command, tools, LOOK)
    return any(_defines(data) for file, data in files if file.named not in libraries.barred)


def _defines_in_bitcode(path: Path, group: Group) -> bool:
    from packager.formats.device_images.bitcode import module as bitcode  # slow to load

    with open_reader(path) as data:
        try:
            is_own = bitcode.probe(data) and bitcode.machine(data) == code_of(group.triple)
            return is_own and ENTRY_POINT in bitcode.linked_names(data)[1]
        except FormatError:
            return False  # LLVM says what is wrong with it


def _defines(data: Reader) -> bool:
    """Return whether a file of the link defines it for images of the host's machine."""
    try:
        if archive.probe(data):
            return f"{ENTRY_POINT}\0".encode() in archive.index(data)
        return headers.probe(data) and defines(headers.read(data), ENTRY_POINT)
    except FormatError:
        return False  # the linker says what is wrong with it


def _bitcode(like: Part, path: Path) -> Part | None:
    from packager.formats.device_images.bitcode import module as bitcode  # slow to load

    with open_reader(path) as data:
        if bitcode.machine(data) != code_of(like.image.triple):
            return None
    return Part(path.name, like.image, path)


def _object(group: Group, path: Path, tools: Tools) -> Part | None:
    """Return the runtime's object for the group's machine, in a file of its own."""
    if not is_file(path):
        raise MissingToolError(f"{path}, omptool's device runtime for CPUs, is missing: reinstall")
    with ExitStack() as opened, open_reader(path) as data:
        file = LinkedFile(path, Given(0, str(path)), is_whole=True)
        found = objects([(file, data)], tools.folder, opened)
        parts = (one for part in found.parts for one in part.parts)
        return next((one for one in parts if _is_for(one, group)), None)


def _is_for(part: Part, group: Group) -> bool:
    return code_of(part.image.triple) == code_of(group.triple)
