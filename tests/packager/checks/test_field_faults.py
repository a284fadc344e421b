# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Faults that users meet, as the compilers make them: verify finds each in the file alone.

What no file can show: a link that fails leaves none (without any offload flag, with lld and
--gc-sections, one archive twice since clang 19, of standard input before clang 22), and what a
machine lacks (devices, plugins, a /tmp that can be written to) is for doctor to say.
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import running
from builds import some_clangs
from clangs import FULL, INSTALLED, NEWEST, linked_libraries, own_library, program_of, tool
from linking import OWN_LINKER
from places import TESTS
from toolchain import OPENMP, X86_64, clang_offload, omptool, run
from verifying import findings

from packager.elf import headers
from packager.files.reader import open_reader
from packager.hosts.load import load

pytestmark = pytest.mark.slow

PART = OPENMP.replace("main", "part").replace("table", "other")
MAIN = OPENMP.replace("return y", "extern int part(void); part(); return y")
CALLS_BOTH = TESTS / "packager" / "checks" / "calls_both.c"
REGION = (TESTS / "packager" / "checks" / "named_region.c").read_text()
FLAGS = ("-O1", "-fopenmp", f"-fopenmp-targets={X86_64}")
SINCE_16 = FULL[1:]
LLD = "--ld-path=/usr/lib/llvm-19/bin/ld.lld"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("faults")


def command(version: str) -> list[str]:
    """Return the command of a clang with its own libraries."""
    return [*tool(version), *FLAGS, *own_library(version)]


def clang(version: str, *words: object) -> None:
    run(*command(version), *words)


def refused(version: str, *words: object, source: str = "") -> str:
    """Return the words of a clang that fails."""
    line = [*command(version), *map(str, words)]
    done = subprocess.run(line, capture_output=True, text=True, check=False, input=source)
    assert done.returncode != 0
    return done.stderr


def object_of(version: str, text: str, out: Path) -> Path:
    if not out.exists():
        out.with_suffix(".c").write_text(text)
        clang(version, "-c", out.with_suffix(".c"), "-o", out)
    return out


def main_of(version: str, folder: Path) -> Path:
    return object_of(version, MAIN, folder / f"main-{version}.o")


def part_of(version: str, folder: Path) -> Path:
    return object_of(version, PART, folder / f"part-{version}.o")


def archive(member: Path) -> Path:
    run("ar", "rcs", member.with_suffix(".a"), member)
    return member.with_suffix(".a")


def program(version: str, folder: Path) -> Path:
    return program_of(version, OPENMP, folder / "source.c")


def of_severity(path: Path, severity: str) -> set[str]:
    return {str(f["code"]) for f in findings(path) if f["severity"] == severity}


def errors(path: Path) -> set[str]:
    return of_severity(path, "error")


def with_image(path: Path, out: Path, change: Callable[[bytes], bytes]) -> Path:
    """Copy a program with its image replaced by one of the same size."""
    (image,) = load(path).images
    data = path.read_bytes()
    end = image.offset + image.size
    content = change(data[image.offset : end])
    assert len(content) == image.size
    assert content != data[image.offset : end]
    out.write_bytes(data[: image.offset] + content + data[end:])
    return out


# ---- entries that nothing registers ----


@pytest.mark.parametrize("version", some_clangs(0))
def test_linked_without_offload_flags(folder: Path, version: str) -> None:
    """The table of entries is there, and nothing registers it."""
    part = object_of(version, OPENMP, folder / f"alone-{version}.o")
    out = folder / f"alone-{version}"
    run("gcc", part, *linked_libraries(version), "-Wl,--allow-shlib-undefined", "-o", out)
    assert "OMP101" in errors(out)


