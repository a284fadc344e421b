# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An ELF file as the loader would leave it in memory: addresses, and pointers after relocation.

A linked file has load address 0. Sections of a relocatable object have no addresses yet, so each
gets an address range of its own, far from the others. Thus code that reads pointers handles both
kinds of file alike. Addresses of objects must not reach the user.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from itertools import islice

from packager.elf.headers import Elf, Section, Symbol
from packager.elf.relocated import Range, Window
from packager.errors import FormatError
from packager.host_machines import MACHINES

# Relocations that store a pointer, relative to the load address or to a symbol.
POINTER_RELOCATIONS = {
    **{name: (machine.relative, machine.absolute) for name, machine in MACHINES.items()},
    "amdgcn": (13, 3),
    "riscv64": (3, 2),
    "ppc64le": (22, 38),
    "loongarch64": (3, 2),
}
NO_RELOCATIONS = (-1, -1)
# Size of code that shows the argument of a constructor's call of __tgt_register_lib.
CODE_WINDOW = 256
# Largest table that is read into memory: a million entries of the largest record.
MAX_WINDOW = 1 << 26
# Most pointers to one address: a table may begin where a popular object ends.
MAX_PLACES = 1 << 20
UNNAMED = (3, 4)  # STT_SECTION, STT_FILE
# Preferred bindings of symbols at one address: global, then weak, then local.
PREFERENCE = {1: 3, 2: 2, 0: 1}


class Space(ABC):
    """The address space of an ELF file: the interface through which formats read memory."""

    def __init__(self, elf: Elf) -> None:
        self.elf = elf

    @abstractmethod
    def address(self, section: Section) -> int:
        """Return the address at which a section begins."""

    @abstractmethod
    def symbols_at(self, table: Section, addresses: Set[int]) -> Iterator[tuple[int, Symbol]]:
        """Yield the symbols of a table at any of the addresses, each with its address."""

    @abstractmethod
    def symbol_name(self, number: int) -> str | None:
        """Return the name of the symbol with the number that relocations use."""

    @abstractmethod
    def offset(self, address: int, size: int = 0) -> int | None:
        """Return the file offset of `size` bytes at `address`; None if they are not in the file."""

    @abstractmethod
    def windows(self, ranges: Sequence[Range]) -> list[Window]:
        """Return relocated copies of the ranges."""

    @abstractmethod
    def places(self, values: Collection[int]) -> list[tuple[int, int]]:
        """Return the pointers to `values` in writable data, as sorted pairs (place, value).

        Raises FormatError when there are more than any table of entries can have.
        """

    @abstractmethod
    def references(
        self, functions: Collection[int], wanted: Collection[int]
    ) -> Iterator[tuple[int, int]]:
        """Yield (function, address) where the start of a function refers to a `wanted` address."""

    def loads(
        self, _functions: Collection[int], _wanted: Collection[int]
    ) -> Iterator[tuple[int, int]]:
        """Yield (function, address) for each function that loads a `wanted` address from memory."""
        return iter(())

    @abstractmethod
    def targets(self, function: int, end: int) -> set[int]:
        """Return the addresses that the beginning of a function refers to.

        `end` is the address of the next function.
        """

    def symbol_names(self, addresses: set[int]) -> dict[int, str]:
        """Return the names of the symbols at these addresses, as far as the file has them."""
        for table in self.elf.symbol_tables() if addresses else ():
            names = self.elf.strings(table.link, f"names of {table.name}")
            if best := self._best(table, addresses):
                # .dynsym has no better names than .symtab.
                return {address: names[symbol.name_at] for address, symbol in best.items()}
        return {}

    def _best(self, table: Section, addresses: set[int]) -> dict[int, Symbol]:
        """Return the preferred symbol of `table` for each address."""
        best: dict[int, Symbol] = {}
        for address, symbol in self.symbols_at(table, addresses):
            if not symbol.is_defined or not symbol.name_at:
                continue
            known = PREFERENCE.get(best[address].binding, 0) if address in best else 0
            if PREFERENCE.get(symbol.binding, 0) > known and symbol.type not in UNNAMED:
                best[address] = symbol
        return best


def read_window(space: Space, at: Range) -> Window:
    """Return a relocated copy of a single range."""
    return space.windows([at])[0]


def copies(space: Space, ranges: Sequence[Range]) -> list[Window]:
    """Return unrelocated copies of the ranges."""
    windows = []
    for at in ranges:
        if at.size > MAX_WINDOW:
            raise FormatError(f"{at.what} of {at.size} bytes is too large to be real")
        offset = space.offset(at.address, at.size)
        if offset is None:
            raise FormatError(f"{at.what} is not in the file")
        data = space.elf.data.bytes(offset, at.size, at.what)
        windows.append(Window(at, data, space.symbol_name))
    return windows


def limited(places: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the places sorted, for `Space.places`. Raises FormatError if they are too many."""
    found = set(islice(places, MAX_PLACES + 1))
    if len(found) > MAX_PLACES:
        raise FormatError(f"more than {MAX_PLACES} pointers to offload entries or images")
    return sorted(found)
