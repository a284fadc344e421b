# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dump programs of every clang: whole, stripped, and without section headers."""

from __future__ import annotations

from pathlib import Path

import pytest
from builds import some_clangs
from clangs import (
    EVERY,
    OFFLOADING,
    WITH_SNAPSHOTS,
    compiler,
    libraries,
    made,
    program_of,
    tool,
)
from documents import dumped
from linking import OWN_LINKER
from places import TESTS
from toolchain import OPENMP, X86_64, clang_offload, compile_c, omptool, run
from verifying import findings

from packager.elf import headers
from packager.files.reader import open_reader
from packager.generations import of_release

pytestmark = pytest.mark.slow

KEPT = ("abi", "entries", "images", "descriptors")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("generations")


def program(version: str, folder: Path) -> Path:
    return program_of(version, OPENMP, folder / "openmp.c")


def without_headers(path: Path) -> Path:
    out = path.with_name(path.name + ".headerless")
    run("llvm-strip-19", "--strip-sections", path, "-o", out)
    return out


@pytest.mark.parametrize("version", some_clangs(0, WITH_SNAPSHOTS))
def test_what_it_holds(folder: Path, version: str) -> None:
    file = dumped(program(version, folder))
    assert file["abi"] == f"llvm-{version}"
    (image,) = file["images"]
    assert (image["kind"], image["machine"]) == ("elf", "x86_64")
    assert image["triple"] == (None if version == "14" else X86_64)  # nothing declares it
    assert image["problem"] is None
    table, first, second = file["entries"]
    assert (table["kind"], table["name"], table["size"]) == ("global", "table", 32)
    for entry, line in ((first, 6), (second, 8)):
        assert (entry["kind"], entry["size"]) == ("kernel", 0)
        assert entry["name"].endswith(f"_main_l{line}")
        assert entry["images"] == ["present"]
    assert [one["images"] for one in file["descriptors"]] == [[0]]
    assert file["descriptors"][0]["registered_by"] == ".omp_offloading.descriptor_reg"


@pytest.mark.parametrize("version", some_clangs(1, WITH_SNAPSHOTS))
def test_it_is_sound(folder: Path, version: str) -> None:
    path = program(version, folder)
    codes = {str(finding["code"]) for finding in findings(path)}
    # Clang 16 registers containers; unpacked clangs add their own folder to RUNPATH.
    assert codes <= ({"OMP113", "OMP115"} if version == "16" else {"OMP115"})
    codes = {str(finding["code"]) for finding in findings(without_headers(path))}
    assert "OMP122" in codes
    assert codes <= {"OMP113", "OMP115", "OMP122"}


@pytest.mark.parametrize("version", some_clangs(2, WITH_SNAPSHOTS))
def test_without_section_headers_the_same_is_found(folder: Path, version: str) -> None:
    whole, bare = (dumped(path(program(version, folder))) for path in (Path, without_headers))
    for one in (whole, bare):
        for entry in one["entries"]:
            entry.pop("symbol")
        for descriptor in one["descriptors"]:
            descriptor.pop("registered_by")
        for image in one["images"]:
            image.pop("container")
            image.pop("uri")
    assert {key: bare[key] for key in KEPT} == {key: whole[key] for key in KEPT}


@pytest.mark.parametrize(
    "flags", [["-no-pie"], ["-Wl,-z,pack-relative-relocs"], ["-shared", "-fPIC"], ["-Wl,-s"]]
)
def test_however_it_is_linked(tmp_path: Path, flags: list[str]) -> None:
    path = clang_offload(OPENMP, tmp_path / "program", OWN_LINKER, *flags)
    whole, bare = dumped(path), dumped(without_headers(path))
    assert [e["name"] for e in bare["entries"]] == [e["name"] for e in whole["entries"]]
    assert [e["images"] for e in bare["entries"]] == [["present"]] * 3
    assert [(i["triple"], i["offset"], i["size"]) for i in bare["images"]] == [
        (i["triple"], i["offset"], i["size"]) for i in whole["images"]
    ]


@pytest.mark.parametrize(
    "flags",
    [
        ["-fno-pie", "-no-pie"],
        ["-mcmodel=medium"],
        ["-mcmodel=large"],
        ["-mcmodel=large", "-fno-pie", "-no-pie"],
    ],
    ids=" ".join,
)
def test_code_models_of_clang_14(tmp_path: Path, flags: list[str]) -> None:
    """Clang 14 compiles its wrapper with the flags of the link; later clangs do not."""
    source = tmp_path / "openmp.c"
    source.write_text(OPENMP)
    path = tmp_path / "openmp"
    run(*compiler("14", source), *flags, source, "-o", path)
    for by, one in ((".omp_offloading.descriptor_reg", path), (".init_", without_headers(path))):
        file = dumped(one)
        assert [entry["images"] for entry in file["entries"]] == [["present"]] * 3
        (descriptor,) = file["descriptors"]
        assert descriptor["images"] == [0]
        assert descriptor["registered_by"].startswith(by)