@pytest.mark.parametrize("version", some_clangs(1))
def test_linked_without_flags_and_runtime(folder: Path, tmp_path: Path, version: str) -> None:
    """An executable does not link; a library does, and is for a program that has a runtime."""
    part = part_of(version, folder)
    failed = subprocess.run(["gcc", part, "-o", tmp_path / "x"], capture_output=True, check=False)
    assert b"undefined reference to `__tgt_target_" in failed.stderr
    # Clang 14 and 19 compile position-dependent code by default.
    object_of(version, PART, folder / f"part-{version}.o")
    clang(version, "-fPIC", "-c", folder / f"part-{version}.c", "-o", tmp_path / "pic.o")
    run("gcc", "-shared", tmp_path / "pic.o", "-o", tmp_path / "alone.so")
    assert {"OMP101", "OMP102"} <= errors(tmp_path / "alone.so")


@pytest.mark.parametrize("version", some_clangs(0, SINCE_16))
def test_everything_in_archives(folder: Path, tmp_path: Path, version: str) -> None:
    """Clang extracts device code only from members that the host's link needs, and none is."""
    main, part = archive(main_of(version, folder)), archive(part_of(version, folder))
    clang(version, main, part, "-o", tmp_path / "x")
    assert errors(tmp_path / "x") & {"OMP101", "OMP105"}


@pytest.mark.parametrize("version", some_clangs(2))
def test_a_part_in_an_archive(folder: Path, tmp_path: Path, version: str) -> None:
    """Clang 14 omits the archive's device code; later clangs link it."""
    part = archive(part_of(version, folder))
    clang(version, main_of(version, folder), part, "-o", tmp_path / "x")
    assert errors(tmp_path / "x") == ({"OMP105"} if version == "14" else set())


@pytest.mark.parametrize("version", some_clangs(3))
def test_one_archive_twice(folder: Path, tmp_path: Path, version: str) -> None:
    """With a device variable, clang 19 and later link its device code twice and fail."""
    main, part = main_of(version, folder), archive(part_of(version, folder))
    if version not in ("14", "16"):
        words = (main, part, part, "-o", tmp_path / "x")
        said = refused(version, *words)
        # Messages of bfd, and of clang 23's own lld.
        assert "multiple definition of `other'" in said or "duplicate symbol: other" in said
    else:
        clang(version, main, part, part, "-o", tmp_path / "x")
        assert errors(tmp_path / "x") == ({"OMP105"} if version == "14" else set())


# ---- objects of several releases ----


@pytest.mark.parametrize("version", some_clangs(1, SINCE_16))
def test_an_object_of_clang_14_linked_by_a_later_one(
    folder: Path, tmp_path: Path, version: str
) -> None:
    """Clang 14's device code is in a section that later linker wrappers do not read."""
    clang(version, main_of(version, folder), part_of("14", folder), "-o", tmp_path / "x")
    assert errors(tmp_path / "x") & {"OMP104", "OMP105"}


@pytest.mark.offloads
@pytest.mark.parametrize(
    ("linker", "other"), [("16", "19"), ("16", "22"), ("19", "22"), ("22", "16"), ("23", "19")]
)
def test_objects_of_two_releases(folder: Path, tmp_path: Path, linker: str, other: str) -> None:
    clang(linker, main_of(linker, folder), part_of(other, folder), "-o", tmp_path / "x")
    assert "OMP104" in errors(tmp_path / "x")
    if (linker, other) == ("16", "19"):
        assert run_by_us(tmp_path / "x") == 0  # which `verify` names as a cure


@pytest.mark.offloads
@pytest.mark.parametrize(("linker", "other"), [("19", "16"), ("23", "22")])
def test_objects_of_two_releases_that_fit(
    folder: Path, tmp_path: Path, linker: str, other: str
) -> None:
    """LLVM 19's linker wrapper and runtime, and omptool's runtime, know clang 16's records."""
    clang(linker, main_of(linker, folder), part_of(other, folder), "-o", tmp_path / "x")
    assert errors(tmp_path / "x") == set()
    assert run_by_us(tmp_path / "x") == 0


def run_by_us(path: Path) -> int:
    return running.run(path, **running.MANDATORY).returncode


# ---- host and image that do not fit ----


@pytest.mark.parametrize("version", some_clangs(4))
def test_a_kernel_that_the_image_lacks(folder: Path, tmp_path: Path, version: str) -> None:
    path = with_image(
        program(version, folder), tmp_path / "x", lambda b: b.replace(b"_main_l8", b"_mein_l8")
    )
    assert "OMP105" in errors(path)


