# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The checks of published wheels, and what `make dist` makes, on its machines."""

from __future__ import annotations

import zipfile
from pathlib import Path

import check_wheels
import pytest
from aarch64 import GCC, PAGES, TARGET, compiled, needs_tools
from debian import unpacked
from machine import output
from places import OMPTOOL, ROOT, TESTS
from products import Products

from omptool.installation import libdir

pytestmark = pytest.mark.slow

NEWEST = "9.99"  # a version of glibc


def put(wheel: Path, **files: bytes) -> Path:
    with zipfile.ZipFile(wheel, "w") as made:
        for name, content in files.items():
            made.writestr(name.replace("__", "/") + ".so" * content.startswith(b"\x7fELF"), content)
    return wheel


@pytest.fixture
def dist(tmp_path: Path) -> Path:
    """Provide a correct folder, as `make dist` writes it."""
    library = (libdir() / "libtarget.so").read_bytes()
    names = [name.removesuffix(".so") for name in check_wheels.RUNTIME]
    (tmp_path / "omptool-1.tar.gz").touch()
    put(tmp_path / "omptool-1-py3-none-any.whl", omptool=b"text")
    machine = "manylinux_9_99_x86_64"
    put(tmp_path / f"omptool-1-py3-none-{machine}.whl", **dict.fromkeys(names, library))
    return tmp_path


def faults(dist: Path, *machines: str, glibc: str = NEWEST) -> list[str]:
    return list(check_wheels.faults(dist, glibc, machines or ("x86_64",)))


def test_sound_wheels_have_no_faults(dist: Path) -> None:
    assert faults(dist) == []


def test_a_wheel_that_is_missing_is_named(dist: Path) -> None:
    line = "0 wheels end in _aarch64.whl, and one should"
    assert faults(dist, "x86_64", "aarch64") == [f"{dist}: {line}"]
    (dist / "omptool-1.tar.gz").unlink()
    assert faults(dist) == [f"{dist}: there is not one sdist"]


def test_each_fault_of_a_wheel_is_named(dist: Path) -> None:
    (good,) = dist.glob("*x86_64.whl")
    library = (libdir() / "libomptarget.so").read_bytes()
    wrong = library[:18] + b"\xb7\0" + library[20:]
    name = "omptool-1-py3-none-linux_x86_64.manylinux_9_99_x86_64.linux_armv6l"
    bad = put(dist / f"{name}.manylinux_9_98_x86_64.whl", a=wrong, b=str(ROOT).encode())
    good.unlink()
    found = faults(dist, glibc="9.98")
    assert f"{bad.name}: the tag manylinux_9_99_x86_64 is not for x86_64 with glibc 9.98" in found
    assert f"{bad.name}: the tag linux_armv6l is not for x86_64 with glibc 9.98" in found
    assert f"{bad.name}: a.so: it is for EM_AARCH64" in found
    place = f"it names {ROOT}, a place of the machine that built it"
    assert f"{bad.name}: b: {place}" in found
    assert found[-1].startswith("the wheel for x86_64 lacks libomptarget.rtl.host.so, ")


def test_a_newer_c_library_is_a_fault(dist: Path) -> None:
    (good,) = dist.glob("*x86_64.whl")
    put(good, libomptarget=(libdir() / "libomptarget.so").read_bytes())
    old = good.rename(dist / "omptool-1-py3-none-manylinux_2_1_x86_64.whl")
    found = [one for one in faults(dist, glibc="2.1") if one.endswith("which is newer than 2.1")]
    assert found[0].startswith(f"{old.name}: libomptarget.so: it needs glibc 2.")


# ---- the wheels themselves ----

PYTHON = "python3.11"
PACKAGES = (
    f"{PYTHON}-minimal", f"lib{PYTHON}-minimal", f"lib{PYTHON}-stdlib", "libc6", "libgcc-s1",
    "libstdc++6", "zlib1g", "libexpat1", "libffi8", "libbz2-1.0", "liblzma5", "libuuid1",
)  # fmt: skip
NEEDED = ("click", "lz4", "msgpack", "pyelftools", "tabulate", "xxhash", "zstandard")
RUN = """
import sys
sys.path[:0] = ["wheel", "packages"]
sys.argv[0] = "omptool"
from omptool.__main__ import main
main()
"""
HELPER = """
import sys
sys.path[:0] = ["wheel", "packages"]
from packager.formats.compressed.helper import built
print(built() is not None)
"""


def fill_published(folder: Path) -> None:
    output("make", "-C", ROOT, "dist", f"OUT={folder / 'dist'}")


@pytest.fixture(scope="module")
def published(products: Products) -> Path:
    """Provide the output of `make dist`, which also checks the wheels."""
    return products.folder("published", fill_published) / "dist"


def fill_arm(folder: Path) -> None:
    unpacked(folder / "root", "arm64", *PACKAGES)
    pip = ["pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", folder]
    pip += ["--python-version=3.11", *(f"--platform=manylinux_2_{n}_aarch64" for n in (17, 28))]
    output(*pip, *NEEDED)
    for wheel in folder.glob("*.whl"):
        zipfile.ZipFile(wheel).extractall(folder / "packages")


@pytest.fixture
def arm(published: Path, products: Products, tmp_path: Path) -> Path:
    """Provide a folder with the wheel for AArch64, its Python, and dependencies."""
    needs_tools()
    for path in products.folder("python-aarch64", fill_arm).iterdir():
        (tmp_path / path.name).symlink_to(path)
    (wheel,) = published.glob("*_aarch64.whl")
    zipfile.ZipFile(wheel).extractall(tmp_path / "wheel")
    compiled(TESTS / "programs" / "aarch64" / "saxpy.c", tmp_path / "both.o")
    return tmp_path


def emulated(folder: Path, code: str, *words: object) -> str:
    root = folder / "root"
    python = ["qemu-aarch64", "-L", root, root / "usr" / "bin" / PYTHON, "-S", "-c", code]
    return output("env", "-C", folder, *python, *words)


@pytest.mark.exhaustive
def test_commands_of_the_wheel_for_aarch64(arm: Path) -> None:
    """qemu runs the commands, whose output equals that on this machine."""
    assert emulated(arm, HELPER) == "True\n"
    for words in ("dump --json both.o", "verify both.o", "extract both.o -o out", "--version"):
        own = output("env", "-C", arm, OMPTOOL, *words.split())
        assert emulated(arm, RUN, *words.split()) == own
    folder = emulated(arm, RUN, "config", "--libdir").strip()
    assert (Path(folder) / "libomptarget.so").is_file()


@pytest.mark.offloads
@pytest.mark.exhaustive
def test_the_runtime_of_the_wheel_for_aarch64(arm: Path) -> None:
    """A program of clang's runs on the device, by qemu."""
    (library,) = arm.glob("wheel/**/libomptarget.so")
    link = [OMPTOOL, "link", "--", GCC, arm / "both.o", f"-L{library.parent}", "-lomptarget"]
    output(*link, f"-Wl,-rpath,{library.parent}", "-o", arm / "app")
    for page in PAGES:
        words = ["qemu-aarch64", "-L", f"/usr/{TARGET}", "-p", page, arm / "app"]
        assert output(*words) == "ran on the device: 1999\n"
