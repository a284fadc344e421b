"""`omptool link`: programs of each clang by each linker, archives, and what cannot be linked."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
import running
from clangs import INSTALLED, VERSIONS, libraries, made, tool
from documents import dumped, dumped_images
from fixture_programs import NVPTX, OMPTOOL, X86_64
from linking import FAST_LINKER, LINKERS, LLD_FOLDER, OWN_LINKER
from places import TESTS
from toolchain import omptool

from omptool.installation import libdir

SOURCES = TESTS / "linking" / "sources"
PROGRAM = ("calls", "summed", "scaled")
PRINTED = "10 150\n"
# Bitcode, which needs no CUDA; the options that come last count.
GPU = ("-Xopenmp-target=" + NVPTX, "-march=sm_90", "-foffload-lto", "-nogpulib")
TWO_TARGETS = (f"-fopenmp-targets={NVPTX},{X86_64}", *GPU, "--cuda-path=/nowhere")
# Which way the runtime takes to the device is no matter here.
DEVICES = {**running.MANDATORY, "OMPTOOL_PLUGINS": "host"}


def compiled(folder: Path, name: str, *flags: str, version: str = INSTALLED) -> Path:
    """An object of a source of this folder, by a clang, with code for the CPU as a device."""
    clang = [*tool(version), "-O1", "-fopenmp", f"-fopenmp-targets={X86_64}", *flags, "-c"]
    return made(folder / f"{name}.o", *clang, SOURCES / f"{name}.c")


def program(folder: Path, *flags: str, version: str = INSTALLED) -> list[Path]:
    return [compiled(folder, name, *flags, version=version) for name in PROGRAM]


def driver(version: str = INSTALLED) -> list[str]:
    return [*tool(version), "-fopenmp", f"-L{libraries(version).split(':')[-1]}"]


def linked(out: Path, *words: object, options: Sequence[object] = ()) -> str:
    """Link `out` by a command; what omptool says of it."""
    done = subprocess.run(
        [OMPTOOL, "link", *map(str, options), "--", *map(str, words), "-o", str(out)],
        capture_output=True, text=True, check=False, env=os.environ | {"PATH": searched()},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stderr


def searched() -> str:
    """Debian keeps an unversioned ld.lld only there."""
    return f"{LLD_FOLDER}:{os.environ['PATH']}"


def printed(path: Path, **environment: str) -> str:
    """What a program prints, all of whose regions must offload, on the runtime that it finds."""
    done = subprocess.run(
        [path], capture_output=True, text=True, check=False, timeout=running.PATIENCE,
        env=os.environ | DEVICES | environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def kernels(path: Path) -> set[str]:
    """The functions of which the images of a file have regions."""
    found = dumped_images(path)
    return {name.rsplit("_", 1)[0].rsplit("_", 1)[1] for i in found for name in i["kernels"]}


@pytest.mark.parametrize("version", VERSIONS)
def test_each_clangs_objects_run_on_its_runtime_and_ours(version: str, tmp_path: Path) -> None:
    objects = program(tmp_path, version=version)
    search = libraries(version)
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    linked(ours, *driver(version), *objects)
    assert printed(ours, LD_LIBRARY_PATH=search) == PRINTED
    linked(theirs, *driver(version), *objects, "-lomptarget")
    assert printed(theirs, LD_LIBRARY_PATH=search) == PRINTED
    assert running.run(theirs, LD_LIBRARY_PATH=search, **DEVICES).stdout == PRINTED
    assert omptool("verify", theirs).exit_code == 0
    assert dumped(ours)["abi"] == f"llvm-{version}"


@pytest.mark.parametrize("linker", LINKERS)
def test_each_linker_takes_from_archives_what_it_takes_without(linker: str, tmp_path: Path) -> None:
    main, *others = program(tmp_path, "-ffunction-sections")
    unused = compiled(tmp_path, "unused", "-ffunction-sections")
    (tmp_path / "of (one)").mkdir()
    archive, thin = tmp_path / "libk.a", tmp_path / "of (one)" / "thin (1).a"
    subprocess.run(["ar", "rc", archive, *others, unused], check=True)
    subprocess.run(["ar", "rcT", thin, *others, unused], check=True)
    words = ["gcc", f"-fuse-ld={linker}", main, "-Wl,--gc-sections", f"-L{libraries(INSTALLED)}"]
    out = tmp_path / "app"
    assert linked(out, *words, f"-L{tmp_path}", "-lk", "-lomp") == ""
    assert printed(out) == PRINTED
    assert kernels(out) == {"main", "summed"}
    linked(out, *words, str(thin.parent / ".." / thin.relative_to(tmp_path)), "-lomp")
    assert printed(out) == PRINTED
    assert kernels(out) == {"main", "summed"}
    archive = archive.rename(tmp_path / "of(one) (two).a")
    linked(out, *words, archive, "-lomp", "-Wl,-M")
    assert kernels(out) == {"main", "summed"}
    linked(out, *words, "-Wl,--whole-archive", archive, "-Wl,--no-whole-archive", "-lomp")
    assert kernels(out) == {"main", "summed", "unused"}


def test_a_member_that_only_device_code_needs(tmp_path: Path) -> None:
    """The host's half of it may have been defined elsewhere."""
    main, summed, scaled = program(tmp_path)
    own = made(tmp_path / "own.o", "gcc", "-c", SOURCES / "scaled.c")
    subprocess.run(["ar", "rc", tmp_path / "libk.a", scaled], check=True)
    out = tmp_path / "app"
    linked(out, *driver(), main, summed, own, tmp_path / "libk.a")
    assert printed(out) == PRINTED