@pytest.mark.parametrize("version", some_clangs(5))
def test_an_entry_of_the_host_under_another_name(
    folder: Path, tmp_path: Path, version: str
) -> None:
    path = program(version, folder)
    (image,) = load(path).images
    data = path.read_bytes()
    before, inside = data[: image.offset], data[image.offset :]
    (tmp_path / "x").write_bytes(before.replace(b"_main_l8\0", b"_mein_l8\0") + inside)
    if data.find(b"_main_l8\0") > image.offset:  # the names come after the image
        end = image.offset + image.size
        changed = data[end:].replace(b"_main_l8\0", b"_mein_l8\0", 1)
        (tmp_path / "x").write_bytes(data[:end] + changed)
    assert "OMP105" in errors(tmp_path / "x")


@pytest.mark.parametrize("version", some_clangs(6))
def test_two_entries_that_changed_places(folder: Path, tmp_path: Path, version: str) -> None:
    """LLVM 14 pairs by place, and runs the wrong kernel; later ones pair by name."""
    path = swapped(program(version, folder), tmp_path / "x")
    severity = "error" if version == "14" else "info"
    assert "OMP106" in of_severity(path, severity)
    assert (errors(path) == set()) == (version != "14")


def swapped(path: Path, out: Path) -> Path:
    """Copy a program with the names of its two kernels swapped in the host's table."""
    one, other = (entry for entry in load(path).entries if entry.kind == "kernel")
    (table,) = load(path).tables
    name_at = 24 if table.record_size == 56 else 8
    places = [(table.address or 0) + (e.offset or 0) - table.offset + name_at for e in (one, other)]
    data = bytearray(path.read_bytes())
    with open_reader(path) as reader:
        (section,) = headers.read(reader).named(".rela.dyn")
    rows = range(section.offset, section.offset + section.size, 24)
    at = {int.from_bytes(data[row : row + 8], "little"): row + 16 for row in rows}
    left, right = (slice(at[place], at[place] + 8) for place in places)
    data[left], data[right] = data[right], data[left]
    out.write_bytes(data)
    return out


@pytest.mark.parametrize("version", some_clangs(7))
def test_a_variable_that_the_image_lacks(folder: Path, tmp_path: Path, version: str) -> None:
    path = with_image(
        program(version, folder), tmp_path / "x", lambda b: b.replace(b"table\0", b"tuble\0")
    )
    assert "OMP105" in errors(path)


@pytest.mark.parametrize("version", some_clangs(8))
def test_an_image_for_another_machine(folder: Path, tmp_path: Path, version: str) -> None:
    """Clang 14 declares no target that the bytes could contradict; doctor finds the fault."""
    path = with_image(
        program(version, folder), tmp_path / "x", lambda b: b[:18] + b"\xb7\0" + b[20:]
    )
    assert ("OMP110" in errors(path)) == (version != "14")


def test_regions_of_a_program_without_device_code(folder: Path) -> None:
    """An object whose device part was stripped."""
    whole = clang_offload(OPENMP, folder / "whole.o", "-c")
    run("objcopy", "-R", ".llvm.offloading", whole, folder / "cut.o")
    clang(INSTALLED, folder / "cut.o", "-o", folder / "cut")
    assert errors(folder / "cut")


# ---- two kernels of one name ----


@pytest.mark.parametrize("version", some_clangs(9))
def test_one_source_compiled_twice(tmp_path: Path, version: str) -> None:
    """The linker drops the second kernel: objects show it, the program does not."""
    (tmp_path / "source.c").write_text(REGION)
    made = {"one": 1, "two": 2, "same": 1}
    for name, value in made.items():
        defines = (f"-DNAME={name}", f"-DVALUE={value}")
        clang(version, "-c", *defines, tmp_path / "source.c", "-o", tmp_path / f"{name}.o")
    one, two, same = (tmp_path / f"{name}.o" for name in made)
    assert "OMP108" in omptool("verify", one, two).stdout
    assert omptool("verify", one, two).exit_code == 1
    assert omptool("verify", one, same).exit_code == 0
    clang(version, CALLS_BOTH, one, two, "-o", tmp_path / "x")
    assert "OMP108" in of_severity(tmp_path / "x", "info")


