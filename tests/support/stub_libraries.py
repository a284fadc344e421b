# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Build stand-ins for vendors' libraries, so that a shipped library loads without a GPU.

They print each fat binary that is registered with them.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from elftools.elf.elffile import ELFFile
from machine import output

LOAD = "import ctypes, os, sys; ctypes.CDLL(sys.argv[1], mode=os.RTLD_NOW)"
REGISTER = r"""
#include <stdio.h>
#include <string.h>
#include "fatbin_entry.h"
struct Wrapper { unsigned magic, version; const unsigned char *data; void *other; };
void **SYMBOL(const struct Wrapper *wrapper) {
  const unsigned char *at = wrapper->data;
  unsigned long size;
  memcpy(&size, at + 8, 8);
  if (!memcmp(at, "CCOB", 4)) {
    printf("CCOB of %lu bytes\n", size);
  } else if (!memcmp(at, "__CLANG_OFFLOAD_BUNDLE__", 24)) {
    memcpy(&size, at + 24, 8);
    printf("bundle of %lu images\n", size);
  } else {
    printf("fat binary %02x%02x of %lu bytes:", *at, at[1], size);
    const unsigned char *const end = at + 16 + size;
    for (at += 16; at < end;) {
      struct Entry entry;
      at = read_entry(at, &entry);
      printf(" kind %u arch %u size %lu sum %x", entry.kind, entry.arch, entry.size, entry.sum);
    }
    printf("\n");
  }
  fflush(stdout);
  return (void **)wrapper;
}
"""
SUPPORT = Path(__file__).parent
REGISTERING = ("__cudaRegisterFatBinary", "__hipRegisterFatBinary")


def stubs(library: Path, folder: Path) -> Path:
    """Make stand-ins in `folder` for what `library` needs and this machine lacks."""
    folder.mkdir()
    symbols = _undefined(library)
    missing = [name for name in _needed(library) if not _is_here(name)]
    for number, name in enumerate(missing):
        versioned = symbols.get(name, {})
        names = {**versioned, **(symbols.get("", {}) if not number else {})}
        source, script = folder / f"{name}.c", folder / f"{name}.map"
        source.write_text("\n".join(map(_function, names)))
        versions = sorted({version for version in names.values() if version})
        script.write_text("\n".join(f'"{version}" {{ global: *; }};' for version in versions))
        flags = [f"-Wl,--version-script={script}"] if versions else []
        words = (
            "-shared",
            f"-I{SUPPORT}",
            "-fPIC",
            "-fno-builtin",
            "-w",
            f"-Wl,-soname,{name}",
            *flags,
        )
        output("gcc", *words, source, "-o", folder / name)
    return folder


def loaded(library: Path, folder: Path) -> str:
    """Return the output of the stand-ins in `folder` when a library is loaded with them."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", LOAD, str(library)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env=os.environ | {"LD_LIBRARY_PATH": str(folder)},
    )
    assert done.returncode == 0, f"{library}: {done.stderr[-500:]}"
    return done.stdout


def _function(name: str) -> str:
    if name in REGISTERING:
        return REGISTER.replace("SYMBOL", name)
    return f"int {name}() {{ return 0; }}"


def _needed(library: Path) -> list[str]:
    with library.open("rb") as file:
        elf: Any = ELFFile(file)
        table = elf.get_section_by_name(".dynamic")
        return [tag.needed for tag in table.iter_tags() if tag.entry.d_tag == "DT_NEEDED"]


def _is_here(name: str) -> bool:
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True


def _undefined(library: Path) -> dict[str, dict[str, str]]:
    """Return a library's undefined symbols and versions, by the library that defines them."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    with library.open("rb") as file:
        elf: Any = ELFFile(file)
        versions: dict[Any, tuple[str, str]] = {}
        needs = elf.get_section_by_name(".gnu.version_r")
        for need, parts in needs.iter_versions() if needs else ():
            versions |= {part["vna_other"]: (need.name, part.name) for part in parts}
        numbers = elf.get_section_by_name(".gnu.version")
        symbols = elf.get_section_by_name(".dynsym")
        for at, symbol in enumerate(symbols.iter_symbols()):
            is_weak = symbol["st_info"]["bind"] == "STB_WEAK"
            if symbol["st_shndx"] == "SHN_UNDEF" and symbol.name and not is_weak:
                number = numbers.get_symbol(at)["ndx"] if numbers else 0
                owner, version = versions.get(number, ("", ""))
                found[owner][symbol.name] = version
    return found