@pytest.mark.parametrize("linker", LINKERS)
def test_members_with_one_name(linker: str, tmp_path: Path) -> None:
    main, summed, scaled = program(tmp_path)
    (tmp_path / "other").mkdir()
    unused = compiled(tmp_path, "unused").rename(tmp_path / "other" / "summed.o")
    subprocess.run(["ar", "rc", tmp_path / "libk.a", summed, scaled], check=True)
    subprocess.run(["ar", "q", tmp_path / "libk.a", unused], check=True, stderr=subprocess.DEVNULL)
    words = ["gcc", f"-fuse-ld={linker}", main, tmp_path / "libk.a"]
    linked(tmp_path / "app", *words, f"-L{libraries(INSTALLED)}", "-lomp")
    assert kernels(tmp_path / "app") == {"main", "summed"}
    assert printed(tmp_path / "app") == PRINTED


def test_a_script_in_place_of_a_library(tmp_path: Path) -> None:
    main, *others = program(tmp_path)
    subprocess.run(["ar", "rc", tmp_path / "libdone.a", *others], check=True)
    text = '/* INPUT(no) */ GROUP ( AS_NEEDED ( -ldone ) "libdone.a" )'
    (tmp_path / "libk.so").write_text(text)
    linked(tmp_path / "app", *driver(), main, f"-L{tmp_path}", "-lk")
    assert printed(tmp_path / "app") == PRINTED


def test_a_library_where_only_the_driver_looks(tmp_path: Path) -> None:
    main, *others = program(tmp_path)
    subprocess.run(["ar", "rc", tmp_path / "libk.a", *others], check=True)
    words = ["gcc", f"-B{tmp_path}/", main, "-lk", f"-L{libraries(INSTALLED)}", "-lomp"]
    linked(tmp_path / "app", *words)
    assert printed(tmp_path / "app") == PRINTED


def test_the_libraries_that_images_are_linked_with(tmp_path: Path) -> None:
    """Not those with device code: half of them is the host's."""
    main, *others = program(tmp_path)
    host = made(tmp_path / "host.o", "gcc", "-c", SOURCES / "scaled.c")
    subprocess.run(["ar", "rc", tmp_path / "libk.a", *others], check=True)
    subprocess.run(["ar", "rc", tmp_path / "libh.a", host], check=True)
    words = f"{main} -L{tmp_path} -lh {tmp_path}/libh.a -Wl,--whole-archive -lk {tmp_path}/libk.a"
    done = omptool("link", "--dry-run", "--", "gcc", *words.split(), "-o", tmp_path / "app")
    device, _ = done.stderr.splitlines()
    assert f" -L{tmp_path} -lh {tmp_path}/libh.a {libdir()}/libomptarget.so -o " in device


