# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of clang 23 beside other clangs, with their images, and of a clang yet to come."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from clangs import compiler, made, tool
from fixture_programs import OMPTOOL, call
from linked_programs import driver
from running import MANDATORY, run
from toolchain import omptool
from whole_programs import SOURCES

from omptool.installation import libdir

pytestmark = pytest.mark.offloads

MIXED = SOURCES / "mixed"
OURS = f"-L{libdir()}"  # folder in which a device link finds called functions


def linked(version: str, out: Path, *parts: Path | str) -> Path:
    call(*compiler(version, MIXED / "first.c"), OURS, *parts, "-o", out)
    return out


def compiled(version: str, source: Path, out: Path) -> Path:
    return made(out, *compiler(version, source), "-c", source)


def said(program: Path, **environment: str) -> str:
    """Return the output of a program on the device; check that no line reports a fallback."""
    done = run(program, **MANDATORY | environment)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize(
    ("by_first", "by_second", "linker"),
    [
        ("21", "23", "clang"),
        ("23", "22", "clang"),
        ("22", "23", "omptool"),
        ("23", "21", "omptool"),
        *(
            pytest.param(*case, marks=pytest.mark.exhaustive)
            for case in (("22", "23", "clang"), ("23", "21", "clang"),
                         ("21", "23", "omptool"), ("23", "22", "omptool"))
        ),
    ],
)  # fmt: skip
def test_objects_of_two_clangs_are_one_program(
    tmp_path: Path, by_first: str, by_second: str, linker: str
) -> None:
    one = compiled(by_first, MIXED / "first.c", tmp_path / "first.o")
    two = compiled(by_second, MIXED / "second.c", tmp_path / "second.o")
    out = tmp_path / "app"
    if linker == "clang":
        linked("23", out, one, two)
    else:
        call(OMPTOOL, "link", "--", *driver("23"), one, two, "-o", out)
    assert said(out) == "5 7 9 11\n"


def with_image(folder: Path, host: str, image: str) -> Path:
    """Return the program of one clang with the image of another."""
    source = folder / "both.c"  # kernels are named after their file
    text = (MIXED / "second.c").read_text() + (MIXED / "first.c").read_text()
    source.write_text(text)
    programs = {by: linked(by, folder / by, source) for by in (host, image)}
    call(OMPTOOL, "extract", programs[image], "--image", "0", "-o", folder / "images")
    (taken,) = (folder / "images").iterdir()
    changed = folder / "changed"
    # Force the edit: `verify` refuses such a file, and the tests run it.
    call(OMPTOOL, "edit", programs[host], "--replace", f"0={taken}", "--force", "-o", changed)
    return changed


@pytest.mark.parametrize(("host", "image"), [("22", "23"), ("23", "22")])
def test_an_image_of_the_other_clang_runs_without_a_word(
    tmp_path: Path, host: str, image: str
) -> None:
    assert said(with_image(tmp_path, host, image)) == "5 7 9 11\n"


def test_an_image_that_no_call_fits_is_named_and_its_regions_run_on_the_host(
    tmp_path: Path,
) -> None:
    program = with_image(tmp_path, "23", "17")
    done = run(program)
    assert (done.returncode, done.stdout) == (0, "5 7 9 11\n")
    why = (
        r"the program calls it with a launch environment last, which the image for device 0 "
        r"\(host\), compiled by clang 17\.0\.6, does not expect; compile both with one compiler"
    )
    lines = done.stderr.splitlines()
    assert len(lines) == 3, lines
    for line in lines:
        assert re.fullmatch(rf"omptarget: region \S+ runs on the host: {why}", line), line
    entries = json.loads(omptool("doctor", "--json", program).stdout)["entries"]
    reason = (
        "image 0 has kernels of clang 17, and the program calls those of clang 18 or later only"
    )
    assert {(entry["runs_on"], entry["reason"]) for entry in entries} == {("host", reason)}


def test_a_library_of_clang_14_is_beside_one_of_23(tmp_path: Path) -> None:
    libraries = []
    for by in ("14", "23"):
        source = tmp_path / f"part{by}.c"
        source.write_text((SOURCES / "libraries" / "part.c").read_text())
        library = tmp_path / f"libpart{by}.so"
        flags = ("-shared", "-fPIC", f"-DNAME=part{by}", f"-DSTEP={by}")
        call(*compiler(by, source), *flags, source, "-o", library)
        libraries.append(library)
    program = SOURCES / "libraries" / "all_parts.c"
    parts = ("-DPARTS=P(part14)P(part23)", "-Wl,--allow-shlib-undefined", *libraries)
    call(*compiler("22", program), *parts, program, "-o", tmp_path / "main")
    assert said(tmp_path / "main", LD_LIBRARY_PATH=str(tmp_path)) == "1 40 86\n"


