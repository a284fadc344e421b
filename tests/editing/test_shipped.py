"""Programs and libraries that others have built stay what they are: given an image, edited,
stripped, edited again, and put back.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import edited
import pytest
from edited import GPU, images
from machine import lacks
from toolchain import PTX, X86_64, compile_c, omptool, run

from omptool.installation import libdir
from packager.editing.entry_table import symbols_of
from packager.editing.linked import LinkedFile
from packager.files.reader import open_reader

pytestmark = pytest.mark.slow
LOAD = "import ctypes, sys\nctypes.CDLL(sys.argv[1])\nprint('loaded')"
SYSTEM = "/usr/lib/x86_64-linux-gnu"
PROGRAMS = ("bash", "sort", "dash", "grep", "sed", "tar", "gzip", "perl", "find", "git", "gcc-12",
            "as", "make", "xz", "curl", "gdb")  # fmt: skip
LIBRARIES = ("libz.so.1", "libstdc++.so.6", "liblzma.so.5", "libncursesw.so.6", "libbz2.so.1.0",
             "libssl.so.3", "libelf.so.1", "libOpenCL.so.1", "libgomp.so.1",
             "libgcc_s.so.1")  # fmt: skip
WHEELS = ("zstandard.backend_c", "lz4._version", "lz4.block._block", "lief._lief",
          "llvmlite.binding", "mypy.main")  # fmt: skip
FEW = {"bash", "libgcc_s.so.1", "zstandard.backend_c", "mypy.main"}


def shipped() -> list[object]:
    """Which ones, of which few are tried by `make test`."""
    every = [*PROGRAMS, *LIBRARIES, *WHEELS]
    return [name if name in FEW else pytest.param(name, marks=pytest.mark.exhaustive)
            for name in every]  # fmt: skip


def found(name: str) -> Path:
    """Where it is; a machine need not have all of them."""
    if name in WHEELS:
        spec = importlib.util.find_spec(name)
        origin = Path(spec.origin or "") if spec else Path()
        if name == "llvmlite.binding":
            origin = origin.parent / "libllvmlite.so"
        path: Path | None = origin if origin.suffix == ".so" else None
    elif name in LIBRARIES:
        path = Path(SYSTEM, name)
    else:
        where = shutil.which(name)
        path = Path(where) if where else None
    if path is None or not path.exists():
        lacks(f"{name} is not installed")
    return path.resolve()


@pytest.mark.parametrize("name", shipped())
def test_it_does_what_it_did(tmp_path: Path, name: str) -> None:
    path = found(name)
    does = version if name in PROGRAMS else loaded
    names = some_names(path)
    image = defining(names, tmp_path / "image.so")
    (tmp_path / "names").write_text("\n".join(names))
    ptx = tmp_path / "gpu.ptx"
    ptx.write_text(PTX)
    wanted = does(path)
    given = tmp_path / "given" / path.name
    stages = Stages(tmp_path, path.name, does, wanted)
    given.parent.mkdir()
    options = ("--image", f"{X86_64}={image}", "--entries", tmp_path / "names", "--force")
    done = omptool("bundle", path, *options, "-o", given)
    assert done.exit_code == 0, done.output
    stages.same(given)
    before = images(given)
    more = stages.edited(given, "--add", f"{GPU}:sm_70={ptx}", "--replace", f"0={ptx}")
    stripped = stages.stripped("strip", more)
    again = stages.edited(stripped, "--remove", "1")
    back = stages.edited(again, "--replace", f"0={image}")
    assert images(back) == before


class Stages:
    """Each result in a folder of its own, so that the file's name stays what it was."""

    def __init__(self, folder: Path, name: str, does: Callable[[Path], str], wanted: str) -> None:
        self._folder, self._name, self._does, self._wanted = folder, name, does, wanted
        self._count = 0

    def same(self, path: Path) -> Path:
        """It does what the file did that was shipped."""
        assert self._does(path) == self._wanted
        return path

    def edited(self, path: Path, *options: object) -> Path:
        return self.same(edited.edited(path, self._next(), *options))

    def stripped(self, tool: str, path: Path) -> Path:
        out = self._next()
        run(tool, path, "-o", out)
        return self.same(out)

    def _next(self) -> Path:
        self._count += 1
        folder = self._folder / str(self._count)
        folder.mkdir()
        return folder / self._name


def some_names(path: Path) -> list[str]:
    """Objects that it defines, and whose names are known."""
    with open_reader(path) as data:
        known = symbols_of(LinkedFile(path, data))
    names = [name for name, symbol in known.items() if symbol.host.size and name.isidentifier()]
    return names[:2]


def defining(names: list[str], out: Path) -> Path:
    """An image with these names."""
    text = "".join(f'char {name}_[8] __asm__("{name}");' for name in names)
    return compile_c(text, out, "-shared", "-nostdlib", "-fPIC")


def environment() -> dict[str, str]:
    return os.environ | {"LD_LIBRARY_PATH": str(libdir())}


def version(path: Path) -> str:
    """What a program says of itself."""
    question = ("-c", "echo it runs") if path.name == "dash" else ("--version",)
    return _printed(str(path), *question).replace(str(path), path.name)


def loaded(path: Path) -> str:
    """That the loader takes a library."""
    return _printed(sys.executable, "-c", LOAD, str(path))


def _printed(*words: str) -> str:
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, env=environment(), timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