@pytest.mark.parametrize("flags", [[], ["-no-pie"], ["-shared", "-fPIC"]])
def test_a_file_without_headers_and_offload_code(tmp_path: Path, flags: list[str]) -> None:
    """Small numbers before pointers are common; they do not make a descriptor."""
    source = (TESTS / "packager" / "hosts" / "like_a_descriptor.c").read_text()
    plain = compile_c(source, tmp_path / "plain", *flags)
    result = omptool("dump", without_headers(plain))
    assert (result.exit_code, result.stdout) == (0, f"{plain}.headerless: no offload code\n")


@pytest.mark.parametrize(
    ("tag", "message"),
    [
        (6, "of the dynamic segment is not in the file"),  # DT_SYMTAB
        (10, ".dynstr of 1099511627776 bytes"),  # DT_STRSZ
        (0x6FFFFEF5, "of the dynamic segment is not in the file"),  # DT_GNU_HASH
        (27, ".init_array of"),  # DT_INIT_ARRAYSZ
    ],
)
def test_a_damaged_dynamic_segment(tmp_path: Path, tag: int, message: str) -> None:
    path = without_headers(clang_offload(OPENMP, tmp_path / "program"))
    data = bytearray(path.read_bytes())
    with open_reader(path) as reader:
        (table,) = (s for s in headers.read(reader).segments if s.type == headers.PT_DYNAMIC)
    places = range(table.offset, table.offset + table.file_size, headers.DYNAMIC.size)
    (at,) = (place for place in places if headers.DYNAMIC.unpack_from(data, place)[0] == tag)
    data[at + 8 : at + 16] = (1 << 40).to_bytes(8, "little")
    path.write_bytes(data)
    result = omptool("dump", path)
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert message in line


def of_each(release: str, folder: Path, *flags: str) -> Path:
    """Build the program of OPENMP by a clang's own driver, or with -c its object."""
    source = folder / "of_each.c"
    source.write_text(OPENMP)
    name = f"of-{release}{''.join(flags)}"
    return made(folder / name, *tool(release), "-O1", *OFFLOADING[:2], *flags, source)


def abi_of(path: Path) -> str:
    return str(dumped(path)["abi"])


@pytest.mark.parametrize("release", EVERY)
def test_the_abi_is_that_of_what_is_registered(folder: Path, release: str) -> None:
    """Clang 17, 18, 20, 21 and 23 are linked here with the library of another release."""
    expected = of_release(int(release)).name
    program, host = of_each(release, folder), of_each(release, folder, "-c")
    fixed = of_each(release, folder, "-no-pie")
    files = [program, host, fixed]
    for whole in (program, fixed):
        stripped = whole.with_name(f"{whole.name}-stripped")
        run("strip", whole, "-o", stripped)
        files += [stripped, without_headers(stripped)]
    for whole in (program, host):
        silent = whole.with_name(f"{whole.name}-silent")
        run("objcopy", "-R", ".comment", whole, silent)
        files.append(silent)
    linked = folder / f"linked-{release}"
    driver = (*tool(release), "-fopenmp", f"-L{libraries(release).split(':')[-1]}")
    assert omptool("link", "--", *driver, host, "-lomptarget", "-o", linked).exit_code == 0
    files.append(linked)
    assert {path.name: abi_of(path) for path in files} == {path.name: expected for path in files}
    assert findings(program, "--select", "OMP131") == findings(host, "--select", "OMP131") == []


@pytest.mark.parametrize(("compiled", "linking"), [("16", "19"), ("21", "23"), ("22", "23")])
def test_who_links_decides(folder: Path, compiled: str, linking: str) -> None:
    host = of_each(compiled, folder, "-c")
    out = folder / f"{compiled}-by-{linking}"
    run(*tool(linking), *OFFLOADING[:2], host, "-o", out)
    assert abi_of(out) == of_release(int(linking)).name


def test_images_that_clang_23_registers(folder: Path) -> None:
    program = of_each("23", folder)
    (image,) = dumped(program)["images"]
    assert (image["container"], image["container_version"]) == ("offload-binary", 2)
    # Clang 23's driver found no device library here.
    assert {str(finding["code"]) for finding in findings(program)} <= {"OMP104"}
    (image,) = dumped(of_each("22", folder))["images"]
    assert image["container_version"] == 1
