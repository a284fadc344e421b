"""The symbols by which device objects of one target refer to each other."""

from __future__ import annotations

from packager.elf import headers
from packager.files.reader import open_reader
from packager.linking.inputs import Part


def symbols(part: Part) -> tuple[set[str], set[str]]:
    """What a device object does not define, and what it defines for others."""
    with open_reader(part.bytes.path) as file:
        data = file.slice(part.bytes.offset, part.bytes.size, "device image")
        if part.image.kind == "bitcode":
            from packager.formats.device_images.bitcode import linked_names

            return linked_names(data)
        if not headers.probe(data):
            return set(), set()
        elf = headers.read(data)
        missing: set[str] = set()
        found: set[str] = set()
        for table in elf.of_type(headers.SHT_SYMTAB):
            names = elf.strings(table.link, "symbol names")
            for symbol in elf.symbols(table):
                if symbol.name_at and symbol.binding != headers.STB_LOCAL:
                    (found if symbol.is_defined else missing).add(names[symbol.name_at])
        return missing, found
