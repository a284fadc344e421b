# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Device code in archives and libraries is linked exactly if the host's link takes the member."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from clangs import INSTALLED, libraries, made
from linked_programs import PRINTED, SOURCES, compiled, driver, kernels, linked, printed, program
from linking import LINKERS
from toolchain import omptool

from omptool.installation import libdir


@pytest.mark.slow
@pytest.mark.parametrize("linker", LINKERS)
def test_each_linker_takes_from_archives_what_it_takes_without(linker: str, tmp_path: Path) -> None:
    main, *others = program(tmp_path, "-ffunction-sections")
    unused = compiled(tmp_path, "unused", "-ffunction-sections")
    (tmp_path / "of (one)").mkdir()
    archive, thin = tmp_path / "libk.a", tmp_path / "of (one)" / "thin (1).a"
    subprocess.run(["ar", "rc", archive, *others, unused], check=True)
    subprocess.run(["ar", "rcT", thin, *others, unused], check=True)
    words = ["gcc", f"-fuse-ld={linker}", main, "-Wl,--gc-sections", f"-L{libraries(INSTALLED)}"]
    out = tmp_path / "app"
    assert linked(out, *words, f"-L{tmp_path}", "-lk", "-lomp") == ""
    assert printed(out) == PRINTED
    assert kernels(out) == {"main", "summed"}
    linked(out, *words, str(thin.parent / ".." / thin.relative_to(tmp_path)), "-lomp")
    assert printed(out) == PRINTED
    assert kernels(out) == {"main", "summed"}
    archive = archive.rename(tmp_path / "of(one) (two).a")
    linked(out, *words, archive, "-lomp", "-Wl,-M")
    assert kernels(out) == {"main", "summed"}
    linked(out, *words, "-Wl,--whole-archive", archive, "-Wl,--no-whole-archive", "-lomp")
    assert kernels(out) == {"main", "summed", "unused"}


def test_a_member_that_only_device_code_needs(tmp_path: Path) -> None:
    """The host's half of the member may be defined elsewhere."""
    main, summed, scaled = program(tmp_path)
    own = made(tmp_path / "own.o", "gcc", "-c", SOURCES / "scaled.c")
    subprocess.run(["ar", "rc", tmp_path / "libk.a", scaled], check=True)
    out = tmp_path / "app"
    linked(out, *driver(), main, summed, own, tmp_path / "libk.a")
    assert printed(out) == PRINTED


@pytest.mark.parametrize("linker", LINKERS)
def test_members_with_one_name(linker: str, tmp_path: Path) -> None:
    main, summed, scaled = program(tmp_path)
    (tmp_path / "other").mkdir()
    unused = compiled(tmp_path, "unused").rename(tmp_path / "other" / "summed.o")
    subprocess.run(["ar", "rc", tmp_path / "libk.a", summed, scaled], check=True)
    subprocess.run(["ar", "q", tmp_path / "libk.a", unused], check=True, stderr=subprocess.DEVNULL)
    words = ["gcc", f"-fuse-ld={linker}", main, tmp_path / "libk.a"]
    linked(tmp_path / "app", *words, f"-L{libraries(INSTALLED)}", "-lomp")
    assert kernels(tmp_path / "app") == {"main", "summed"}
    assert printed(tmp_path / "app") == PRINTED


@pytest.mark.parametrize("linker", [*LINKERS[1:], "bfd"])
def test_members_of_bitcode(linker: str, tmp_path: Path) -> None:
    """The map names members of bitcode; mold names all that it may take."""
    main, *others = program(tmp_path, "-flto")
    unused = compiled(tmp_path, "unused", "-flto")
    subprocess.run(["llvm-ar-19", "rcs", tmp_path / "libk.a", *others, unused], check=True)
    words = [*driver(), "-flto", f"-fuse-ld={linker}", "-Wl,--gc-sections"]
    out = tmp_path / "app"
    linked(out, *words, main, tmp_path / "libk.a")
    assert printed(out) == PRINTED
    assert kernels(out) - {"unused"} == {"main", "summed"}
    assert ("unused" in kernels(out)) == (linker == "mold")


def test_a_script_in_place_of_a_library(tmp_path: Path) -> None:
    main, *others = program(tmp_path)
    subprocess.run(["ar", "rc", tmp_path / "libdone.a", *others], check=True)
    text = '/* INPUT(no) */ GROUP ( AS_NEEDED ( -ldone ) "libdone.a" )'
    (tmp_path / "libk.so").write_text(text)
    linked(tmp_path / "app", *driver(), main, f"-L{tmp_path}", "-lk")
    assert printed(tmp_path / "app") == PRINTED


def test_a_library_where_only_the_driver_looks(tmp_path: Path) -> None:
    main, *others = program(tmp_path)
    subprocess.run(["ar", "rc", tmp_path / "libk.a", *others], check=True)
    words = ["gcc", f"-B{tmp_path}/", main, "-lk", f"-L{libraries(INSTALLED)}", "-lomp"]
    linked(tmp_path / "app", *words)
    assert printed(tmp_path / "app") == PRINTED


def test_the_libraries_that_images_are_linked_with(tmp_path: Path) -> None:
    """Libraries with device code are excluded: half of their code is the host's."""
    main, *others = program(tmp_path)
    host = made(tmp_path / "host.o", "gcc", "-c", SOURCES / "scaled.c")
    subprocess.run(["ar", "rc", tmp_path / "libk.a", *others], check=True)
    subprocess.run(["ar", "rc", tmp_path / "libh.a", host], check=True)
    words = f"{main} -L{tmp_path} -lh {tmp_path}/libh.a -Wl,--whole-archive -lk {tmp_path}/libk.a"
    done = omptool("link", "--dry-run", "--", "gcc", *words.split(), "-o", tmp_path / "app")
    device, _ = done.stderr.splitlines()
    assert f" -L{tmp_path} -lh {tmp_path}/libh.a {libdir()}/libomptarget.so -o " in device


@pytest.mark.slow
def test_a_member_whose_code_is_there_already(tmp_path: Path) -> None:
    """Neither the host's link nor device code needs the member, in either order."""
    main, summed, scaled = program(tmp_path)
    subprocess.run(["ar", "rc", tmp_path / "libk.a", scaled], check=True)
    subprocess.run(["ar", "rc", tmp_path / "libtwin.a", scaled], check=True)
    out = tmp_path / "app"
    for words in ([summed, scaled, "-lk"], ["-lk", summed, scaled], [summed, "-lk", "-ltwin"]):
        linked(out, *driver(), main, f"-L{tmp_path}", *words)
        assert printed(out) == PRINTED
