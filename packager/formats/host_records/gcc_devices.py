# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The data that GCC's programs register for a kind of device (mkoffload, libgomp's plugins).

For NVIDIA's GPUs: PTX modules, which the driver links, and the names that functions and variables
have there, in the order of the host's. For AMD's: one code object and the names of its kernels in
that order; its variables are in a table of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from struct import Struct

from packager.elf import headers
from packager.elf.address_space import Space
from packager.elf.headers import WORD
from packager.elf.relocated import Range, Window
from packager.elf.space_of import space as space_of
from packager.errors import FormatError
from packager.files.reader import Reader
from packager.model import ImageKind
from packager.records import NamedTuple

# Offsets of the data: since GCC 13 they follow a word with the mask of requires.
STARTS = (0, WORD.size)
MAX_COUNT = 1 << 16
# target_data of nvptx: modules, variables, functions, each a pointer and a count in 16 bytes.
PARTS = 3
PART = 16
MODULE = Struct("<QQ")  # text, size
FUNCTION_SIZE = 16  # name, and three 16-bit dimensions
# Start of gcn's target_data: pointer to the image, count of kernels, pointer to them.
GCN_DATA = 24
GCN_IMAGE = Struct("<QQ")  # size, bytes
KERNEL_SIZE = 32  # name, three dimensions, counts of two kinds of registers
# Kernels of GCC's runtime, which have no function on the host.
GCN_OWN = ("_init_array", "_fini_array")
VARIABLE_TABLE = ".offload_var_table"  # table in a code object: addresses and sizes
VARIABLE_SIZE = 16
MAX_SYMBOLS = 1 << 20


class Module(NamedTuple):
    """An image, in addresses of its Space."""

    start: int
    size: int


class DeviceData(NamedTuple):
    """The data that is registered for a device."""

    modules: tuple[Module, ...] = ()
    functions: tuple[str, ...] = ()  # their names on the device, in the host's order
    variables: tuple[str, ...] | None = None  # None: the image lists them itself


class Device(NamedTuple):
    """A kind of device."""

    number: int  # libgomp's
    triple: str
    kind: ImageKind
    read: Callable[[Space, int], DeviceData]  # raises FormatError if something else is there


def _window(space: Space, address: int, size: int, what: str) -> Window:
    if size > MAX_COUNT * KERNEL_SIZE or space.offset(address, size) is None:
        raise FormatError(f"{what} at {address:#x} is not in the file")
    return space.windows([Range(address, size, "GCC's offload data")])[0]


def _steps(window: Window, size: int) -> range:
    return range(0, len(window.data) - size + 1, size)


def _pointer(window: Window, at: int) -> int:
    return window.pointer(at) or 0


def _checked(space: Space, module: Module, what: str) -> Module:
    if not module.start or space.offset(module.start, module.size) is None:
        where = f"{what} of {module.size} bytes at {module.start:#x}"
        raise FormatError(f"{where} is not in the file")
    return module


def _names(space: Space, address: int, count: int, step: int, what: str) -> tuple[str, ...]:
    if not count:
        return ()
    window = _window(space, address, count * step, f"its list of {count} {what}")
    names = []
    for number, at in enumerate(_steps(window, step)):
        offset = space.offset(_pointer(window, at))
        if offset is None:
            raise FormatError(f"the name of item {number} of its {what} is not in the file")
        # var_names and fn names are strings in assembler syntax, quoted since GCC 5
        names.append(space.elf.data.string(offset, "name of GCC's offload data").strip('"'))
    return tuple(names)


def _nvptx(space: Space, address: int) -> DeviceData:
    window = _window(space, address, PARTS * PART, "it")
    parts = [(_pointer(window, at), window.half(at + WORD.size)) for at in _steps(window, PART)]
    (modules, count), (variables, named), (functions, called) = parts
    if not count:
        raise FormatError("it has no modules")
    listed = _window(space, modules, count * MODULE.size, f"its list of {count} modules")
    texts = [
        _checked(space, Module(_pointer(listed, at), listed.word(at + WORD.size)), f"module {n}")
        for n, at in enumerate(_steps(listed, MODULE.size))
    ]
    kernels = _names(space, functions, called, FUNCTION_SIZE, "functions")
    names = _names(space, variables, named, WORD.size, "variables")
    return DeviceData(tuple(texts), kernels, names)


def _gcn(space: Space, address: int) -> DeviceData:
    window = _window(space, address, GCN_DATA, "it")
    count = window.half(WORD.size)
    kernels = _names(space, _pointer(window, 2 * WORD.size), count, KERNEL_SIZE, "kernels")
    image = _window(space, _pointer(window, 0), GCN_IMAGE.size, "its image")
    module = Module(_pointer(image, WORD.size), image.word(0))
    offset = space.offset(_checked(space, module, "its image").start) or 0
    if not headers.probe(space.elf.data.slice(offset, module.size, "device image of GCC")):
        raise FormatError(f"its image at {module.start:#x} is not an ELF file")
    return DeviceData((module,), tuple(name for name in kernels if name not in GCN_OWN))


def listed_variables(image: Reader, count: int) -> tuple[str, ...]:
    """Return the device names of the first `count` variables in a code object's table.

    Raises FormatError if it is malformed.
    """
    if not count:
        return ()
    file = headers.read(image)
    memory = space_of(file)
    start = _variable_table(file)
    if start is None:
        raise FormatError(f"GCC's code object at {image.at:#x} has no {VARIABLE_TABLE}")
    window = _window(memory, start, count * VARIABLE_SIZE, f"{VARIABLE_TABLE} of {count} variables")
    addresses = [_pointer(window, at) for at in _steps(window, VARIABLE_SIZE)]
    names = memory.symbol_names(set(addresses))
    return tuple(names.get(address, "") for address in addresses)


def _variable_table(file: headers.Elf) -> int | None:
    for table in file.of_type(headers.SHT_DYNSYM)[:1]:
        names = file.strings(table.link, f"names of {table.name}")
        for symbol in islice(file.symbols(table), MAX_SYMBOLS):
            if symbol.is_defined and symbol.name_at and names[symbol.name_at] == VARIABLE_TABLE:
                return symbol.value
    return None


# Devices in the order of guesses for data of unknown kind: a code object has a magic.
DEVICES = (
    Device(8, "amdgcn-amdhsa", "amdgcn", _gcn),
    Device(5, "nvptx-none", "ptx", _nvptx),
)