def test_a_member_whose_code_is_there_already(tmp_path: Path) -> None:
    """The host's link does not take it, and device code does not need it, in either order."""
    main, summed, scaled = program(tmp_path)
    subprocess.run(["ar", "rc", tmp_path / "libk.a", scaled], check=True)
    subprocess.run(["ar", "rc", tmp_path / "libtwin.a", scaled], check=True)
    out = tmp_path / "app"
    for words in ([summed, scaled, "-lk"], ["-lk", summed, scaled], [summed, "-lk", "-ltwin"]):
        linked(out, *driver(), main, f"-L{tmp_path}", *words)
        assert printed(out) == PRINTED


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


@pytest.mark.parametrize("version", ["16", INSTALLED, "22"])
def test_in_place_of_clangs_wrapper(version: str, tmp_path: Path) -> None:
    (tmp_path / "clang-linker-wrapper").symlink_to(OMPTOOL)
    out = tmp_path / "app"
    flags = [f"-B{tmp_path}", f"-fopenmp-targets={X86_64}", "--save-temps", "-Rpass=inline"]
    flags += ["-fuse-ld=gold"] if version == INSTALLED else []  # it cannot begin with a wrapper
    objects = program(tmp_path, version=version)
    subprocess.run([*driver(version), *flags, *objects, "-o", out], check=True, cwd=tmp_path)
    assert printed(out, LD_LIBRARY_PATH=libraries(version)) == PRINTED
    (image,) = dumped_images(out)
    assert image["container"] == "omptool"
    assert (tmp_path / "app.temps" / "wrapper.o").is_file()


def test_a_libomp_that_only_llvms_runtime_calls(tmp_path: Path) -> None:
    """Nothing else would keep it where libraries are linked as needed."""
    objects, search = program(tmp_path, version="14"), libraries("14")
    folder = search.split(":")[-1]
    words = ["gcc", "-Wl,--as-needed,--gc-sections", "-fuse-ld=lld", f"-L{folder}", *objects]
    out = tmp_path / "app"
    for runtime in ((), ("-lomptarget",)):
        assert linked(out, *words, "-lomp", *runtime) == ""
        assert printed(out, LD_LIBRARY_PATH=search) == PRINTED
    said = linked(out, *words, "-lomptarget")
    what = "the runtime of llvm-14 calls libomp: -lomp is not behind the objects"
    assert said == f"Warning: {what}\n"


def test_a_linkers_images_can_throw(tmp_path: Path) -> None:
    """A driver's do, as it asks for a table of frames."""
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


def test_a_command_that_leaves_no_result(tmp_path: Path) -> None:
    """A driver that shows what it would do, and what a configure script asks."""
    objects, out = program(tmp_path), tmp_path / "app"
    done = omptool("link", "--", "clang-19", "-###", *objects, "-o", out)
    assert done.stderr.startswith(f"Warning: {out} is not there: ")
    assert done.exit_code == 0
    assert omptool("link", "--", *driver(), *objects, "-o", "/dev/null").exit_code == 0
    assert Path("/dev/null").is_char_device()


def test_a_static_link_needs_a_static_runtime(tmp_path: Path) -> None:
    runtime = libdir() / "libomptarget.so"
    done = omptool("link", "--", "gcc", "-static", *program(tmp_path))
    what = "is a shared library, and the command links statically: it has to name a runtime"
    assert (done.exit_code, done.stderr) == (2, f"Error: {runtime}: {what}, or --runtime\n")


def test_a_linker_that_is_killed(tmp_path: Path) -> None:
    linker = tmp_path / "linker"
    linker.write_text("#!/bin/sh\nkill -9 $$\n")
    linker.chmod(0o755)
    done = omptool("link", "--", linker, *program(tmp_path))
    assert done.exit_code == 137
    assert done.stderr == f"Error: linking for {X86_64} failed: {linker} was ended by signal 9\n"


