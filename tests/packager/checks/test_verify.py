# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool verify`: every fault is named with its code, and a sound file is not cried about."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from places import DATA
from toolchain import (
    HOST,
    MAIN,
    NVPTX,
    OPENMP,
    PTX,
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
from verifying import Bench, findings, found

from packager.checks import CHECKS
from packager.hosts.load import load

CODES = (
    *(f"OMP{number}" for number in range(101, 128)),
    "OMP130",
    "OMP131",
    "OMP132",
    "OMP133",
    "OMP134",
    "OMP135",
    "OMP136",
)
LINK_FLAGS = {
    "pie": ("-pie",),
    "relr": ("-pie", "-Wl,-z,pack-relative-relocs"),
    "no-pie": ("-no-pie",),
    "shared": ("-shared",),
    "gold": ("-fuse-ld=gold",),
}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("verify"))


@pytest.fixture(scope="module")
def sound(bench: Bench) -> Path:
    return bench.program("sound")


@pytest.mark.parametrize("flags", LINK_FLAGS.values(), ids=LINK_FLAGS)
@pytest.mark.parametrize("strip", [False, True], ids=["", "stripped"])
def test_a_sound_program_has_no_findings(bench: Bench, flags: tuple[str, ...], strip: bool) -> None:
    program = bench.program(f"sound{''.join(flags)}".replace("/", ""), *flags)
    path = stripped(program) if strip else program
    result = omptool("verify", "--ignore", "OMP116", path)
    assert result.exit_code == 0
    assert "no findings (2 images, 3 entries; checked OMP101" in result.stdout


def test_a_sound_object_has_no_findings(bench: Bench) -> None:
    assert findings(bench.object("sound-object")) == []


def swap(text: str) -> str:
    return (
        text.replace("KERNEL(first)", "KERNEL(X)")
        .replace("(second);", "(first);")
        .replace("KERNEL(X)", "KERNEL(second)")
    )


