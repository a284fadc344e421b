# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Links of flang's objects: they get omptool's device runtime, and what lacks is one line."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import flang
import pytest
from clangs import made, tool
from fixture_programs import OMPTOOL, X86_64
from linked_programs import searched
from linking import LINKERS
from places import ROOT, TESTS
from running import MANDATORY, run
from toolchain import omptool

from omptool.installation import libdir
from packager.hosts.load import load
from packager.linking.cpu.device_runtime import ARCHIVE, BITCODE, ENTRY_POINT

pytestmark = pytest.mark.slow

SOURCES = TESTS / "packager" / "linking" / "sources"
PRINTED = "  55   2   1\n"
LIBOMP = (flang.LIBOMP, "-lomp")
OWN_ENTRY = f"int {ENTRY_POINT}(void *e, void *d) {{ return -1; }}"
SAMPLE = {("object", "bfd"), ("bitcode", "lld")}
NEWER = """void __kmpc_of_tomorrow(void);
int main(void) {
#pragma omp target
  __kmpc_of_tomorrow();
}
"""


def compiled(folder: Path, name: str, kind: str = "object") -> Path:
    """Compile a source to an object, whose device code is an object or bitcode."""
    flang.command()
    out, words = folder / f"{name}.o", ["-O1", f"-J{folder}", "-c", SOURCES / f"{name}.f90"]
    if kind == "bitcode":
        return made(out, OMPTOOL, "cc", "--cc", flang.NAME, *words)
    return made(out, *flang.command(), *flang.OFFLOADING, *words)


def linked(folder: Path, *words: object, options: tuple[object, ...] = ()) -> tuple[int, str]:
    """Link to `app`; return the exit code and stderr."""
    command = [OMPTOOL, "link", *options, "--", *words, "-o", folder / "app"]
    done = subprocess.run(
        [*map(str, command)], capture_output=True, text=True, check=False,
        env=os.environ | {"PATH": searched()},
    )  # fmt: skip
    return done.returncode, done.stderr


def shown(folder: Path, *words: object, options: tuple[object, ...] = ()) -> str:
    """Return the commands that a link would start."""
    code, said = linked(folder, *words, options=("--dry-run", *options))
    assert code == 0, said
    return said


def printed(program: Path) -> str:
    done = run(program, **MANDATORY)
    assert done.returncode == 0, done.stderr
    return done.stdout


def exported(folder: Path) -> set[str]:
    """Return the names that the image of the program in `folder` exports."""
    omptool("extract", folder / "app", "-o", folder / "images")
    (image,) = (folder / "images").iterdir()
    names = subprocess.run(["nm", "-D", image], capture_output=True, text=True, check=True)
    return {line.split()[-1] for line in names.stdout.splitlines() if " U " not in line}


@pytest.mark.offloads
@pytest.mark.parametrize("kind", ["object", "bitcode"])
def test_the_runtime_is_added(kind: str, tmp_path: Path) -> None:
    code, said = linked(tmp_path, flang.NAME, compiled(tmp_path, "regions", kind), *LIBOMP)
    assert (code, said) == (0, "")
    assert printed(tmp_path / "app") == PRINTED
    names = exported(tmp_path)
    assert "__omptool_device_runtime" in names
    assert "_QMdeepEcounter" in names
    assert ENTRY_POINT not in names  # internal to the image


def test_bitcode_is_joined_with_bitcode(tmp_path: Path) -> None:
    said = shown(tmp_path, flang.NAME, compiled(tmp_path, "regions", "bitcode"), *LIBOMP)
    assert f"regions.o {BITCODE} " in said
    assert ARCHIVE not in said
    said = shown(tmp_path, flang.NAME, compiled(tmp_path, "regions"), *LIBOMP)
    assert ARCHIVE in said
    assert BITCODE not in said


