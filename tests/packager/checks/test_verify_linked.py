# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`verify` on what linkers and tools do to the wrapper: merge, rename, drop, fold."""

from __future__ import annotations

from pathlib import Path

import pytest
from linking import OWN_LINKER, link
from places import TESTS
from toolchain import (
    HOST,
    MAIN,
    OPENMP,
    X86_64,
    bundled,
    clang_offload,
    compile_c,
    device_image,
    linked,
    omptool,
    run,
    stripped,
)
from verifying import Bench, findings, found, merging_script

from omptool.installation import libdir
from packager.hosts.load import load

FAULTS = {
    "dropped": ({"device": HOST.replace("first", "frist")}, "OMP105", "kernel first is missing"),
    "duplicate": (
        {"host": HOST + "\nOMPTARGET_KERNEL(first);\n"},
        "OMP108",
        "first is listed 2 times in the host's table",
    ),
    "size": (
        {"device": HOST.replace("table[4]", "table[8]")},
        "OMP109",
        "global table has 32 bytes in the host, 64 in image 0",
    ),
}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("linked"))


def merged(bench: Bench, name: str, *flags: str, **sources: str) -> Path:
    """Link a program whose section of entries is part of .data."""
    script = merging_script(bench.folder / f"{name}.ld", "omptarget_entries", *flags)
    return bench.program(name, *flags, "-Wl,-T," + str(script), **sources)


@pytest.mark.parametrize("flag", ["-pie", "-no-pie", "-shared"])
def test_entries_in_a_section_that_a_linker_script_merged(bench: Bench, flag: str) -> None:
    program = merged(bench, f"merged{flag}", flag)
    assert "omptarget_entries" not in run("readelf", "-SW", program)
    for path in (program, stripped(program)):
        assert findings(path) == []
        (table,) = load(path).tables
        assert (table.section, table.abi, table.images) == (None, "interface", (0, 1))
        assert [entry.name for entry in table.entries] == ["table", "first", "second"]


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_in_a_merged_table_is_named(bench: Bench, name: str) -> None:
    sources, code, message = FAULTS[name]
    program = merged(bench, f"merged-{name}", "-pie", **sources)
    assert (code, "error") in found(program)
    assert message in omptool("verify", program).stdout


@pytest.mark.slow
def test_a_merged_table_of_clang(tmp_path: Path) -> None:
    script = merging_script(tmp_path / "merging.ld", "omp_offloading_entries", "-pie")
    program = clang_offload(OPENMP, tmp_path / "program", OWN_LINKER, f"-Wl,-T,{script}")
    for path in (program, stripped(program)):
        assert findings(path) == []
        (table,) = load(path).tables
        assert (table.section, table.abi, table.images) == (None, "llvm-19", (0,))
        assert [entry.kind for entry in table.entries] == ["global", "kernel", "kernel"]


@pytest.mark.parametrize("flag", ["-pie", "-no-pie"])
def test_a_section_of_entries_that_was_renamed(bench: Bench, flag: str) -> None:
    program = bench.program(f"named{flag}", flag)
    out = program.with_name(program.name + "-renamed")
    run("objcopy", "--rename-section", "omptarget_entries=other", program, out)
    assert findings(out) == []
    assert [entry.name for entry in load(out).entries] == ["table", "first", "second"]


@pytest.mark.parametrize("flag", ["-pie", "-no-pie"])
def test_a_section_of_entries_that_was_removed(bench: Bench, flag: str) -> None:
    program = bench.program(f"whole{flag}", flag)
    out = program.with_name(program.name + "-removed")
    run("objcopy", "-R", "omptarget_entries", program, out)
    assert found(out) == {("OMP103", "error")}
    assert "which is not in the file" in omptool("verify", out).stdout


FOLDABLE = HOST.replace("*(int *)p = 2", "*(int *)p = 1")  # both kernels have the same code


@pytest.mark.parametrize("linker", ["lld", "gold", "mold"])
@pytest.mark.parametrize("icf", ["all", "none"])
def test_host_versions_that_the_linker_folded(
    tmp_path: Path, bench: Bench, linker: str, icf: str
) -> None:
    plain = compile_c(FOLDABLE + MAIN, tmp_path / "host.o", "-c", "-fPIC", "-ffunction-sections")
    image = device_image(HOST, tmp_path / "image.so")
    out = bundled(plain, tmp_path / "bundled.o", {X86_64: image})
    assert findings(out) == []
    program = link(
        tmp_path / "program",
        out,
        linker=linker,
        flags=(f"-Wl,--icf={icf}", f"-L{libdir()}", "-lomptarget"),
    )
    for path in (program, stripped(program)):
        assert found(path) == ({("OMP130", "error")} if icf == "all" else set())
    if icf == "all":
        text = omptool("verify", program).stdout
        assert "kernels first, second share one host address (0x" in text


@pytest.mark.parametrize("defined", [True, False], ids=["defined", "undefined"])
def test_two_names_for_one_function_in_an_object(tmp_path: Path, defined: bool) -> None:
    source = (TESTS / "packager" / "checks" / "two_names.c").read_text()
    flags = ("-c", "-DDEFINED") if defined else ("-c",)
    assert found(compile_c(source, tmp_path / "two.o", *flags)) == {("OMP101", "info")}
    three = compile_c(source, tmp_path / "three.o", *flags, "-DAGAIN")
    assert found(three) == {("OMP101", "info"), ("OMP130", "error")}
    expected = "kernels first, again share one host address (first):"
    assert expected in omptool("verify", three).stdout


def test_a_relocatable_link_that_drops_the_symbol_version(bench: Bench) -> None:
    """The object may be linked with any linker; none can know the version."""
    for linker, expected in (("ld.bfd", set()), ("mold", {("OMP101", "error")})):
        out = bench.folder / f"relocatable-{linker}.o"
        run(linker, "-r", bench.object("relocatable"), "-o", out)
        assert found(out) == expected
        program = linked([out], bench.folder / f"from-{linker}", runtime=bench.runtime)
        # The stand-in for the runtime has only one version, to which the linker binds.
        assert findings(program) == []
        flags = (f"-L{libdir()}", "-lomptarget")
        program = link(bench.folder / f"from-{linker}", out, flags=flags)
        for path in (program, stripped(program)):
            assert found(path) == expected
            assert ("has lost its symbol version" in omptool("verify", path).stdout) == bool(
                expected
            )


def test_regions_of_clang_do_not_fold(tmp_path: Path) -> None:
    flags = ("-fuse-ld=lld", "-Wl,--icf=all", "-ffunction-sections", "-fdata-sections")
    assert findings(clang_offload(OPENMP, tmp_path / "program", *flags)) == []
    assert found(clang_offload(OPENMP, tmp_path / "program.o", "-c")) == {("OMP101", "info")}


def test_a_merged_table_that_is_no_whole_number_of_records(bench: Bench) -> None:
    object_file = bench.object("cut")
    script = merging_script(bench.folder / "cut.ld", "omptarget_entries", "-pie")
    text = script.read_text()
    script.write_text(
        text.replace("__stop_omptarget_entries = .", "__stop_omptarget_entries = . - 8")
    )
    program = linked([object_file], bench.folder / "cut", f"-Wl,-T,{script}", runtime=bench.runtime)
    assert ("OMP103", "error") in found(program)
    assert "of 64 bytes is not a whole number of records" in omptool("verify", program).stdout
