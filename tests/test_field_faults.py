"""Faults that users meet, as the compilers make them: verify finds each in the file alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from clangs import INSTALLED, OTHERS, compiled, compiled_by, unpacked
from toolchain import OPENMP, X86_64, clang_offload, run
from verifying import findings

from packager.load import load

PART = OPENMP.replace("main", "part").replace("table", "other")
MAIN = OPENMP.replace("return y", "extern int part(void); part(); return y")
FLAGS = ("-O1", "-fopenmp", f"-fopenmp-targets={X86_64}")
EVERY = pytest.mark.parametrize("version", sorted((*OTHERS, INSTALLED)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("faults")


def clang(version: str, *words: object) -> None:
    """Run a clang of some release, with its own libraries."""
    if version == INSTALLED:
        run("clang-19", *FLAGS, *words)
        return
    usr = unpacked(version)
    folders = f"{usr / 'lib/x86_64-linux-gnu'}:{usr / f'lib/llvm-{version}/lib'}"
    command = usr / f"lib/llvm-{version}/bin/clang"
    run("env", f"LD_LIBRARY_PATH={folders}", command, *FLAGS, *words)


def object_of(version: str, text: str, out: Path) -> Path:
    out.with_suffix(".c").write_text(text)
    clang(version, "-c", out.with_suffix(".c"), "-o", out)
    return out


def program(version: str, folder: Path) -> Path:
    (folder / version).mkdir(exist_ok=True)
    source = folder / version / "source.c"
    if not source.exists():
        source.write_text(OPENMP)
        made = compiled if version == INSTALLED else lambda s, f: compiled_by(version, s, f)
        made(source, folder / version)
    return folder / version / "source"


def errors(path: Path) -> set[str]:
    return {str(f["code"]) for f in findings(path) if f["severity"] == "error"}


def with_image(path: Path, out: Path, change: Callable[[bytes], bytes]) -> Path:
    """A copy of a program whose image is another, of the same size."""
    (image,) = load(path).images
    data = path.read_bytes()
    end = image.offset + image.size
    content = change(data[image.offset : end])
    assert len(content) == image.size
    assert content != data[image.offset : end]
    out.write_bytes(data[: image.offset] + content + data[end:])
    return out


@EVERY
def test_linked_without_offload_flags(folder: Path, version: str) -> None:
    """The table of entries is there, and nothing registers it."""
    part = object_of(version, OPENMP, folder / f"alone-{version}.o")
    usr = Path("/usr") if version == INSTALLED else unpacked(version)
    runtime = next((usr / f"lib/llvm-{version}/lib").glob("libomptarget.so*"))
    out = folder / f"alone-{version}"
    libomp = "/usr/lib/llvm-19/lib/libomp.so"
    run("gcc", part, runtime, libomp, "-Wl,--allow-shlib-undefined", "-o", out)
    assert "OMP101" in errors(out)


@EVERY
def test_a_kernel_that_the_image_lacks(folder: Path, tmp_path: Path, version: str) -> None:
    path = with_image(
        program(version, folder), tmp_path / "x", lambda b: b.replace(b"_main_l8", b"_mein_l8")
    )
    assert "OMP105" in errors(path)


@EVERY
def test_a_variable_that_the_image_lacks(folder: Path, tmp_path: Path, version: str) -> None:
    path = with_image(
        program(version, folder), tmp_path / "x", lambda b: b.replace(b"table\0", b"tuble\0")
    )
    assert "OMP105" in errors(path)


@EVERY
def test_an_image_for_another_machine(folder: Path, tmp_path: Path, version: str) -> None:
    """Clang 14 declares nothing that the bytes could disagree with: doctor tells."""
    path = with_image(
        program(version, folder), tmp_path / "x", lambda b: b[:18] + b"\xb7\0" + b[20:]
    )
    assert ("OMP110" in errors(path)) == (version != "14")


def test_everything_in_archives(folder: Path) -> None:
    """Clang takes device code out of members that are linked anyhow: of these none is."""
    for name, text in (("main", MAIN), ("part", PART)):
        run("ar", "rcs", folder / f"{name}.a", object_of(INSTALLED, text, folder / f"{name}.o"))
    clang(INSTALLED, folder / "main.a", folder / "part.a", "-o", folder / "archives")
    assert errors(folder / "archives") & {"OMP101", "OMP105"}


@pytest.mark.parametrize("version", ["16", "19", "22"])
def test_an_object_of_clang_14_linked_by_a_later_one(folder: Path, version: str) -> None:
    """Its device code is in a section that later linker wrappers do not look at."""
    main = object_of(version, MAIN, folder / f"main-{version}.o")
    part = object_of("14", PART, folder / f"part-14-{version}.o")
    clang(version, main, part, "-o", folder / f"with-14-{version}")
    assert errors(folder / f"with-14-{version}") & {"OMP104", "OMP105"}


@pytest.mark.parametrize("other", ["16", "22"])
def test_objects_of_two_releases(folder: Path, other: str) -> None:
    main = object_of(INSTALLED, MAIN, folder / f"main19-{other}.o")
    part = object_of(other, PART, folder / f"part-{other}.o")
    out = folder / f"mixed-{other}"
    clang(INSTALLED, main, part, "-o", out)
    if other == "22":
        assert "OMP104" in errors(out)
    else:  # LLVM 19's linker wrapper and runtime know what 16 writes
        assert errors(out) == set()


def test_regions_of_a_program_without_device_code(folder: Path) -> None:
    """An object whose device part was stripped."""
    whole = clang_offload(OPENMP, folder / "whole.o", "-c")
    run("objcopy", "-R", ".llvm.offloading", whole, folder / "cut.o")
    clang(INSTALLED, folder / "cut.o", "-o", folder / "cut")
    assert errors(folder / "cut")