@pytest.mark.parametrize("version", ["22", "23"])
def test_sections_of_bytes_are_those_that_their_clang_means(tmp_path: Path, version: str) -> None:
    program = linked(version, tmp_path / "bytes", MIXED / "bytes.c")
    # Clang 22 describes an outer dimension incompletely if it has a stride; here it has none.
    assert said(program) == "15 15\n"


def test_a_librarys_clang_is_known_as_long_as_it_is_loaded(tmp_path: Path) -> None:
    """Its file is read once; the next library may be loaded at its address."""
    program = linked("22", tmp_path / "loaded_bytes", MIXED / "loaded_bytes.c")
    paths = []
    for number, version in enumerate(("23", "22", "23")):
        # Compile without an image, which would identify the release, too.
        host = ("--offload-host-only", "-fPIC", "-c", "-o", tmp_path / "update.o")
        call(*compiler(version, MIXED / "update.c"), *host, MIXED / "update.c")
        paths.append(tmp_path / f"libupdate{number}.so")
        call("gcc", "-shared", tmp_path / "update.o", "-o", paths[-1])
    done = run(program, *paths, **MANDATORY)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "15 15\n" * 6


@pytest.mark.parametrize("version", ["22", "23"])
def test_virtual_calls_are_linked_with_this_library(tmp_path: Path, version: str) -> None:
    source = SOURCES / "linked" / "virtual.cpp"
    call(*compiler(version, source), OURS, source, "-o", tmp_path / "virtual")
    assert said(tmp_path / "virtual") == "49 4 1\n"


def test_a_clang_that_is_yet_to_come_is_named_and_its_regions_run_on_the_host(
    tmp_path: Path,
) -> None:
    """Generation 25: what clang 23 writes, with another version of the record and of itself."""
    source = MIXED / "first.c"
    host = ("-O0", "--offload-host-only", "-S")
    call(*compiler("23", source), *host, source, "-o", tmp_path / "first.s")
    text = (tmp_path / "first.s").read_text()
    store = re.compile(r"(movl\s+\$)5(, -?\d+\(%r[sb]p\))")  # the store of the version
    text, count = store.subn(r"\g<1>6\2", text)
    assert count == 2, count  # a record for each region
    (tmp_path / "first.s").write_text(text)
    call(*tool("23"), "-c", tmp_path / "first.s", "-o", tmp_path / "host.o")
    # The library's images are clang 23's: the program has the same file.
    whole = compiled("23", source, tmp_path / "whole.o")
    section = ("--dump-section", f".llvm.offloading={tmp_path / 'section'}")
    call("objcopy", *section, whole, tmp_path / "unused.o")
    added = ("--add-section", f".llvm.offloading={tmp_path / 'section'}")
    flags = ("--set-section-flags", ".llvm.offloading=exclude")
    call("objcopy", *added, *flags, tmp_path / "host.o", tmp_path / "first.o")
    second = compiled("23", MIXED / "second.c", tmp_path / "second.o")
    program = linked("23", tmp_path / "app", tmp_path / "first.o", second)
    as_25 = program.read_bytes().replace(b"clang version 23.1.4", b"clang version 25.0.0")
    program.write_bytes(as_25)
    for command, code in (("verify", "OMP131"), ("doctor", "OMP202")):
        shown = omptool(command, program)
        assert shown.exit_code == 1
        (line,) = (line for line in shown.stdout.splitlines() if "clang 25" in line)
        assert f"{code} error: clang 25 compiled image 0: its calls may have a version " in line
    # The region of the second object has a call of version 5, so it runs on the device.
    done = run(program)
    assert (done.returncode, done.stdout) == (0, "5 7 9 11\n")
    fault = (
        r"kernel arguments of version 6 are unknown, which clang 25\.0\.0\S* wrote; "
        r"update omptool, or compile with clang 24 or older"
    )
    lines = done.stderr.splitlines()
    assert len(lines) == 2, lines
    for line in lines:
        assert re.fullmatch(rf"omptarget: region \S+ runs on the host: {fault}", line), line
    refused = run(program, **MANDATORY)
    assert refused.returncode == -6
    assert re.search(f"OMP_TARGET_OFFLOAD is MANDATORY: {fault}", refused.stderr)