def test_what_lies_in_the_folder_for_temporary_files(tmp_path: Path) -> None:
    """A map of an earlier link says nothing, and what cannot be written is named."""
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
    assert "Error: true wrote no map of what it links: " in done.stderr


@pytest.mark.parametrize("triple", ["", "x86_64-linux-gnu=", f"{NVPTX}="])
def test_a_word_for_the_devices_linker(triple: str, tmp_path: Path) -> None:
    objects = program(tmp_path)
    word = f"{triple}max-page-size=4096"
    done = omptool("link", "--dry-run", "--device-linker", word, "--", *driver(), *objects)
    assert ("-Xlinker max-page-size=4096" in done.stderr) == (triple != f"{NVPTX}=")


def test_a_word_for_no_linker(tmp_path: Path) -> None:
    main = compiled(tmp_path, "calls", *TWO_TARGETS)
    for word, is_said in ((f"{NVPTX}=-lompdevice", False), (f"{NVPTX}=--suppress", True)):
        done = omptool("link", "--dry-run", "--device-linker", word, "--", *driver(), main)
        assert ("bitcode, and none is told --suppress" in done.stderr) == is_said


def test_a_device_symbol_that_nothing_defines_names_the_object(tmp_path: Path) -> None:
    main, summed, _ = program(tmp_path)
    host = made(tmp_path / "host.o", "gcc", "-c", SOURCES / "scaled.c")
    done = omptool("link", "--", *driver(), OWN_LINKER, main, summed, host, "-o", tmp_path / "app")
    assert done.exit_code == 1
    assert f"{summed}:" in done.stderr
    assert "undefined reference to `scaled'" in done.stderr
    assert done.stderr.splitlines()[-1] == f"Error: linking for {X86_64} failed"
    assert not (tmp_path / "app").exists()


def refused(tmp_path: Path, *words: object) -> str:
    """What is said of objects that cannot be linked together."""
    done = omptool("link", "--", *driver(), *words, "-o", tmp_path / "app")
    assert done.exit_code == 2, done.output
    assert not (tmp_path / "app").exists()
    (line,) = done.stderr.splitlines()
    return line


def warned(tmp_path: Path, *words: object) -> str:
    """What is said of objects that can be linked."""
    return linked(tmp_path / "app", *driver(), *words).replace(f"{tmp_path}/", "")