@pytest.mark.offloads
def test_bitcode_that_the_user_names_is_seen_by_the_plugin(tmp_path: Path) -> None:
    words = (flang.NAME, compiled(tmp_path, "regions", "bitcode"), *LIBOMP)
    code, said = linked(tmp_path, *words, options=("--device-lib", libdir() / BITCODE))
    assert (code, said) == (0, "")
    assert {"__omptool_device_runtime", "__omptool_thread_state"} <= exported(tmp_path)
    assert printed(tmp_path / "app") == PRINTED


@pytest.mark.parametrize("kind", ["object", "archive", "shared", "device"])
def test_a_runtime_of_the_users_is_the_one(kind: str, tmp_path: Path) -> None:
    """The user's runtime is in an object's device code, a library of the link, or a named file."""
    source = tmp_path / "own.c"
    source.write_text(OWN_ENTRY)
    own: list[object] = [flang.LIBOMP, "-lomp", f"-L{tmp_path}"]
    if kind == "device":
        own += [f"-L{libdir()}", "-lomptarget.devicertl.host"]
    elif kind == "object":
        source.write_text(
            f"#pragma omp declare target\n{OWN_ENTRY}\n#pragma omp end declare target"
        )
        own.append(made(tmp_path / "own.o", *tool("22"), *flang.OFFLOADING, "-c", source))
    elif kind == "shared":
        own.append(made(tmp_path / "libown.so", "gcc", "-shared", "-fPIC", source))
    else:
        there = made(tmp_path / "own.o", "gcc", "-c", source)
        subprocess.run(["ar", "rcs", tmp_path / "libown.a", there], check=True)
        own.append("-lown")
    said = shown(tmp_path, flang.NAME, compiled(tmp_path, "regions"), *own)
    assert said.count(ARCHIVE) == (1 if kind == "device" else 0)


@pytest.mark.parametrize(
    ("kind", "linker"),
    [
        pytest.param(kind, linker, marks=[] if (kind, linker) in SAMPLE else pytest.mark.exhaustive)
        for kind in ("object", "bitcode")
        for linker in LINKERS
    ],
)
def test_a_procedure_that_nothing_defines(kind: str, linker: str, tmp_path: Path) -> None:
    source = tmp_path / "host.c"
    source.write_text("void absent(int *x) { *x = 1; }\n")
    host = made(tmp_path / "host.o", "gcc", "-c", source)
    lacking = compiled(tmp_path, "lacking", kind)
    code, said = linked(tmp_path, flang.NAME, f"-fuse-ld={linker}", lacking, host, *LIBOMP)
    what = f"its device code for {X86_64} uses absent, which nothing defines"
    cure = "compile what defines it for the device, too, or name its library"
    assert (code, said) == (2, f"Error: {lacking}: {what}; {cure}\n")


def test_what_no_device_runtime_has(tmp_path: Path) -> None:
    """Code of another release may call a function that libomp and ours do not have."""
    source = tmp_path / "newer.c"
    source.write_text(NEWER)
    made_for = [*tool("22"), *flang.OFFLOADING, "-Wno-everything", "-c", source]
    newer = made(tmp_path / "newer.o", *made_for)
    code, said = linked(tmp_path, *tool("22"), newer, *LIBOMP, "-Wl,--defsym=__kmpc_of_tomorrow=0")
    assert code == 2
    assert said.startswith(f"Error: {newer}: its device code for {X86_64} uses __kmpc_of_tomorrow,")
    assert said.count("\n") == 1


@pytest.mark.parametrize("kind", ["object", "bitcode"])
def test_a_command_without_libomp(kind: str, tmp_path: Path) -> None:
    code, said = linked(tmp_path, flang.NAME, compiled(tmp_path, "regions", kind))
    what = f"linking for {X86_64}: the device code calls LLVM's OpenMP library"
    assert (code, said) == (3, f"Error: {what}: add -lomp to the command\n")


