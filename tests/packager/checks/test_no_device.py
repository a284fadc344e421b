# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`verify --strict` exits 1 for each kind of file whose regions cannot run on a device."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from clangs import CLANG, FLAGS, made
from machine import lacks
from toolchain import omptool
from verifying import found

from omptool.installation import libdir
from packager.hosts.load import load

WORK = """\
void work(int *cell) {
#pragma omp target map(tofrom : cell[0 : 1])
  cell[0]++;
}
"""
MAIN = """\
void work(int *cell);
int main(void) {
  int cell = 0;
#pragma omp target map(tofrom : cell)
  cell = 1;
  work(&cell);
  return cell != 2;
}
"""
ALONE = ("-O0", "-fopenmp")  # without a target
AARCH64 = 183  # e_machine


@pytest.fixture
def sound(tmp_path: Path) -> Path:
    """Provide a program with one image that `verify --strict` accepts."""
    (tmp_path / "work.c").write_text(WORK)
    (tmp_path / "main.c").write_text(MAIN)
    program = made(tmp_path / "sound", CLANG[".c"], *FLAGS, *sources(tmp_path))
    assert omptool("verify", "--strict", program).exit_code == 0
    return program


def sources(folder: Path) -> tuple[Path, Path]:
    return folder / "main.c", folder / "work.c"


def call(*words: object) -> None:
    subprocess.run([str(word) for word in words], check=True)


def part(folder: Path, name: str, *flags: str) -> Path:
    """Compile the object of one source."""
    return made(folder / f"{name}.o", CLANG[".c"], *flags, "-fPIC", "-c", folder / f"{name}.c")


def host_alone(folder: Path) -> Path:
    return made(folder / "alone", CLANG[".c"], *ALONE, *sources(folder))


def one_object(folder: Path) -> Path:
    objects = (part(folder, "work", *ALONE), part(folder, "main", *FLAGS[:2]))
    return made(folder / "mixed", CLANG[".c"], *FLAGS, *objects)


def one_library(folder: Path) -> Path:
    return made(folder / "libwork.so", CLANG[".c"], *ALONE, "-shared", "-fPIC", folder / "work.c")


def linked_by_gcc(folder: Path) -> Path:
    objects = [part(folder, name, *FLAGS[:2]) for name in ("main", "work")]
    libraries = (f"-L{libdir()}", f"-Wl,-rpath,{libdir()}", "-lomptarget")
    out = folder / "by_gcc"
    call("gcc", *objects, *libraries, "-Wl,--unresolved-symbols=ignore-all", "-o", out)
    return out


def without_entries(folder: Path) -> Path:
    call("objcopy", "-R", "omp_offloading_entries", folder / "sound", folder / "removed")
    return folder / "removed"


def without_images(folder: Path) -> Path:
    out = folder / "none"
    edited = omptool("edit", folder / "sound", "--remove", "0", "--force", "-o", out)
    assert edited.exit_code == 0, edited.stderr
    return out


def changed(folder: Path, change: Callable[[bytearray], None]) -> Path:
    """Copy the program with its image changed."""
    (image,) = load(folder / "sound").images
    data, there = (
        bytearray((folder / "sound").read_bytes()),
        slice(image.offset, image.offset + image.size),
    )
    inside = data[there]
    change(inside)
    data[there] = inside
    out = folder / "changed"
    out.write_bytes(data)
    return out


def without_a_kernel(folder: Path) -> Path:
    def rename(image: bytearray) -> None:
        image[:] = bytes(image).replace(b"_work_l", b"_worx_l")

    return changed(folder, rename)


def damaged(folder: Path) -> Path:
    def damage(image: bytearray) -> None:
        image[0x20:0x30] = b"\xff" * 16  # overwrites the headers' offsets

    return changed(folder, damage)


def of_no_format(folder: Path) -> Path:
    def damage(image: bytearray) -> None:
        image[:64] = b"\1" * 64

    return changed(folder, damage)


def for_another_cpu(folder: Path) -> Path:
    """Make the image one for AArch64, in the bytes and not in the declaration."""
    assert omptool("extract", folder / "sound", "-o", folder / "images").exit_code == 0
    (path,) = (folder / "images").iterdir()
    image = bytearray(path.read_bytes())
    image[18:20] = AARCH64.to_bytes(2, "little")
    path.write_bytes(image)
    added, out = folder / "added", folder / "other"
    words = ("--add", f"aarch64-unknown-linux-gnu={path}", "-o", added)
    assert omptool("edit", folder / "sound", *words).exit_code == 0
    removed = omptool("edit", added, "--remove", "0", "--force", "-o", out)
    assert removed.exit_code == 0, removed.stderr
    assert omptool("verify", "--strict", added).exit_code == 0
    return out


def member_without_images(folder: Path) -> Path:
    call("objcopy", "-R", ".llvm.offloading", part(folder, "work", *FLAGS[:2]), folder / "none.o")
    call("ar", "rcs", folder / "libwork.a", folder / "none.o")
    return folder / "libwork.a"


def of_gcc_alone(folder: Path) -> Path:
    gcc = shutil.which("gcc-12") or lacks("gcc-12 is not here")
    call(gcc, "-O1", "-fopenmp", "-foffload=disable", *sources(folder), "-o", folder / "by_gcc")
    return folder / "by_gcc"


ERRORS = {
    linked_by_gcc: "OMP101",
    without_images: "OMP101",
    of_gcc_alone: "OMP101",
    without_entries: "OMP103",
    without_a_kernel: "OMP105",
    damaged: "OMP110",
    of_no_format: "OMP110",
    member_without_images: "OMP124",
}
WARNINGS = {
    host_alone: "OMP133",
    one_object: "OMP133",
    one_library: "OMP133",
    for_another_cpu: "OMP135",
}


@pytest.mark.parametrize(
    ("make", "code", "severity"),
    [
        *((make, code, "error") for make, code in ERRORS.items()),
        *((make, code, "warning") for make, code in WARNINGS.items()),
    ],
)
def test_each_kind(sound: Path, make: Callable[[Path], Path], code: str, severity: str) -> None:
    path = make(sound.parent)
    assert (code, severity) in found(path)
    assert omptool("verify", path).exit_code == (1 if severity == "error" else 0)
    assert omptool("verify", "--strict", path).exit_code == 1


def test_a_stripped_file_has_no_entry(sound: Path) -> None:
    path = host_alone(sound.parent)
    call("strip", path)
    assert found(path) == {("OMP132", "info")}
    assert omptool("verify", "--require-entries", path).exit_code == 1