def test_entries_of_two_generations(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    main, _, scaled = program(tmp_path)
    newer = compiled(tmp_path / "new", "summed", version="22")
    line = refused(tmp_path, main, scaled, newer)
    older = f"{main} (32 bytes each, in omp_offloading_entries)"
    named = f"{older} and {newer} (56 bytes each, in llvm_offload_entries)"
    assert line == f"Error: entries of two generations cannot be in one table: {named}"


def test_entries_of_clang_20(tmp_path: Path) -> None:
    """It has the records of 21 in the section of 19."""
    objects = program(tmp_path, version="22")
    rename = "llvm_offload_entries=omp_offloading_entries"
    for path in objects:
        subprocess.run(["objcopy", "--rename-section", rename, path], check=True)
    linked(tmp_path / "app", *driver("22"), *objects)
    assert printed(tmp_path / "app", LD_LIBRARY_PATH=libraries("22")) == PRINTED
    (tmp_path / "app").unlink()
    newer = compiled(tmp_path, "summed", version="22")
    line = refused(tmp_path, objects[0], newer, objects[2])
    assert f"bytes each, in omp_offloading_entries) and {newer} (56 bytes each, in llvm" in line


def test_the_abi_of_clang_18(tmp_path: Path) -> None:
    """Its objects call as those of 17 do, and its kernels take what those of 19 do."""
    path = compiled(tmp_path, "summed", version="16")
    assert dumped(path)["abi"] == "llvm-16"
    path.write_bytes(path.read_bytes().replace(b"clang version 16.", b"clang version 18."))
    assert dumped(path)["abi"] == "llvm-19"


def test_an_abi_that_the_entries_are_not_of(tmp_path: Path) -> None:
    main, *others = program(tmp_path)
    for abi in ("interface", "llvm-22"):
        done = omptool("link", "--abi", abi, "--", *driver(), main, *others)
        what = f"its entries are of llvm-19, and no wrapper for {abi} registers them"
        assert (done.exit_code, done.stderr) == (2, f"Error: {main}: {what}\n")


def test_generations_with_one_form_of_entries(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    main, _, scaled = program(tmp_path)
    older = compiled(tmp_path / "old", "summed", version="16")
    said = warned(tmp_path, main, scaled, older)
    assert "one runtime may not serve all: calls.o (llvm-19), old/summed.o (llvm-16)" in said
    assert printed(tmp_path / "app") == PRINTED


def test_two_bodies_of_one_kernel(tmp_path: Path) -> None:
    """A source that was compiled twice: its kernels have one name."""
    (tmp_path / "other").mkdir()
    main, summed, scaled = program(tmp_path)
    flags = ("-DFACTOR=3", "-Dsummed=summed")
    other = compiled(tmp_path / "other", "summed", *flags)
    same = tmp_path / "same.o"
    subprocess.run(["objcopy", "--weaken", summed, same], check=True)
    subprocess.run(["objcopy", "--weaken", other], check=True)
    said = warned(tmp_path, main, summed, scaled, other)
    assert "of summed.o and of other/summed.o differ: that of summed.o is taken" in said
    assert "differ" not in warned(tmp_path, main, summed, scaled, same)


@pytest.mark.parametrize("version", ["14", INSTALLED])
def test_one_body_between_others(version: str, tmp_path: Path) -> None:
    """What a compiler numbers differs, and the code is one."""
    clang = [*tool(version, "clang++"), "-O1", "-ffunction-sections", "-fopenmp"]
    words = [*clang, f"-fopenmp-targets={X86_64}", "-c", SOURCES / "inlined.cpp"]
    parts = [made(tmp_path / "one.o", *words), made(tmp_path / "two.o", *words, "-DOTHER")]
    driver = [*tool(version, "clang++"), "-fopenmp", f"-L{libraries(version).split(':')[-1]}"]
    said = linked(tmp_path / "app", *driver, *parts)
    assert "differ" not in said
    assert printed(tmp_path / "app", LD_LIBRARY_PATH=libraries(version)) == "6 40\n"


def test_entries_without_device_code(tmp_path: Path) -> None:
    main, summed, scaled = program(tmp_path)
    subprocess.run(["objcopy", "--remove-section", ".llvm.offloading", summed], check=True)
    done = omptool("link", "--", *driver(), main, summed, scaled, "-o", tmp_path / "app")
    assert f"no device code in {summed}: the regions there run on the host" in done.stderr
    assert done.exit_code == 1  # verify finds that no image has the kernel


def turned(path: Path) -> Path:
    """The object with its two images in the other order, as another compiler may have them."""
    held = path.with_suffix(".images")
    subprocess.run(["objcopy", "--dump-section", f".llvm.offloading={held}", path], check=True)
    data = held.read_bytes()
    second = data.index(b"\x10\xff\x10\xad", 4)
    held.write_bytes(data[second:] + data[:second])
    subprocess.run(["objcopy", "--update-section", f".llvm.offloading={held}", path], check=True)
    return path


def test_a_target_that_an_object_lacks_and_another_order(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
    main = compiled(tmp_path, "calls", *TWO_TARGETS)
    summed = turned(compiled(tmp_path / "two", "summed", *TWO_TARGETS))
    scaled = compiled(tmp_path, "scaled", *TWO_TARGETS)
    said = warned(tmp_path, main, summed, scaled)
    order = f"two/summed.o has its images in the order {X86_64}, {NVPTX} sm_90, "
    assert f"{order}calls.o in another" in said
    cpu = compiled(tmp_path / "one", "summed")
    words = [main, cpu, scaled]
    done = omptool("link", "--", *driver(), *words, "-o", tmp_path / "app")
    assert f"no code for {NVPTX}:sm_90 in {cpu}" in done.stderr


@pytest.mark.parametrize("version", ["14", "22"])
def test_what_not_all_objects_require(version: str, tmp_path: Path) -> None:
    """A constructor says so until clang 18, an entry since."""
    main = compiled(tmp_path, "calls", version=version)
    summed = compiled(tmp_path, "summed", "-DSHARED", version=version)
    done = omptool("link", "--dry-run", "--", *driver(version), main, summed)
    said = f"{summed} has `requires unified_shared_memory`, {main} has not: "
    assert done.stderr.startswith(f"Warning: {said}in OpenMP all objects with regions must\n")


@pytest.mark.parametrize("version", ["16", INSTALLED])
def test_host_objects_of_bitcode(version: str, tmp_path: Path) -> None:
    """Link-time optimisation of the host; clang 14 has no device code in such objects."""
    objects = program(tmp_path, "-flto", version=version)
    linked(tmp_path / "app", *driver(version), "-flto", FAST_LINKER, *objects)
    assert printed(tmp_path / "app", LD_LIBRARY_PATH=libraries(version)) == PRINTED


def test_images_of_other_models(tmp_path: Path) -> None:
    main, summed, scaled = program(tmp_path)
    host = made(tmp_path / "host.o", "gcc", "-c", SOURCES / "scaled.c")
    packed = tmp_path / "packed"
    image = f"--image=file={scaled},triple={NVPTX},arch=sm_90,kind=cuda"
    subprocess.run([*tool(INSTALLED, "clang-offload-packager"), image, "-o", packed], check=True)
    section = f".llvm.offloading={packed}"
    subprocess.run(["objcopy", "--add-section", section, host], check=True)
    line = refused(tmp_path, main, summed, host)
    assert line.startswith(f"Error: {host} has images of CUDA, and only OpenMP's are linked")


def test_images_that_register_themselves(tmp_path: Path) -> None:
    """Those of an object by CUDA's or HIP's compiler, in a program with regions and in another."""
    hip = [
        "-x",
        "hip",
        "--offload-arch=gfx90a",
        "-nogpuinc",
        "-nogpulib",
        "--no-offload-new-driver",
    ]
    other = made(tmp_path / "other.o", *tool(INSTALLED), *hip, "-c", SOURCES / "other_model.hip")
    assert [image["container"] for image in dumped_images(other)] == ["hip-fatbin"]
    done = omptool("link", "--dry-run", "--", *driver(), *program(tmp_path), other)
    assert (done.exit_code, len(done.stderr.splitlines())) == (0, 2)
    linked(tmp_path / "lib.so", "gcc", "-shared", other)


def test_a_triple_that_is_none(tmp_path: Path) -> None:
    main, summed, scaled = program(tmp_path)
    scaled.write_bytes(scaled.read_bytes().replace(b"\0triple\0", b"\0tripel\0"))
    line = refused(tmp_path, main, summed, scaled)
    assert line == f"Error: {scaled}: device code for no triple: '' is not a target triple"


def test_a_damaged_object_is_named(tmp_path: Path) -> None:
    main, summed, scaled = program(tmp_path)
    data = bytearray(scaled.read_bytes())
    at = data.index(b"\x10\xff\x10\xad")
    data[at + 8 : at + 16] = b"\xff" * 8
    scaled.write_bytes(data)
    assert refused(tmp_path, main, summed, scaled).startswith(f"Error: {scaled}: ")


def test_a_command_that_only_a_response_file_can_hold(tmp_path: Path) -> None:
    words = [*program(tmp_path), *(f"-DNOTHING={number:0100}" for number in range(20000))]
    (tmp_path / "words").write_text("\n".join(map(str, words)))
    out = tmp_path / "an app"
    linked(out, *driver(), f"@{tmp_path / 'words'}")
    assert printed(out) == PRINTED


@pytest.mark.parametrize("option", ["--device-lib", "--runtime"])
def test_a_file_of_an_option_that_is_not_there(option: str, tmp_path: Path) -> None:
    """Also where nothing needs it."""
    done = omptool("link", option, tmp_path / "nowhere", "--", "true")
    assert done.exit_code == 2
    assert done.stderr == f"Error: {tmp_path / 'nowhere'}: No such file or directory\n"