def test_a_libomp_that_the_linker_does_not_find(tmp_path: Path) -> None:
    words = (flang.NAME, "-nodefaultlibs", compiled(tmp_path, "regions"), f"-L{tmp_path}", "-lomp")
    code, said = linked(tmp_path, *words)
    what = f"linking for {X86_64}: the linker finds no libomp for -lomp; name its folder with -L"
    assert (code, said) == (3, f"Error: {what}\n")


def test_a_machine_that_the_runtime_is_not_for(tmp_path: Path) -> None:
    source, out = SOURCES / "regions.f90", tmp_path / "regions.o"
    flang.command()
    words = (
        OMPTOOL,
        "cc",
        "--cc",
        flang.NAME,
        "--triple",
        "aarch64",
        f"-J{tmp_path}",
        "-c",
        source,
    )
    code, said = linked(tmp_path, flang.NAME, made(out, *words), *LIBOMP)
    what = f"device code for aarch64-unknown-linux-gnu calls {ENTRY_POINT}"
    runtime = "omptool's device runtime is for another machine"
    assert (code, said) == (2, f"Error: {out}: its {what}, and {runtime}\n")


@pytest.mark.offloads
def test_in_place_of_clangs_wrapper(tmp_path: Path) -> None:
    """Flang's driver finds the stand-in first, and needs no name of the runtime's."""
    regions = compiled(tmp_path, "regions")
    (tmp_path / "clang-linker-wrapper").symlink_to(OMPTOOL)
    command = [*flang.command(), f"-B{tmp_path}", *flang.OFFLOADING, regions, flang.LIBOMP]
    subprocess.run([*map(str, command), "-o", tmp_path / "app"], check=True)
    assert printed(tmp_path / "app") == PRINTED


def test_regions_have_their_names(tmp_path: Path) -> None:
    regions = compiled(tmp_path, "regions")
    assert linked(tmp_path, flang.NAME, regions, *LIBOMP) == (0, "")
    for command in ("dump", "doctor"):
        text = omptool(command, tmp_path / "app").stdout
        for name in ("deep::outer::inner:12", "deep::next:21", "main program:35", "deep::counter"):
            assert re.search(rf"^{name}  ", text, re.MULTILINE), command


# Clangs that CMake may use for the device runtime in bitcode.
BUILDERS = re.search(
    r"find_program\(OMPTOOL_CLANG NAMES ((?:clang\+\+-\d+ )+)",
    (ROOT / "runtime" / "CMakeLists.txt").read_text(),
)


def device_runtime(version: str, folder: Path) -> Path:
    """Compile the device runtime to bitcode by a clang, with CMake's flags."""
    rules = (ROOT / "runtime" / "CMakeLists.txt").read_text()
    flags = re.search(r"set\(devicertl_flags ([^$]*)", rules)
    assert flags
    words = flags[1].removesuffix("-I").split()
    source = ROOT / "runtime" / "devicertl" / "device_runtime.cpp"
    own = (f"-I{ROOT / 'runtime' / 'plugins'}", "--target=x86_64-linux-gnu", "-flto", "-c", source)
    return made(folder / f"runtime-{version}.bc", *tool(version, "clang++"), *words, *own)


def test_cmake_takes_a_clang_of_these() -> None:
    assert BUILDERS
    assert BUILDERS[1].split() == [f"clang++-{release}" for release in range(16, 23)]


@pytest.mark.offloads
@pytest.mark.parametrize("version", [str(release) for release in range(16, 23)])
def test_the_device_runtime_of_each_clang_has_no_vote(version: str, tmp_path: Path) -> None:
    """Decision 35 counts the compilers of the user's objects: here flang 22 alone."""
    library = device_runtime(version, tmp_path)
    words = ("--device-lib", library, "--cc", flang.NAME, "--", "-O1", f"-J{tmp_path}")
    made(tmp_path / "app", OMPTOOL, "cc", *words, SOURCES / "regions.f90", flang.LIBOMP)
    (image,) = load(tmp_path / "app").images
    assert image.contents.clangs == (22,)
    assert run(tmp_path / "app", **MANDATORY).returncode == 0
