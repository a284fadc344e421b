# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Wrappers as assembly and LLVM IR: every assembler and compiler makes the same object of them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import NamedTuple

import clangs
import pytest
from clangs import FULL, NEWEST
from linking import link
from places import INCLUDE, TESTS
from toolchain import NVPTX, PTX, X86_64, compile_c, omptool, run

from packager.generations import NAMES
from packager.hosts.load import load, load_all
from packager.writers.assembly import name as in_assembly
from packager.writers.llvm_ir import name as in_ir

SOURCES = TESTS / "packager" / "writers"
ABIS = ("interface", "proposal", *NAMES)
# Clang 14 writes typed pointers, which all later releases still read.
READ_BY = {"llvm-14": ("14", "16", NEWEST)}
LISTED = "first\nsecond\ntable\n"
IMAGE = b"\0\x01\x7f\x80\xff\"\\'%\n image of any bytes, of an odd number \0"


class Work(NamedTuple):
    """Texts by ABI, and the objects that they stand for."""

    folder: Path

    def file(self, abi: str, ending: str) -> Path:
        return self.folder / f"{abi}.{ending}"


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Work:
    """Provide wrappers of two images and three entries in each form."""
    folder = tmp_path_factory.mktemp("texts")
    (folder / "any").write_bytes(IMAGE)
    (folder / "kernel.ptx").write_text(PTX)
    (folder / "names").write_text(LISTED)
    images = ("--image", f"{NVPTX}:sm_70={folder}/kernel.ptx", "--image", f"own-x-y={folder}/any")
    for abi in ABIS:
        for form, ending in (("object", "o"), ("asm", "s"), ("llvm-ir", "ll")):
            words = ("--entries", folder / "names", "--abi", abi, "--format", form)
            done = omptool("emit", *images, *words, "-o", folder / f"{abi}.{ending}")
            assert done.exit_code == 0, done.output
    return Work(folder)


def contents(path: Path) -> list[object]:
    """Return the contents of an object, independent of places."""
    binary = load(path)
    table = [(e.name, e.kind, e.size, e.flags, e.symbol) for e in binary.entries]
    images = [(i.triple, i.arch, i.kind, i.container, i.is_wrapped) for i in binary.images]
    parts = [image.bytes() for loaded in load_all(path) for image in loaded.data]
    registered = [(d.images, d.registered_by) for d in binary.descriptors]
    calls = sorted(binary.imports)
    return [binary.abi, table, images, parts, registered, calls]


@pytest.mark.parametrize("abi", ABIS)
def test_assemblers_make_the_object_of_it(work: Work, tmp_path: Path, abi: str) -> None:
    expected = contents(work.file(abi, "o"))
    assemblers = (["as"], *([*clangs.tool(version), "-c"] for version in ("14", NEWEST)))
    for number, assembler in enumerate(assemblers):
        out = tmp_path / f"{number}.o"
        run(*assembler, work.file(abi, "s"), "-o", out)
        assert contents(out) == expected


@pytest.mark.parametrize("abi", ABIS)
def test_compilers_make_the_object_of_it(work: Work, tmp_path: Path, abi: str) -> None:
    expected = contents(work.file(abi, "o"))
    for version in READ_BY.get(abi, FULL[1:]):
        out = tmp_path / f"{version}.o"
        words = ("-Werror", f"--target={X86_64}", "-O1", "-c", work.file(abi, "ll"), "-o", out)
        run(*clangs.tool(version), *words)
        assert contents(out) == expected


def test_opaque_pointers_are_not_for_clang_14(work: Work, tmp_path: Path) -> None:
    command = [*clangs.tool("14"), "-c", str(work.file("llvm-16", "ll")), "-o", str(tmp_path / "o")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "ptr type is only supported in -opaque-pointers mode" in done.stderr


def test_sections_of_assembly_are_those_of_the_object(work: Work, tmp_path: Path) -> None:
    """But for the flag of large data."""
    run("as", work.file("llvm-16", "s"), "-o", tmp_path / "o.o")
    ours, theirs = (
        {
            line.split()[0]: line.split()[1:]
            for line in run("objdump", "-hw", path).splitlines()
            if line.strip()[:1].isdigit() and ".note.GNU" not in line
        }
        for path in (work.file("llvm-16", "o"), tmp_path / "o.o")
    )
    sizes = [{row[0]: row[1] for row in table.values()} for table in (ours, theirs)]
    assert {".text", ".data", ".bss"} >= set(sizes[1]) - set(sizes[0])
    assert sizes[0].items() <= sizes[1].items()


@pytest.mark.parametrize("form", ["asm", "llvm-ir"])
def test_a_host_registers_what_was_text(tmp_path: Path, form: str) -> None:
    """The recorder prints its arguments: images byte for byte, before any constructor."""
    (tmp_path / "one").write_bytes(b"first image")
    (tmp_path / "recorder.map").write_text("OMPTARGET_4.5 { global: *; };\n")
    flags = ("-shared", "-fPIC", f"-Wl,--version-script={tmp_path}/recorder.map")
    compile_c((SOURCES / "recorder.c").read_text(), tmp_path / "librecorder.so", *flags)
    host = compile_c((SOURCES / "host.c").read_text(), tmp_path / "host.o", "-c", f"-I{INCLUDE}")
    text = tmp_path / ("w.s" if form == "asm" else "w.ll")
    words = ("emit", "--format", form, "--image", f"own-x-y={tmp_path}/one", "-o", text)
    assert omptool(*words).exit_code == 0
    run("clang-19", "-c", text, "-o", tmp_path / "w.o")
    libraries = (f"-L{tmp_path}", "-lrecorder", f"-Wl,-rpath,{tmp_path}", "-Wl,--gc-sections")
    said = run(link(tmp_path / "app", host, tmp_path / "w.o", flags=libraries))
    assert said == (
        "register 1 images, 3 entries: kernel_one/0 table/16 kernel_two/0 [first image]\n"
        "host constructor\nmain 3\nunregister 1\n"
    )


@pytest.mark.parametrize(
    ("text", "assembly", "ir"),
    [
        ("_ZN1a1bEv", "_ZN1a1bEv", '@"_ZN1a1bEv"'),
        ("9", '"9"', '@"9"'),
        ('a"b\\', '"a\\"b\\\\"', '@"a\\22b\\5C"'),
        (".omptool.image.x+y", '".omptool.image.x+y"', '@".omptool.image.x+y"'),
        ("é", '"é"', '@"\\C3\\A9"'),
    ],
)
def test_names(text: str, assembly: str, ir: str) -> None:
    assert (in_assembly(text), in_ir(text)) == (assembly, ir)


@pytest.mark.parametrize(
    "form",
    ["object", "asm", "llvm-ir", "offload-binary", "offload-bundle", "compressed-bundle"],
)
def test_the_same_bytes_elsewhere(work: Work, tmp_path: Path, form: str) -> None:
    """The text contains no place or time of its creation."""
    made = []
    for number, name in enumerate(("a", "another folder")):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "k.ptx").write_text(PTX)
        os.utime(folder / "k.ptx", (number, number))
        image = f"{NVPTX}:sm_70={folder}/k.ptx"
        done = omptool("emit", "--format", form, "--image", image, "-o", folder / "out")
        assert done.exit_code == 0, done.output
        made.append((folder / "out").read_bytes())
    assert made[0] == made[1]
