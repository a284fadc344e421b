# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool link`: programs of each clang by each kind of link, started commands, and leftovers."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import running
from clangs import FULL, INSTALLED, NEWEST, PACKAGED, libraries, made, own_runtime, tool
from documents import dumped, dumped_images
from fixture_programs import NVPTX, OMPTOOL, X86_64, call
from linked_programs import (
    DEVICES,
    GPU,
    PRINTED,
    SOURCES,
    TWO_TARGETS,
    compiled,
    driver,
    linked,
    printed,
    program,
)
from linking import FAST_LINKER, LLD_FOLDER, needs_gold
from toolchain import omptool

from omptool.installation import libdir


@pytest.mark.slow
@pytest.mark.parametrize("version", FULL)
def test_each_clangs_objects_run_on_its_runtime_and_ours(version: str, tmp_path: Path) -> None:
    objects = program(tmp_path, version=version)
    search = own_runtime(version)
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    linked(ours, *driver(version), *objects)
    assert printed(ours, LD_LIBRARY_PATH=search) == PRINTED
    linked(theirs, *driver(version), *objects, "-lomptarget")
    assert printed(theirs, LD_LIBRARY_PATH=search) == PRINTED
    assert running.run(theirs, LD_LIBRARY_PATH=search, **DEVICES).stdout == PRINTED
    assert omptool("verify", theirs).exit_code == 0
    assert dumped(ours)["abi"] == f"llvm-{version}"


@pytest.mark.parametrize("command", ["link", "cc"])
def test_our_runtime_is_found_before_a_folder_of_llvms(command: str, tmp_path: Path) -> None:
    """A folder may be named for libomp's sake, and have a libomptarget.so, too."""
    out, folder = tmp_path / "app", libraries(INSTALLED)
    words = [*driver(), f"-Wl,-rpath,{folder}", *program(tmp_path), "-o", out]
    call(OMPTOOL, command, "--", *words)
    loaded = subprocess.run(["ldd", out], capture_output=True, text=True, check=True).stdout
    assert f"libomptarget.so => {libdir()}/" in loaded
    assert f"libomp.so.5 => {folder}/" in loaded or f"libomp.so => {folder}/" in loaded
    assert printed(out) == PRINTED


@pytest.mark.slow
@pytest.mark.parametrize("command", ["link", "cc"])
def test_the_folder_of_the_runtime_stays_out_of_runpath(command: str, tmp_path: Path) -> None:
    words = ("--", *driver(), *program(tmp_path), "-o", "app")
    for options, has_folder in (((), True), (("--no-rpath",), False)):
        done = omptool(command, "--dry-run", *options, *words)
        *_, link = done.stderr.splitlines()
        assert f"{libdir()}/libomptarget.so" in link
        assert (f"-rpath -Xlinker {libdir()} " in link) is has_folder, link


@pytest.mark.parametrize("linker", ["ld.bfd", "gold", f"{LLD_FOLDER}/ld.lld", "mold"])
def test_a_relocatable_link_is_closed(linker: str, tmp_path: Path) -> None:
    main, summed, scaled = program(tmp_path)
    part = tmp_path / "part.o"
    linked(part, linker, "-r", summed, scaled)
    first, second = tmp_path / "first", tmp_path / "second"
    linked(first, *driver(), main, part)
    assert printed(first) == PRINTED
    whole = tmp_path / "whole.o"
    linked(whole, *tool(INSTALLED), "-r", "-nostdlib", main, summed, scaled)
    runtime = libdir() / "libomptarget.so"
    made(second, *driver(), whole, runtime, f"-Wl,-rpath,{runtime.parent}")
    assert printed(second) == PRINTED
    third = tmp_path / "third"
    linked(third, *driver(), whole)  # adds the runtime, as to a link of the objects
    assert printed(third) == PRINTED


@pytest.mark.slow
@pytest.mark.parametrize("version", FULL[1:])
def test_in_place_of_clangs_wrapper(version: str, tmp_path: Path) -> None:
    (tmp_path / "clang-linker-wrapper").symlink_to(OMPTOOL)
    out = tmp_path / "app"
    flags = [f"-B{tmp_path}", f"-fopenmp-targets={X86_64}", "--save-temps", "-Rpass=inline"]
    if version == INSTALLED:
        needs_gold()
        flags += ["-fuse-ld=gold"]  # it cannot begin with a wrapper
    objects = program(tmp_path, version=version)
    subprocess.run([*driver(version), *flags, *objects, "-o", out], check=True, cwd=tmp_path)
    assert printed(out, LD_LIBRARY_PATH=own_runtime(version)) == PRINTED
    (image,) = dumped_images(out)
    assert image["container"] == "omptool"
    assert (tmp_path / "app.temps" / "wrapper.o").is_file()


