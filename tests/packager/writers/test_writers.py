# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The wrapper object: every linker accepts it, it registers, and other code stays the same."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from linking import LINKERS, link
from places import INCLUDE, TESTS

from packager.files.reader import OpenFiles
from packager.host_machines import X86_64
from packager.layouts import ENTRIES_SECTION, WRITTEN
from packager.writers.host_object import blank_host, read_host
from packager.writers.object_writer import write_object
from packager.writers.wrapper import EntryInput, ImageInput, build

SOURCES = TESTS / "packager" / "writers"

EXPECTED = (
    "register 2 images, 3 entries: kernel_one/0 table/16 kernel_two/0 [first image] [second]\n"
    "host constructor\nmain 3\nunregister 2\n"
)


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide a folder with the recorder library, two images and hosts by three compilers."""
    folder = tmp_path_factory.mktemp("writers")
    (folder / "one.img").write_bytes(b"first image")
    (folder / "two.img").write_bytes(b"second")
    (folder / "recorder.map").write_text("OMPTARGET_4.5 { global: *; };\n")
    shared = ["-shared", "-fPIC", f"-I{INCLUDE}", f"-Wl,--version-script={folder}/recorder.map"]
    run("gcc", *shared, SOURCES / "recorder.c", "-o", folder / "librecorder.so")
    flags = ["-O1", "-g", "-ffunction-sections", "-fdata-sections", f"-I{INCLUDE}", "-c"]
    run("gcc", *flags, SOURCES / "host.c", "-o", folder / "gcc.o")
    run("clang-19", *flags, "-faddrsig", SOURCES / "host.c", "-o", folder / "clang.o")
    run("g++", *flags, SOURCES / "host.cpp", "-o", folder / "g++.o")
    run("gcc", "-fPIC", *flags, SOURCES / "other.c", "-o", folder / "other.o")
    return folder


def run(*command: object) -> str:
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def wrap(work: Path, host: str | None, out: Path, entries: list[EntryInput] | None = None) -> Path:
    with OpenFiles() as files, out.open("wb") as file:
        images = [
            ImageInput(work / name, triple, arch, "elf", files.data(work / name))
            for name, triple, arch in (
                ("one.img", "x86_64-pc-linux-gnu", ""),
                ("two.img", "amdgcn-amd-amdhsa", "gfx90a:xnack+"),
            )
        ]
        wrapper = build(images, entries, WRITTEN["interface"], X86_64, alone=host is None)
        base = read_host(files.data(work / host)) if host else blank_host(X86_64)
        write_object(file, base, wrapper.sections, wrapper.symbols, {ENTRIES_SECTION})
    return out


def linked(
    work: Path, out: Path, *objects: Path, linker: str = "bfd", flags: tuple[str, ...] = ()
) -> str:
    """Return the output of the linked program."""
    libraries = (f"-L{work}", "-lrecorder", f"-Wl,-rpath,{work}", "-lstdc++")
    return run(link(out, *objects, linker=linker, flags=libraries + flags))


@pytest.mark.parametrize("linker", LINKERS)
@pytest.mark.parametrize("host", ["gcc.o", "clang.o", "g++.o"])
@pytest.mark.parametrize("mode", ["-pie", "-no-pie"])
def test_bundled_host_registers_before_its_constructors(
    work: Path, tmp_path: Path, linker: str, host: str, mode: str
) -> None:
    bundled = wrap(work, host, tmp_path / "bundled.o")
    flags = (mode, "-Wl,--gc-sections")
    assert linked(work, tmp_path / "app", bundled, linker=linker, flags=flags) == EXPECTED


@pytest.mark.parametrize("host", ["gcc.o", "clang.o", "g++.o"])
def test_host_code_and_symbols_are_untouched(work: Path, tmp_path: Path, host: str) -> None:
    bundled = wrap(work, host, tmp_path / "bundled.o")
    before, after = (run("nm", "-a", file).splitlines() for file in (work / host, bundled))
    assert set(before) <= set(after)
    dumps = [
        run("objdump", "-dr", "-j.text.main", "-j.text.kernel_two", file)
        for file in (work / host, bundled)
    ]
    assert dumps[0].split("\n", 3)[3] == dumps[1].split("\n", 3)[3]
    groups = [run("readelf", "-gW", file) for file in (work / host, bundled)]
    assert groups[0] == groups[1]
    assert not run("readelf", "-aW", bundled).count("Warning")


def test_symbols_of_address_significance_table_keep_their_names(work: Path, tmp_path: Path) -> None:
    bundled = wrap(work, "clang.o", tmp_path / "bundled.o")
    before, after = (
        run("llvm-readobj-19", "--addrsig", file) for file in (work / "clang.o", bundled)
    )
    names = [
        [line.split(" (")[0] for line in text.splitlines() if "Sym:" in line]
        for text in (before, after)
    ]
    assert names[0] == names[1] != []


def test_two_bundled_objects_register_both(work: Path, tmp_path: Path) -> None:
    objects = [wrap(work, host, tmp_path / host) for host in ("gcc.o", "other.o")]
    output = linked(work, tmp_path / "app", *objects)
    assert output.count("register 2 images, 4 entries") == 2


def test_shared_library_spans_its_own_table(work: Path, tmp_path: Path) -> None:
    library = wrap(work, "other.o", tmp_path / "lib.o")
    shared = link(tmp_path / "libother.so", library, flags=("-shared", f"-L{work}", "-lrecorder"))
    app = wrap(work, "gcc.o", tmp_path / "app.o")
    output = linked(work, tmp_path / "app", app, shared, flags=(f"-Wl,-rpath,{tmp_path}",))
    assert "register 2 images, 1 entries: other/0" in output
    assert "register 2 images, 3 entries: kernel_one/0" in output


@pytest.mark.parametrize("linker", LINKERS)
def test_emitted_object_takes_the_entries_of_its_neighbours(
    work: Path, tmp_path: Path, linker: str
) -> None:
    wrapper = wrap(work, None, tmp_path / "wrapper.o", [])
    assert linked(work, tmp_path / "app", work / "gcc.o", wrapper, linker=linker) == EXPECTED


def test_emitted_entries_refer_to_host_symbols(work: Path, tmp_path: Path) -> None:
    run("gcc", "-c", SOURCES / "plain.c", "-o", tmp_path / "plain.o")
    wrapper = wrap(work, None, tmp_path / "wrapper.o", [EntryInput("f", 0), EntryInput("g", 12)])
    output = linked(work, tmp_path / "app", tmp_path / "plain.o", wrapper)
    assert output.startswith("register 2 images, 2 entries: f/0 g/12 [")


def test_same_input_gives_same_bytes(work: Path, tmp_path: Path) -> None:
    first, second = (wrap(work, "g++.o", tmp_path / name).read_bytes() for name in ("a.o", "b.o"))
    assert first == second


def test_offload_binary_is_what_llvm_reads(work: Path, tmp_path: Path) -> None:
    bundled = wrap(work, "gcc.o", tmp_path / "bundled.o")
    section = ".omptool.image.amdgcn-amd-amdhsa.gfx90a:xnack+"
    run("llvm-objcopy-19", f"--dump-section={section}={tmp_path}/blob", bundled, "/dev/null")
    assert "triple          amdgcn-amd-amdhsa" in run(
        "llvm-objdump-19", "--offloading", tmp_path / "blob"
    )