FAULTS = {
    "swapped": ({"device": swap(HOST)}, {("OMP106", "warning")}, "first in the host, second in"),
    "swapped-and-dropped": (
        {"device": swap(HOST).replace("OMPTARGET_GLOBAL(table);", "")},
        {("OMP105", "error"), ("OMP106", "error")},
        "first in the host, second in",
    ),
    "swapped-ptx": (
        {"ptx": re.sub(r"first|second", lambda m: {"first": "second"}.get(m[0], "first"), PTX)},
        {("OMP106", "warning")},
        "image 1",
    ),
    "dropped": (
        {"device": HOST.replace("OMPTARGET_KERNEL(first);", "").replace("first", "frist")},
        {("OMP105", "error")},
        "kernel first is missing in image 0 (x86_64-pc-linux-gnu)",
    ),
    "unlisted": (
        {"device": HOST.replace("OMPTARGET_KERNEL(first);", "")},
        {("OMP105", "error")},
        "kernel first is missing",
    ),
    "dropped-ptx": (
        {"ptx": PTX.replace("first", "firts")},
        {("OMP105", "error"), ("OMP107", "warning")},
        "kernel first is missing in image 1",
    ),
    "size-device": (
        {"device": HOST.replace("table[4]", "table[8]")},
        {("OMP109", "error")},
        "global table has 32 bytes in the host, 64 in image 0",
    ),
    "size-host": (
        {"host": HOST.replace("table[4]", "table[3]")},
        {("OMP109", "error")},
        "has 24 bytes in the host, 32 in image 1",
    ),
    "size-of-symbol": (
        {"device": HOST.replace("OMPTARGET_GLOBAL(table)", 'OMPTARGET_ENTRY("table", table, 40)')},
        {("OMP109", "error")},
        "32 bytes in the host, 32 and 40 in image 0",
    ),
    "kind": (
        {"device": HOST.replace("long table[4];", "void table(void) {}").replace(
            "OMPTARGET_GLOBAL(table)", "OMPTARGET_KERNEL(table)")},
        {("OMP109", "error")},
        "table is a global in the host and a kernel in image 0",
    ),
    "duplicate-device": (
        {"device": HOST + "\nOMPTARGET_KERNEL(first);\n"},
        {("OMP108", "error")},
        "first is listed 2 times in the table of image 0",
    ),
    "duplicate-host": (
        {"host": HOST + "\nOMPTARGET_KERNEL(first);\n"},
        {("OMP108", "error")},
        "first is listed 2 times in the host's table",
    ),
    "extra": (
        {"device": HOST + "\nvoid third(void) {}\nOMPTARGET_KERNEL(third);\n"},
        {("OMP107", "warning")},
        "kernel third of image 0",
    ),
    "exported-helper": ({"device": HOST + "\nvoid helper(void) {}\n"}, set(), ""),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize("strip", [False, True], ids=["", "stripped"])
def test_a_fault_in_a_program_that_links_is_named(bench: Bench, name: str, strip: bool) -> None:
    sources, expected, message = FAULTS[name]
    program = bench.program(name, **sources)
    program = stripped(program) if strip else program
    assert found(program) == expected
    assert message in " ".join(str(finding["message"]) for finding in findings(program))


def test_a_missing_entry_does_not_displace_those_after_it(bench: Bench) -> None:
    program = bench.program("hole", device=HOST.replace("OMPTARGET_GLOBAL(table);", ""))
    assert found(program) == {("OMP105", "error")}


def test_near_names_are_listed(bench: Bench) -> None:
    device = HOST.replace("first", "first_v2")
    (finding,) = [
        finding
        for finding in findings(bench.program("renamed", device=device))
        if finding["code"] == "OMP105"
    ]
    assert finding["hint"] == "the image has first_v2"
    assert (finding["entry"], finding["image"]) == (1, 0)


def test_strict_makes_warnings_count(bench: Bench) -> None:
    sources, _, _ = FAULTS["extra"]
    program = bench.program("strict", **sources)
    assert omptool("verify", program).exit_code == 0
    assert omptool("verify", "--strict", program).exit_code == 1


def test_order_is_shown_side_by_side(bench: Bench) -> None:
    sources, _, _ = FAULTS["swapped"]
    text = omptool("verify", bench.program("side-by-side", **sources)).stdout
    lines = [line.split() for line in text.splitlines()]
    assert ["0", "table", "table"] in lines
    assert ["1", "!first", "second"] in lines
    assert ["2", "!second", "first"] in lines


def test_select_and_ignore(bench: Bench) -> None:
    sources, _, _ = FAULTS["dropped-ptx"]
    program = bench.program("selected", **sources)
    assert [f["code"] for f in findings(program, "--select", "OMP107")] == ["OMP107"]
    assert [f["code"] for f in findings(program, "--ignore", "OMP105,OMP107,OMP116")] == []
    assert omptool("verify", "--select", "OMP999", program).exit_code == 2


@pytest.mark.parametrize("option", ["--select", "--ignore"])
@pytest.mark.parametrize("codes", ["", ",", " , "])
def test_a_list_without_any_code_is_wrong_usage(sound: Path, option: str, codes: str) -> None:
    result = omptool("verify", option, codes, sound)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"{option} {codes!r} names no check" in result.stderr


def test_every_check_ignored_is_said(sound: Path) -> None:
    result = omptool("verify", "--ignore", ",".join(CODES), sound)
    assert result.exit_code == 0
    assert "checked nothing" in result.stdout


class TestRegistration:
    """OMP101 and OMP103."""

    def test_entries_without_a_descriptor(self, bench: Bench) -> None:
        plain = compile_c(HOST + MAIN, bench.folder / "unbundled.o", "-c")
        program = linked([plain], bench.folder / "unbundled", runtime=bench.runtime)
        assert found(program) == {("OMP101", "error")}
        assert "3 entries in omptarget_entries" in omptool("verify", program).stdout

    def test_an_object_before_bundling_is_no_error(self, bench: Bench) -> None:
        plain = compile_c(HOST + MAIN, bench.folder / "early.o", "-c")
        assert found(plain) == {("OMP101", "info")}

    def test_a_descriptor_that_nothing_registers(self, bench: Bench, sound: Path) -> None:
        program = bench.folder / "unregistered"
        shutil.copy(sound, program)
        data = bytearray(program.read_bytes())
        section, other = section_of(program, ".init_array"), section_of(program, ".fini")
        edit_relocations(program, data, section, lambda addend: other["address"])
        program.write_bytes(data)
        assert ("OMP101", "warning") in found(program)

    def test_two_bundled_objects_share_one_table(self, bench: Bench) -> None:
        other = re.sub(r"\b(first|second|table)\b", r"other_\1", HOST)
        one = bench.object("one")
        plain = compile_c(other, bench.folder / "other.o", "-c", "-fPIC")
        image = device_image(other, bench.folder / "other.so")
        two = bundled(plain, bench.folder / "other-bundled.o", {X86_64: image})
        text = PTX.replace("first", "other_first").replace("second", "other_second")
        text = text.replace("table", "other_table")
        ptx = bench.folder / "other.ptx"
        ptx.write_text(text)
        two = bundled(plain, two, {X86_64: image, f"{NVPTX}:sm_70": ptx})
        program = linked([one, two], bench.folder / "both", runtime=bench.runtime)
        assert len(load(program).descriptors) == 2
        assert findings(program) == []
        assert findings(stripped(program)) == []

    @pytest.mark.parametrize("bound", [16, 24], ids=["begin", "end"])
    def test_a_descriptor_that_spans_other_than_the_section(
        self, bench: Bench, sound: Path, bound: int
    ) -> None:
        program = bench.folder / f"range-{bound}"
        shutil.copy(sound, program)
        (descriptor,) = load(program).descriptors
        data = bytearray(program.read_bytes())
        step = 24 if bound == 16 else -24
        edit_relocation(program, data, (descriptor.address or 0) + bound, step)
        program.write_bytes(data)
        assert found(program) == {("OMP103", "error")}
        assert ": 2 of the 3 entries of omptarget_entries" in omptool("verify", program).stdout


def section_of(path: Path, name: str) -> dict[str, int]:
    """Return where a section is, by pyelftools."""
    from elftools.elf.elffile import ELFFile

    with path.open("rb") as file:
        section = ELFFile(file).get_section_by_name(name)
        assert section
        return {
            "offset": section["sh_offset"],
            "size": section["sh_size"],
            "address": section["sh_addr"],
        }


def edit_relocation(path: Path, data: bytearray, place: int, step: int) -> None:
    """Add `step` to the addend of the relocation of `place`."""
    section = {"address": place, "size": 8}
    edit_relocations(path, data, section, lambda addend: addend + step)


def edit_relocations(
    path: Path, data: bytearray, section: dict[str, int], change: Callable[[int], int]
) -> None:
    """Change the addends of all relocations in a section."""
    table = section_of(path, ".rela.dyn")
    changed = 0
    for at in range(table["offset"], table["offset"] + table["size"], 24):
        place = int.from_bytes(data[at : at + 8], "little")
        if section["address"] <= place < section["address"] + section["size"]:
            addend = change(int.from_bytes(data[at + 16 : at + 24], "little"))
            data[at + 16 : at + 24] = addend.to_bytes(8, "little")
            changed += 1
    assert changed


class TestImages:
    """OMP110: bytes of images against their declarations."""

    @pytest.mark.parametrize(
        ("target", "message"),
        [
            pytest.param("aarch64-unknown-linux-gnu", "holds x86_64 code", id="other-cpu"),
            pytest.param(f"{NVPTX}:sm_70", "holds x86_64 code", id="not-a-gpu"),
        ],
    )
    def test_another_machine(self, bench: Bench, target: str, message: str) -> None:
        plain = compile_c(HOST + MAIN, bench.folder / "machine.o", "-c")
        image = device_image(HOST, bench.folder / "machine.so")
        out = bundled(plain, bench.folder / "machine-bundled.o", {target: image})
        assert found(out) == {("OMP110", "error")}
        assert message in omptool("verify", out).stdout

    @pytest.mark.parametrize(
        ("declared", "severity"), [("sm_60", "error"), ("sm_80", "warning"), ("sm_70", None)]
    )
    def test_another_arch(self, bench: Bench, declared: str, severity: str | None) -> None:
        plain = compile_c(HOST + MAIN, bench.folder / "arch.o", "-c")
        ptx = bench.folder / "arch.ptx"
        ptx.write_text(PTX)
        out = bundled(plain, bench.folder / "arch-bundled.o", {f"{NVPTX}:{declared}": ptx})
        assert found(out) == ({("OMP110", severity)} if severity else set())

    def test_another_kind(self, bench: Bench, tmp_path: Path) -> None:
        image = device_image(HOST, tmp_path / "image.bc")  # the suffix is what the packager goes by
        out = tmp_path / "packed"
        run("clang-offload-packager-19", "-o", out, f"--image=file={image},triple={X86_64}")
        assert found(out) == {("OMP110", "error")}
        assert "declared as bitcode but holds elf" in omptool("verify", out).stdout

    @pytest.mark.parametrize(
        ("flags", "form"),
        [
            pytest.param(("-c",), "a relocatable object", id="object"),
            pytest.param(("-pie", "-fPIE"), "an executable", id="pie"),
            pytest.param(("-no-pie",), "an executable", id="no-pie"),
            pytest.param(("-static",), "an executable", id="static"),
        ],
    )
    def test_no_shared_object(self, bench: Bench, flags: tuple[str, ...], form: str) -> None:
        plain = compile_c(HOST + MAIN, bench.folder / "form.o", "-c", "-fPIC")
        source = HOST + "int main(void) { return 0; }"
        exported = () if "-c" in flags else ("-rdynamic",)
        image = compile_c(source, bench.folder / f"form{flags[0]}", *flags, *exported)
        out = bundled(plain, bench.folder / "form-bundled.o", {X86_64: image})
        program = linked([out], bench.folder / "form-program", runtime=bench.runtime)
        for path in (out, program):
            assert ("OMP110", "error") in found(path)
            expected = f"image 0 ({X86_64}) is {form}, which no plugin can load"
            assert expected in omptool("verify", path).stdout

    @pytest.mark.parametrize("size", [0, 40, 1000, -1])
    def test_truncated(self, tmp_path: Path, size: int) -> None:
        image = device_image(HOST, tmp_path / "whole.so")
        cut = tmp_path / "cut.so"
        cut.write_bytes(image.read_bytes()[:size])
        out = tmp_path / "packed"
        run("clang-offload-packager-19", "-o", out, f"--image=file={cut},triple={X86_64}")
        assert found(out) == {("OMP110", "error")}


@pytest.mark.slow
def test_clang_programs_have_no_findings(tmp_path: Path) -> None:
    program = clang_offload(OPENMP, tmp_path / "program")
    for path in (program, stripped(program)):
        assert findings(path) == []
    library = clang_offload(OPENMP, tmp_path / "library.so", "-shared", "-fPIC")
    assert findings(library) == []
    assert found(clang_offload(OPENMP, tmp_path / "program.o", "-c")) == {("OMP101", "info")}


@pytest.mark.slow
def test_order_is_information_where_names_pair(tmp_path: Path) -> None:
    """Two regions, the names of the host's changed for each other: by name they still pair."""
    program = clang_offload(OPENMP, tmp_path / "program")
    binary = load(program)
    kernels = [entry for entry in binary.entries if entry.kind == "kernel"]
    data = bytearray(program.read_bytes())
    one, other = (entry.offset + 8 for entry in kernels if entry.offset is not None)
    places = [(binary.tables[0].address or 0) + at - binary.tables[0].offset for at in (one, other)]
    swap_relocations(program, data, *places)
    program.write_bytes(data)
    assert found(program) == {("OMP106", "info")}


def swap_relocations(path: Path, data: bytearray, one: int, other: int) -> None:
    """Exchange the addends of two relocations."""
    table = section_of(path, ".rela.dyn")
    rows = {
        int.from_bytes(data[at : at + 8], "little"): at
        for at in range(table["offset"], table["offset"] + table["size"], 24)
    }
    left, right = (slice(rows[place] + 16, rows[place] + 24) for place in (one, other))
    data[left], data[right] = data[right], data[left]


def test_an_image_that_cannot_be_looked_into_is_said(bench: Bench) -> None:
    """NVVM code is bitcode in a form of NVIDIA's own."""
    plain = compile_c("int x;", bench.folder / "opaque.o", "-c")
    code = DATA / "lto-none.fatbin"
    out = bench.folder / "opaque-section.o"
    run("objcopy", "--add-section", f".nv_fatbin={code}", plain, out)
    assert [f for f in findings(out) if f["severity"] == "error"] == []
    assert "image 0 is bitcode, whose symbols verify does not read" in omptool("verify", out).stdout


def test_no_offload_code(bench: Bench) -> None:
    plain = compile_c("int main(void) { return 0; }", bench.folder / "empty-program")
    result = omptool("verify", plain)
    assert (result.exit_code, result.stdout) == (0, f"{plain}: no offload code\n")


def test_goes_on_after_a_bad_file(bench: Bench, sound: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad"
    bad.write_text("no ELF file\n")
    result = omptool("verify", "--ignore", "OMP116", bad, tmp_path, tmp_path / "absent", sound)
    assert result.exit_code == 2
    assert f"Error: {bad}: is neither an ELF file" in result.stderr
    assert f"Error: {tmp_path}: is a directory" in result.stderr
    assert f"Error: {tmp_path / 'absent'}: No such file" in result.stderr
    assert f"{sound}: no findings" in result.stdout


@pytest.mark.parametrize("code", CODES)
def test_every_code_is_explained(code: str) -> None:
    result = omptool("verify", "--explain", code)
    assert result.exit_code == 0
    assert result.stdout.startswith(f"{code}: ")
    assert "Cure: " in result.stdout


def test_a_bare_image_with_a_duplicate(tmp_path: Path) -> None:
    image = device_image(HOST + "\nOMPTARGET_KERNEL(first);\n", tmp_path / "image.so")
    assert found(image) == {("OMP108", "error")}
    assert findings(device_image(HOST, tmp_path / "sound.so")) == []


def test_codes() -> None:
    assert tuple(CHECKS) == CODES
    assert omptool("verify", "--explain", "OMP000").exit_code == 2
    assert omptool("verify").exit_code == 2
