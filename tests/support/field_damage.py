# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Damage to images of shipped files, after which the checks that were changed for them still fire.

Each damage is done to one image and says which check has to find it. An image that lies as it is
in the file is damaged in a copy of the file, one that is compressed there in a file of its own.
"""

from __future__ import annotations

import re
import shutil
import struct
from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import Symbol, SymbolTableSection

Image = dict[str, Any]
# Returns the damaged image, or None if the image has nothing to damage.
Damage = Callable[[Image, bytes], bytes | None]
LARGEST = 64 << 20
TRIED = 40  # images, until one has what is to be damaged
ABSOLUTE = 3  # R_AMDGPU_ABS64
SHT_RELA, RELA = 4, struct.Struct("<QQq")
_ENTRY = re.compile(rb"^[^\n/]*\.entry\s+([\w$.]+)\s*\([^;{]*\)[^;{]*\{", re.MULTILINE)


def cut(_: Image, data: bytes) -> bytes | None:
    """Let a section's bytes end past the image; others of NVIDIA's sections take no bytes."""
    elf = ELFFile(BytesIO(data))
    for number, section in enumerate(elf.iter_sections()):
        if section["sh_type"] == "SHT_PROGBITS" and section["sh_size"]:
            at = elf["e_shoff"] + number * elf["e_shentsize"] + 24  # sh_offset
            return data[:at] + struct.pack("<Q", len(data)) + data[at + 8 :]
    return None


def unresolved(image: Image, data: bytes) -> bytes | None:
    """Rename a function that the CUDA toolchain resolves to one that nothing defines."""
    for name in image["undefined"]:
        wanted = b"\0" + name.encode() + b"\0"
        if wanted in data:
            return data.replace(wanted, b"\0Z" + wanted[2:])
    return None


def related(_: Image, data: bytes) -> bytes | None:
    """Let a relocation use an undefined symbol that none used before."""
    elf = ELFFile(BytesIO(data))
    symbols = elf.get_section_by_name(".dynsym")
    if not isinstance(symbols, SymbolTableSection):
        return None
    undefined = (n for n, one in enumerate(symbols.iter_symbols()) if _is_undefined(one))
    number = next(undefined, None)
    place = elf.get_section_by_name(".comment")
    if number is None or place is None or place["sh_size"] < RELA.size:
        return None
    changed = bytearray(data)  # .comment becomes a table of relocations
    RELA.pack_into(changed, place["sh_offset"], 0, number << 32 | ABSOLUTE, 0)
    header = elf["e_shoff"] + elf.get_section_index(".comment") * elf["e_shentsize"]
    struct.pack_into("<I", changed, header + 4, SHT_RELA)
    struct.pack_into("<Q", changed, header + 32, RELA.size)
    return bytes(changed)


def _is_undefined(symbol: Symbol) -> bool:
    is_weak = symbol["st_info"]["bind"] == "STB_WEAK"
    return bool(symbol.name) and symbol["st_shndx"] == "SHN_UNDEF" and not is_weak


def twice(_: Image, data: bytes) -> bytes | None:
    """Rename a kernel of PTX to the name of another."""
    names = [match.span(1) for match in _ENTRY.finditer(data)]
    if len(names) > 1:
        (start, end), (other, its_end) = names[:2]
        return data[:other] + data[start:end] + data[its_end:]
    return None


DAMAGES: dict[str, list[tuple[Damage, str]]] = {
    "cubin": [(cut, "OMP110"), (unresolved, "OMP114")],
    "amdgcn": [(cut, "OMP110"), (related, "OMP114")],
    "ptx": [(twice, "OMP108")],
    "zebin": [(cut, "OMP110")],
}


def copies(
    path: Path, images: Sequence[Image], files: Sequence[Path], folder: Path
) -> Iterator[tuple[str, str, Path]]:
    """Yield damaged copies one at a time: the damage, the check that must find it, and the path."""
    pairs = sorted(zip(images, files, strict=True), key=lambda pair: _place(pair[0]))
    for kind, damages in DAMAGES.items():
        chosen = [pair for pair in pairs if pair[0]["kind"] == kind and pair[0]["size"] < LARGEST]
        for damage, code in damages:
            for image, file in chosen[:TRIED]:
                data = file.read_bytes()
                changed = damage(image, data)
                if changed is not None:
                    copy = _copy(path, image, data, changed, folder / f"damaged{file.suffix}")
                    yield f"image {image['index']}, {damage.__name__}", code, copy
                    copy.unlink()
                    break


def _place(image: Image) -> tuple[bool, int]:
    """Return a sort key: images with undefined names first, then small ones."""
    return not image["undefined"], image["size"]


def _copy(path: Path, image: Image, data: bytes, changed: bytes, out: Path) -> Path:
    """Copy the file with the changed image in place, or write the image alone."""
    if len(changed) == len(data) and not image["compression"] and path.stat().st_size < LARGEST:
        with path.open("rb") as file:
            file.seek(image["offset"])
            is_there = file.read(len(data)) == data
        if is_there:
            out = out.with_suffix(path.suffix)
            shutil.copyfile(path, out)
            with out.open("r+b") as file:
                file.seek(image["offset"])
                file.write(changed)
            return out
    out.write_bytes(changed)
    return out