@pytest.mark.slow
def test_a_libomp_that_only_llvms_runtime_calls(tmp_path: Path) -> None:
    """No other use would keep libomp when libraries are linked as needed."""
    objects, search = program(tmp_path, version="14"), libraries("14")
    folder = search.split(":")[-1]
    words = ["gcc", "-Wl,--as-needed,--gc-sections", "-fuse-ld=lld", f"-L{folder}", *objects]
    out = tmp_path / "app"
    for runtime in ((), ("-lomptarget",)):
        assert linked(out, *words, "-lomp", *runtime) == ""
        assert printed(out, LD_LIBRARY_PATH=search) == PRINTED
    said = linked(out, *words, "-lomptarget")
    what = "the runtime of llvm-14 calls libomp: add -lomp after the objects"
    assert said == f"Warning: {what}\n"


def test_a_linkers_images_can_throw(tmp_path: Path) -> None:
    """A driver requests a table of frames, and so must a linker's command."""
    done = omptool("link", "--dry-run", "--", "ld", *program(tmp_path), "-lc", "-o", "app")
    assert " --eh-frame-hdr " in done.stderr.splitlines()[0]


def test_no_compiler_is_started(tmp_path: Path) -> None:
    """Bitcode for two targets, with nothing on PATH but gcc and its linker."""
    objects = program(tmp_path, *TWO_TARGETS)
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("gcc", "ld"):
        (folder / name).symlink_to(f"/usr/bin/{name}")
    out = tmp_path / "app"
    done = subprocess.run(
        [OMPTOOL, "link", "--", "gcc", *objects, f"-L{libraries(INSTALLED)}", "-lomp", "-o", out],
        capture_output=True, text=True, check=False, env=os.environ | {"PATH": str(folder)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert printed(out) == PRINTED
    images = dumped_images(out)
    assert sorted(image["kind"] for image in images) == ["elf", "ptx"]


def test_a_command_without_device_code_runs_as_it_is(tmp_path: Path) -> None:
    host = made(tmp_path / "host.o", "gcc", "-c", SOURCES / "scaled.c")
    assert linked(tmp_path / "lib.so", "gcc", "-shared", host) == ""
    done = omptool("link", "--", "sh", "-c", "exit 7")
    assert done.exit_code == 7
    done = omptool("link", "--", "/nowhere/cc", host)
    assert done.exit_code == 3
    assert "Error: /nowhere/cc cannot be started: No such file or directory" in done.stderr


def test_what_is_shown_and_kept(tmp_path: Path) -> None:
    objects = program(tmp_path)
    out, kept = tmp_path / "app", tmp_path / "kept"
    words = [*driver(), *objects, "-o", out]
    done = omptool("link", "--dry-run", "--save-temps", kept, "--", *words)
    assert done.exit_code == 0, done.stderr
    assert not out.exists()
    assert not kept.exists()
    assert len(done.stderr.splitlines()) == 2
    assert f" {kept}/wrapper.o " in done.stderr
    subprocess.run(["ar", "rc", tmp_path / "libk.a", *objects[1:]], check=True)
    inputs = [objects[0], tmp_path / "libk.a"]
    done = omptool("link", "--dry-run", "--", *driver(), *inputs, "-o", out)
    assert (done.exit_code, len(done.stderr.splitlines())) == (0, 3)
    assert not out.exists()
    assert omptool("link", "--save-temps", kept, "--", *words).exit_code == 0
    assert (kept / "wrapper.o").is_file()


def test_temporary_files_in_a_folder_of_others(tmp_path: Path) -> None:
    """A file that another user could replace is no input of a command."""
    kept, victim = tmp_path / "kept", tmp_path / "victim"
    kept.mkdir()
    kept.chmod(0o777)
    victim.write_text("precious")
    (kept / "wrapper.o").symlink_to(victim)
    out = tmp_path / "app"
    words = [*driver(), *program(tmp_path), "-o", out]
    assert omptool("link", "--save-temps", kept, "--", *words).exit_code == 0
    assert printed(out, LD_LIBRARY_PATH=own_runtime(INSTALLED)) == PRINTED
    assert (kept / "wrapper.o").read_bytes().startswith(b"\x7fELF")
    assert victim.read_text() == "precious"


def test_a_command_that_leaves_no_result(tmp_path: Path) -> None:
    """The commands are a driver's dry run, and the query of a configure script."""
    objects, out = program(tmp_path), tmp_path / "app"
    done = omptool("link", "--", "clang-19", "-###", *objects, "-o", out)
    assert done.stderr.startswith(f"Warning: {out} is missing: ")
    assert done.exit_code == 0
    assert omptool("link", "--", *driver(), *objects, "-o", "/dev/null").exit_code == 0
    assert Path("/dev/null").is_char_device()


def test_a_static_link_needs_a_static_runtime(tmp_path: Path) -> None:
    runtime = libdir() / "libomptarget.so"
    done = omptool("link", "--", "gcc", "-static", *program(tmp_path))
    what = "is a shared library, and the command links statically: name a runtime in it"
    assert (done.exit_code, done.stderr) == (2, f"Error: {runtime}: {what}, or with --runtime\n")


def test_a_linker_that_is_killed(tmp_path: Path) -> None:
    linker = tmp_path / "linker"
    linker.write_text("#!/bin/sh\nkill -9 $$\n")
    linker.chmod(0o755)
    done = omptool("link", "--", linker, *program(tmp_path))
    assert done.exit_code == 137
    assert done.stderr == f"Error: linking for {X86_64} failed: signal 9 ended {linker}\n"


def test_another_link_that_writes_the_same_file(tmp_path: Path) -> None:
    out, linker = tmp_path / "app", tmp_path / "linker"
    linked_here = f'{" ".join(map(str, driver()))} "$@"'
    linker.write_text(f"#!/bin/sh\n{linked_here} || exit\n[ ! -e '{out}' ] || : >'{out}'\n")
    linker.chmod(0o755)
    done = omptool("link", "--", linker, *program(tmp_path), "-o", out)
    what = "another command writes this file, too: give each link an output of its own"
    assert (done.exit_code, done.stderr) == (2, f"Error: {out}: {what}\n")


def test_what_lies_in_the_folder_for_temporary_files(tmp_path: Path) -> None:
    """The map of an earlier link is ignored, and an unwritable file is reported."""
    main, *others = program(tmp_path)
    kept = tmp_path / "kept"
    (kept / "wrapper.o").mkdir(parents=True)
    words = [*driver(), main, *others, "-o", tmp_path / "app"]
    done = omptool("link", "--save-temps", kept, "--", *words)
    assert done.exit_code == 2
    assert done.stderr == f"Error: {kept / 'wrapper.o'}: cannot be written: Is a directory\n"
    (kept / "host.map").write_text(f"{tmp_path / 'libk.a'}(summed.o)")
    subprocess.run(["ar", "rc", tmp_path / "libk.a", *others], check=True)
    words = ["true", main, tmp_path / "libk.a", "-o", tmp_path / "app"]
    done = omptool("link", "--save-temps", kept, "--", *words)
    assert done.exit_code == 2
    assert "Error: true wrote no link map, which " in done.stderr


@pytest.mark.parametrize("triple", ["", "x86_64-linux-gnu=", f"{NVPTX}="])
def test_a_word_for_the_devices_linker(triple: str, tmp_path: Path) -> None:
    objects = program(tmp_path)
    word = f"{triple}max-page-size=4096"
    done = omptool("link", "--dry-run", "--device-linker", word, "--", *driver(), *objects)
    assert ("-Xlinker max-page-size=4096" in done.stderr) == (triple != f"{NVPTX}=")


@pytest.mark.slow
def test_words_for_ptxas(tmp_path: Path) -> None:
    objects = program(tmp_path, f"-fopenmp-targets={NVPTX}", *GPU, "--cuda-path=/nowhere")
    words = (*driver(), *objects)
    said = linked(tmp_path / "app", *words, options=["--ptx", "--ptxas-arg=-v"])
    assert f"{NVPTX}:sm_90: the image stays PTX, so -v for ptxas has no effect\n" in said
    if shutil.which("ptxas"):
        assert " registers" in linked(tmp_path / "app", *words, options=["--ptxas-arg=-v"])


def test_a_word_for_no_linker(tmp_path: Path) -> None:
    main = compiled(tmp_path, "calls", *TWO_TARGETS)
    for word, is_said in ((f"{NVPTX}=-lompdevice", False), (f"{NVPTX}=--suppress", True)):
        done = omptool("link", "--dry-run", "--device-linker", word, "--", *driver(), main)
        assert ("so --suppress has no effect" in done.stderr) == is_said


@pytest.mark.slow
@pytest.mark.parametrize("version", ["16", INSTALLED, NEWEST])
def test_host_objects_of_bitcode(version: str, tmp_path: Path) -> None:
    """Link-time optimisation of the host; clang 14 has no device code in such objects."""
    objects = program(tmp_path, "-flto", version=version)
    linker = () if version in PACKAGED else (FAST_LINKER,)  # which reads bitcode up to its own
    linked(tmp_path / "app", *driver(version), "-flto", *linker, *objects)
    assert printed(tmp_path / "app", LD_LIBRARY_PATH=own_runtime(version)) == PRINTED


@pytest.mark.slow
def test_a_command_that_only_a_response_file_can_hold(tmp_path: Path) -> None:
    words = [*program(tmp_path), *(f"-DNOTHING={number:0100}" for number in range(20000))]
    (tmp_path / "words").write_text("\n".join(map(str, words)))
    out = tmp_path / "an app"
    linked(out, *driver(), f"@{tmp_path / 'words'}")
    assert printed(out) == PRINTED


@pytest.mark.parametrize("option", ["--device-lib", "--runtime"])
def test_a_file_of_an_option_that_is_not_there(option: str, tmp_path: Path) -> None:
    """The file is reported even if nothing needs it."""
    done = omptool("link", option, tmp_path / "nowhere", "--", "true")
    assert done.exit_code == 2
    assert done.stderr == f"Error: {tmp_path / 'nowhere'}: No such file or directory\n"