@pytest.mark.offloads
@pytest.mark.parametrize(
    ("version", "strip"), [*((version, False) for version in FULL), ("14", True)]
)
def test_a_header_with_a_region_included_twice(tmp_path: Path, version: str, strip: bool) -> None:
    """Clang 14 gives both regions one name, and the second no entry; later clangs number them.

    Only symbols show the second region: without them a file by clang 14 does not.
    """
    source = TESTS / "packager" / "checks" / "included_twice.c"
    clang(version, source, "-o", tmp_path / "x", *(["-Wl,-s"] if strip else []))
    is_shown = version == "14" and not strip
    assert errors(tmp_path / "x") == ({"OMP108"} if is_shown else set())
    assert (run_by_us(tmp_path / "x") == 0) == (version != "14")


# ---- what linkers and drivers do ----


@pytest.mark.parametrize("version", ["14", NEWEST])
def test_lld_that_collects_garbage(folder: Path, tmp_path: Path, version: str) -> None:
    whole = object_of(version, OPENMP, folder / f"whole-{version}.o")
    words = (LLD, "-Wl,--gc-sections", whole, "-o", tmp_path / "x")
    assert "undefined hidden symbol: __start_" in refused(version, *words)
    clang(version, *words, "-Wl,-z,nostart-stop-gc")
    assert errors(tmp_path / "x") == set()
    clang(version, OWN_LINKER, *words[1:])  # bfd keeps what has such symbols
    assert errors(tmp_path / "x") == set()


@pytest.mark.parametrize("version", some_clangs(2, SINCE_16))
def test_relocatable_links_by_the_driver(tmp_path: Path, version: str) -> None:
    """Each closes its table; of clang 16 no two such objects link."""
    closed = []
    for name in ("one", "two"):
        text = (
            REGION.replace("NAME", name).replace("VALUE", "1").replace("region", name + "_region")
        )
        plain = object_of(version, text, tmp_path / f"{name}.o")
        closed.append(tmp_path / f"{name}-closed.o")
        clang(version, "-r", plain, "-o", closed[-1])
        assert "OMP123" in of_severity(closed[-1], "warning")
        assert "OMP123" not in of_severity(plain, "warning")
    words = (CALLS_BOTH, *closed, "-o", tmp_path / "x")
    if version == "16":
        said = refused(version, *words)
        assert "multiple definition of `__dummy.omp_offloading.entry'" in said
    else:
        clang(version, *words)
        assert "OMP118" in of_severity(tmp_path / "x", "warning")


@pytest.mark.offloads
@pytest.mark.parametrize("version", some_clangs(10))
def test_a_source_from_standard_input(tmp_path: Path, version: str) -> None:
    """The compilation for the device finds nothing more to read; clang 22 and later go on."""
    words = ("-x", "c", "-", "-o", tmp_path / "x")
    source = REGION.replace("NAME", "main").replace("VALUE", "0")
    if version not in ("22", "23"):
        assert refused(version, *words, source=source)
        return
    subprocess.run([*command(version), *words], input=source, text=True, check=True)
    assert errors(tmp_path / "x") == {"OMP105"}
    assert run_by_us(tmp_path / "x") == -signal.SIGABRT


@pytest.mark.parametrize(
    ("version", "flags"),
    [
        ("14", ["-no-pie"]),
        ("16", ["-shared", "-fPIC"]),
        ("16", ["-Wl,--whole-archive"]),
        ("19", ["-flto", LLD]),
        ("22", ["-no-pie"]),
        ("23", ["-flto"]),
    ],
)
def test_links_that_are_sound(tmp_path: Path, version: str, flags: list[str]) -> None:
    (tmp_path / "source.c").write_text(OPENMP)
    rest = ["-Wl,--no-whole-archive"] if "-Wl,--whole-archive" in flags else []
    clang(version, *flags, tmp_path / "source.c", *rest, "-o", tmp_path / "x")
    assert errors(tmp_path / "x") == set()
