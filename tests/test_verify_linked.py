"""`verify` on what linkers and tools do to the wrapper: merge, rename, drop, fold."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from toolchain import HOST, OPENMP, clang_offload, linked, omptool, run, stripped
from verifying import Bench, findings, found

from packager.load import load

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


def merging_script(out: Path, section: str, *emulation: str) -> Path:
    """bfd's own script, with the entries at the start of .data."""
    script = run("ld.bfd", *emulation, "--verbose").split("=" * 50)[1]
    merged = (
        f".data : {{ __start_{section} = .; KEEP(*({section})) __stop_{section} = .;"
        " *(.data .data.*) } .rest :"
    )
    changed = re.sub(r"\.data +:", merged, script, count=1)
    assert changed != script
    out.write_text(changed)
    return out


def merged(bench: Bench, name: str, *flags: str, **sources: str) -> Path:
    """A program whose section of entries is part of .data."""
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


def test_a_merged_table_of_clang(tmp_path: Path) -> None:
    script = merging_script(tmp_path / "merging.ld", "omp_offloading_entries", "-pie")
    program = clang_offload(OPENMP, tmp_path / "program", f"-Wl,-T,{script}")
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


def test_a_merged_table_that_is_no_whole_number_of_records(bench: Bench) -> None:
    object_file = bench.object("cut")
    script = merging_script(bench.folder / "cut.ld", "omptarget_entries", "-pie")
    text = script.read_text()
    script.write_text(
        text.replace("__stop_omptarget_entries = .", "__stop_omptarget_entries = . - 8")
    )
    program = linked([object_file], bench.folder / "cut", f"-Wl,-T,{script}", runtime=bench.runtime)
    assert ("OMP103", "error") in found(program)
    assert "of 64 bytes is no whole number of records" in omptool("verify", program).stdout
