# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool cc`: programs in one go and object by object, by one compiler and by several."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shlex
import shutil
import subprocess
import time
from pathlib import Path

import pytest
import running
from build_trees import call, changed_by, done, environment
from clangs import tool
from documents import dumped_images
from fixture_programs import NVPTX, OMPTOOL, X86_64
from places import FIXTURES, TESTS
from products import Products
from toolchain import omptool

from omptool.installation import includedir

pytestmark = pytest.mark.slow

SOURCES = TESTS / "packager" / "linking" / "sources"
NAMES = ("calls", "summed", "scaled")
PRINTED = "10 150\n"
CC = (OMPTOOL, "cc", "--cc", "clang-19")
BUILDS = FIXTURES / "builds"
OTHER = ("--cc", "clang-19", "--triple", "x86_64", "--device-compiler")
TWO_TARGETS = ("--triple", X86_64, "--triple", f"{NVPTX}:sm_90")
OFFLOADING = f"-fopenmp -fopenmp-targets={X86_64}"
HOST_ONLY = f"{OFFLOADING} --offload-host-only"
REGION = "int main(void) {\n#pragma omp target\n  ;\n}\n"
OLDEST = "sh -c 'echo clang version 14.0.6'"


def sources() -> list[Path]:
    return [SOURCES / f"{name}.c" for name in NAMES]


def targets(path: Path) -> list[tuple[str, str | None]]:
    return [(image["triple"], image["arch"]) for image in dumped_images(path)]


def printed(program: Path) -> str:
    """Return the output of a program whose regions all run on the CPU as a device."""
    ran = running.run(program, **running.MANDATORY, OMPTOOL_PLUGINS="host")
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def in_one_go(products: Products) -> Path:
    def make(folder: Path) -> Path:
        call(folder, *CC, *TWO_TARGETS, "--ptx", "-O1", *sources(), "-MMD", "-o", "app")
        return folder / "app"

    return products.made("cc-in-one-go", make)


def by_make(products: Products) -> Path:
    def make(folder: Path) -> Path:
        for source in (*sources(), TESTS / "packager" / "compiling" / "Makefile"):
            shutil.copy(source, folder)
        build = ("make", "-j2", f"CC={' '.join(CC)}", "CFLAGS=-O1")
        call(folder, *build)
        shutil.copy(SOURCES / "scaled.c", folder)  # the source is newer now
        again = changed_by(folder, lambda folder: call(folder, *build))
        assert again == {"scaled.o", "scaled.d", "app"}
        return folder / "app"

    return products.made("cc-by-make", make)


@pytest.mark.offloads
def test_a_program_in_one_go(products: Products) -> None:
    assert printed(in_one_go(products)) == PRINTED


def test_it_has_an_image_for_each_triple(products: Products) -> None:
    program = in_one_go(products)
    assert sorted(targets(program)) == [(NVPTX, "sm_90"), (X86_64, None)]
    assert sorted(image["kind"] for image in dumped_images(program)) == ["elf", "ptx"]


def test_rules_for_make_are_of_the_program(products: Products) -> None:
    folder = in_one_go(products).parent
    rule = (folder / "summed.d").read_text().split()
    assert rule == ["app:", str(SOURCES / "summed.c")]
    assert {path.name for path in folder.iterdir()} == {"app", *(f"{name}.d" for name in NAMES)}


@pytest.mark.exhaustive
@pytest.mark.offloads
def test_object_by_object_under_make(products: Products) -> None:
    program = by_make(products)
    assert printed(program) == PRINTED
    assert targets(program) == [(X86_64, None)]


LAUNCHERS = (
    "-DCMAKE_C_COMPILER=clang-19",
    "-DCMAKE_C_COMPILER_LAUNCHER=omptool;cc;--triple;x86_64;--",
    "-DCMAKE_C_LINKER_LAUNCHER=omptool;link;--",
    "-DCMAKE_C_FLAGS=-O1 -fopenmp",
)
COMPILER = (f"-DCMAKE_C_COMPILER={OMPTOOL};cc;--cc;clang-19;--triple;x86_64",)


def under_cmake(options: tuple[str, ...], products: Products) -> Path:
    def make(folder: Path) -> Path:
        project = ("-S", TESTS / "packager" / "compiling" / "project", f"-DSOURCES={SOURCES}")
        call(folder, "cmake", *project, "-B", ".", "-G", "Ninja", *options)
        call(folder, "cmake", "--build", ".")
        return folder

    return products.made(f"cc-by-cmake-{len(options)}", make)


@pytest.mark.offloads
@pytest.mark.parametrize(
    "options",
    [
        pytest.param(LAUNCHERS, id="launchers"),
        pytest.param(COMPILER, id="compiler", marks=pytest.mark.exhaustive),
    ],
)
def test_under_cmake(options: tuple[str, ...], products: Products) -> None:
    program = under_cmake(options, products) / "app"
    assert printed(program) == PRINTED
    assert targets(program) == [(X86_64, None)]


def test_cmakes_database_has_the_compilers_own_commands(products: Products) -> None:
    entries = json.loads((under_cmake(LAUNCHERS, products) / "compile_commands.json").read_text())
    assert len(entries) == len(NAMES)
    for entry in entries:
        words = shlex.split(entry["command"])
        assert Path(words[0]).name == "clang-19"
        assert words[-1] == entry["file"]


@pytest.mark.offloads
@pytest.mark.parametrize(
    "triples",
    [
        pytest.param([X86_64], id="alone"),
        pytest.param([f"{NVPTX}:sm_80", X86_64], id="beside", marks=pytest.mark.exhaustive),
    ],
)
def test_another_clang_for_a_triple(triples: list[str], products: Products, tmp_path: Path) -> None:
    """The host's compiler makes the table of entries; each other one makes its image."""
    # Clang 22's library is not installed, and its images for a CPU need none.
    other = shlex.join(tool("22"))

    def make(folder: Path) -> Path:
        words = [word for triple in triples for word in ("--triple", triple)]
        words += ["--device-compiler", f"{X86_64}={other}"]
        call(folder, *CC, *words, "-O1", "-nogpulib", *sources(), "-o", "app")
        return folder / "app"

    program = products.made(f"cc-two-clangs-{len(triples)}", make)
    assert printed(program) == PRINTED
    assert max(targets(program)) == (X86_64, None)


@pytest.mark.offloads
@pytest.mark.parametrize(
    "compiler", ["gcc", pytest.param("clang-19", marks=pytest.mark.exhaustive)]
)
def test_kernels_in_ir_beside_a_host(compiler: str, products: Products) -> None:
    def make(folder: Path) -> Path:
        inputs = (BUILDS / "saxpy.c", BUILDS / "saxpy.ll")
        triples = ("--triple", X86_64, "--triple", f"{NVPTX}:sm_75")
        call(folder, OMPTOOL, "cc", *triples, "--", compiler, *inputs, "-O1", "-o", "at-once")
        call(folder, OMPTOOL, "cc", "--cc", compiler, "-c", *inputs, "-o", "saxpy.o")
        call(folder, OMPTOOL, "cc", "--cc", compiler, "saxpy.o", "-o", "apart")
        return folder

    folder = products.made(f"cc-kernels-{compiler}", make)
    for name in ("at-once", "apart"):
        assert "ran on the device" in printed(folder / name)
    assert targets(folder / "at-once") == [(X86_64, None), (NVPTX, "sm_75")]
    assert targets(folder / "apart") == [(X86_64, None)]


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    (tmp_path / "plain.c").write_text("int main(void) { return 0; }\n")
    (tmp_path / "wrong.c").write_text("int main( {\n")
    return tmp_path


def test_a_program_without_regions_is_built(plain: Path) -> None:
    call(plain, *CC, "--keep", "kept", "plain.c", "-o", "app")
    assert "0-plain.o" in {path.name for path in (plain / "kept").iterdir()}
    call(plain, "./app")


def test_who_keeps_in_one_folder_waits(plain: Path) -> None:
    """Parallel processes under make -j keep intermediate files of the same names."""
    (plain / "kept").mkdir()
    opened = os.open(plain / "kept", os.O_RDONLY)
    fcntl.flock(opened, fcntl.LOCK_EX)
    words = [*CC, "--keep", "kept", "-c", "plain.c"]
    with subprocess.Popen(words, cwd=plain) as waiting:
        with pytest.raises(subprocess.TimeoutExpired):
            waiting.wait(1)
        os.close(opened)
        assert waiting.wait(60) == 0


def test_clangs_own_option_names_devices_too(plain: Path) -> None:
    words = ("-fopenmp-targets=nvptx64", "-Xopenmp-target=nvptx64", "-march=sm_80")
    said = done(plain, *CC, "--dry-run", "-c", *words, "plain.c").stderr
    assert said.count("-fopenmp-targets=") == 1
    assert f"-fopenmp-targets={NVPTX} -foffload-lto -nogpulib" in said


@pytest.mark.exhaustive
def test_the_same_sources_give_the_same_bytes(products: Products, tmp_path: Path) -> None:
    """The temporary folder is another; elsewhere clang's kernels would have other names."""
    first = in_one_go(products)
    call(tmp_path, *CC, *TWO_TARGETS, "--ptx", "-O1", *sources(), "-o", "app")
    assert (tmp_path / "app").read_bytes() == first.read_bytes()


@pytest.mark.exhaustive
def test_the_same_objects_give_the_same_bytes_elsewhere(products: Products, tmp_path: Path) -> None:
    first = by_make(products)
    objects = [f"{name}.o" for name in NAMES]
    for name in objects:
        shutil.copy(first.parent / name, tmp_path)
    words = [*CC, "-O1", *objects, "-o", "app"]
    env = environment() | {"SOURCE_DATE_EPOCH": "1234567890", "TMPDIR": str(tmp_path)}
    subprocess.run(words, cwd=tmp_path, env=env, check=True)
    assert (tmp_path / "app").read_bytes() == first.read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {"app", *objects}


@pytest.mark.exhaustive
def test_gold_gives_the_same_bytes_elsewhere(plain: Path) -> None:
    """gold stores the name of a source file that has no symbol of its own."""
    (plain / "region.c").write_text(REGION)
    for name in ("one", "two"):
        (plain / name).mkdir()
        words = [*CC, "-fuse-ld=gold", "region.c", "-o", f"{name}/app"]
        env = environment() | {"TMPDIR": str(plain / name)}
        subprocess.run(words, cwd=plain, env=env, check=True)
    assert (plain / "one" / "app").read_bytes() == (plain / "two" / "app").read_bytes()


@pytest.mark.exhaustive
@pytest.mark.offloads
def test_coverage_is_that_of_the_host(plain: Path) -> None:
    """The image's counters would overwrite the host's file, so the region runs on the host."""
    (plain / "region.c").write_text(REGION)
    call(plain, *CC, "--coverage", "-c", "region.c")
    call(plain, *CC, "--coverage", "region.o", "-o", "app")
    ran = running.run(plain / "app", OMPTOOL_PLUGINS="host")
    assert "undefined symbol: llvm_gcda" in ran.stderr
    assert "executed:100.00%" in call(plain, "llvm-cov-19", "gcov", "region.c")


def test_what_does_not_call_the_runtime_does_not_need_it(plain: Path) -> None:
    call(plain, OMPTOOL, "cc", "--cc", "gcc", "plain.c", "-o", "app")
    assert "libomptarget" not in call(plain, "readelf", "-d", "app")


def test_a_compilers_faults_are_its_own(plain: Path) -> None:
    ran = done(plain, *CC, "-c", "plain.c", "wrong.c")
    assert ran.returncode == 1
    assert "error: expected" in ran.stderr
    assert {path.suffix for path in plain.iterdir()} == {".c", ".o"}
    assert not (plain / "wrong.o").exists()


def test_questions_go_to_the_compiler(plain: Path) -> None:
    assert "clang version 19" in call(plain, *CC, "--version")
    assert call(plain, *CC, "-E", "-P", "plain.c") == "int main(void) { return 0; }\n"


@pytest.mark.parametrize("ours", ["omptool cc --triple x86_64", "./ours"])
def test_a_cc_that_is_this_command_is_not_started(ours: str, plain: Path) -> None:
    """`make CC="omptool cc"` exports CC, so that the command would start itself for ever."""
    (plain / "ours").write_text('#!/bin/sh\nexec omptool cc --triple x86_64 "$@"\n')
    (plain / "ours").chmod(0o755)
    env = environment() | {"CC": ours}
    words = [OMPTOOL, "cc", "--dry-run", "-c", "plain.c"]
    ran = subprocess.run(
        words, cwd=plain, env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert (ran.returncode, ran.stderr.count("clang")) == (0, 1), ran.stderr


def test_a_source_may_be_standard_input(plain: Path) -> None:
    """The source has no regions: clang names kernels after files."""
    words = [*CC, "-xc", "-", "-c", "-o", "a.o"]
    subprocess.run(words, cwd=plain, input=b"int f(void);", check=True)
    assert targets(plain / "a.o") == [(X86_64, None)]


def test_a_dry_run_makes_nothing(plain: Path) -> None:
    before = set(plain.iterdir())
    said = done(plain, *CC, "--dry-run", "plain.c", "-o", "app").stderr.splitlines()
    assert [line.split()[0] for line in said] == ["clang-19", "clang-19"]
    assert f"-fopenmp-targets={X86_64} -c plain.c" in said[0]
    assert set(plain.iterdir()) == before


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("-E plain.c", "-idirafter INCLUDES -fopenmp"),
        ("-c plain.h", "-idirafter INCLUDES -fopenmp"),
        ("-S plain.c", f"-idirafter INCLUDES {HOST_ONLY}"),
        ("-S plain.s", ""),
        ("-c plain.s", "-o plain.o"),
        ("plain.s -o app", "-Wno-unused-command-line-argument -c plain.s -o FOLDER/0-plain.o"),
        ("-c -MD plain.c", f"-idirafter INCLUDES {OFFLOADING} -c plain.c -o plain.o"),
        ("-MD plain.c -o app", "-MF app.d -MQ app -Wno-unused"),
        ("--target=aarch64-linux-gnu -c plain.c", "-fopenmp-targets=aarch64-unknown-linux-gnu"),
        ("--offload-arch=sm_90 -c plain.c", "-Xopenmp-target=nvptx64-nvidia-cuda -march=sm_90"),
    ],
)
def test_what_ends_elsewhere_is_compiled_alike(words: str, shown: str) -> None:
    """Build systems ask the same compiler beforehand, e.g. for headers."""
    ran = omptool("cc", "--cc", "clang-19", "--dry-run", *words.split())
    assert ran.exit_code == 0
    first = ran.output.splitlines()[0].replace(str(includedir()), "INCLUDES")
    assert shown in re.sub(r"\S*/(\d-plain.o)", r"FOLDER/\1", first)
    assert first.count("-idirafter") == int("INCLUDES" in shown or ".s" not in words)


def test_objects_on_the_way_are_called_like_their_sources(plain: Path) -> None:
    (plain / "calls.c").write_text(f"int f(void);\n{REGION.replace(';', 'f();')}")
    ran = done(plain, *CC, "calls.c", "-o", "app")
    assert ran.returncode == 2
    assert ran.stderr.startswith(f"Error: calls.c: its device code for {X86_64} uses f, which ")


def test_a_killed_compiler_is_said(plain: Path) -> None:
    killed = "sh -c 'test $1 = --version || kill -9 $$' killed"
    ran = done(plain, OMPTOOL, "cc", "--cc", killed, "-c", "plain.c")
    assert (ran.returncode, ran.stderr.splitlines()[-1]) == (137, "Error: signal 9 ended sh")


def test_a_compiler_ends_with_who_started_it(plain: Path) -> None:
    """When make ends its commands, no compiler may go on writing what the next build makes."""
    slow = "sh -c 'test $1 = --version || { echo $$ > pid && exec sleep 60; }' slow"
    with subprocess.Popen([OMPTOOL, "cc", "--cc", slow, "-c", "plain.c"], cwd=plain) as ours:
        while not (plain / "pid").exists() or not (plain / "pid").read_text():
            assert ours.poll() is None
        time.sleep(0.5)  # until ours knows that it has started it
        ours.terminate()
        ours.wait(30)
    assert not Path(f"/proc/{(plain / 'pid').read_text().strip()}").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["--triple", "x86_64", "--device-compiler", "x86_64=clang-19", "-c", "plain.c"],
        ["-c", BUILDS / "saxpy.c", BUILDS / "saxpy.ll"],
    ],
)
def test_objects_may_go_nowhere(words: list[str], plain: Path) -> None:
    """Build systems compile to /dev/null to find supported options."""
    assert call(plain, *CC, *words, "-o", os.devnull) == ""
    assert {path.name for path in plain.iterdir()} == {"plain.c", "wrong.c"}


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        (
            ["--triple", "x86_64", "--device-compiler", "x86_64=clang-19", "plain.c"],
            "out/a.o: plain.c",
        ),
        (["saxpy.c", "a b.ll"], "out/a.o: saxpy.c\nout/a.o: a\\ b.ll"),
    ],
)
def test_rules_are_of_the_object(words: list[str], rule: str, plain: Path) -> None:
    """The rule names the object even if several compilers and tools make its parts."""
    shutil.copy(BUILDS / "saxpy.ll", plain / "a b.ll")
    shutil.copy(BUILDS / "saxpy.c", plain)
    (plain / "out").mkdir()
    call(plain, *CC, *words, "-MMD", "-c", "-o", "out/a.o")
    assert (plain / "out" / "a.d").read_text() == f"{rule}\n"


@pytest.mark.parametrize("end", ["-E", "-c"])
def test_a_long_command_keeps_what_stands_before_the_compiler(end: str, plain: Path) -> None:
    """Words that do not fit go into a response file, which only a compiler reads."""
    (plain / "words").write_text("".join(f"-D{'LONG' * 16}{i}\n" for i in range(2500)))
    two = ("--triple", "x86_64", "--device-compiler", "x86_64=env A=B clang-19")
    words = (OMPTOOL, "cc", "--cc", "env A=B clang-19", *two, "@words", end, "plain.c")
    call(plain, *words, "-o", "out")
    assert (plain / "out").exists()


def test_c_is_no_cxx_where_nobody_names_the_compiler(plain: Path) -> None:
    (plain / "other.cpp").write_text("")
    shown = (OMPTOOL, "cc", "--dry-run", "--triple", "x86_64", "plain.c", "other.cpp")
    first, second, *_ = done(plain, *shown).stderr.splitlines()
    assert [" -c -x c plain.c" in first, " -c other.cpp" in second] == [True, True]


def test_clang_compiles_for_two_processors_apart(plain: Path) -> None:
    two = ("--triple", "x86_64:haswell", "--triple", "x86_64:znver4")
    said = done(plain, *CC, *two, "--dry-run", "-c", "plain.c").stderr.splitlines()
    assert ["--offload-host-only" in said[0], len(said)] == [True, 3]
    assert ["-march=haswell" in said[1], "-march=znver4" in said[2]] == [True, True]


def test_what_has_no_use_for_an_object_is_said(plain: Path) -> None:
    ran = done(plain, *CC, "--dry-run", "-c", "plain.c", "plain.o")
    assert "Warning: plain.o is ignored: with -c nothing is linked\n" in ran.stderr


def test_no_clang_is_said(plain: Path) -> None:
    ran = done(plain, OMPTOOL, "cc", "--cc", "gcc", "-c", "plain.c")
    assert (ran.returncode, ran.stderr) == (
        0, "Warning: gcc is not clang: its objects have no code for devices\n",
    )  # fmt: skip


@pytest.mark.offloads
@pytest.mark.parametrize(("host", "image"), [("18", "17"), ("22", "23"), ("23", "22")])
def test_a_clang_whose_kernels_have_other_arguments(tmp_path: Path, host: str, image: str) -> None:
    two = ("--cc", shlex.join(tool(host)), "--device-compiler", f"x86_64={shlex.join(tool(image))}")
    call(tmp_path, OMPTOOL, "cc", *two, "--triple", X86_64, *sources(), "-O1", "-o", "app")
    assert printed(tmp_path / "app") == PRINTED


def test_a_clang_whose_kernels_the_host_does_not_call(plain: Path) -> None:
    older = shlex.join(tool("17"))
    ran = done(plain, OMPTOOL, "cc", *OTHER, f"x86_64={older}", "plain.c")
    what = "is clang 17: a program of clang 19 calls kernels of clang 18 or later only"
    assert (ran.returncode, ran.stderr.count("\n")) == (2, 1)
    assert what in ran.stderr


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--cc", "no-such-compiler", "plain.c"], 3, "no-such-compiler cannot be started: No such"),
        (["--triple", "x86_64:", "plain.c"], 2, "'x86_64:' is not TRIPLE[:ARCH]"),
        (
            ["-c", "plain.c", "wrong.c", "-o", "a.o"],
            2,
            "-o names one object",
        ),
        (["a.ll", "b.ll", "plain.c"], 2, "there are several modules of kernels"),
        (["-c", "a.ll"], 2, "with -c, kernels go into the object of one source"),
        (["-fopenmp-targets=x86_64", "--triple", "x86_64", "plain.c"], 2, "use one of them"),
        ([*OTHER, "x86_64=gcc", "plain.c"], 2, "gcc, for x86_64-pc-linux-gnu, is not clang"),
        (["--cc", "'clang", "plain.c"], 2, "is not a command: no closing quotation"),
        ([*OTHER, "x86_64=clang-19", "-xc", "-", "-c"], 2, "standard input can be read only once"),
        (
            ["--cc", OLDEST, "--triple", "nvptx64:sm_80", "plain.c"],
            2,
            "clang 14 cannot compile for a GPU",
        ),
        ([*OTHER, f"x86_64={OLDEST}", "plain.c"], 2, "clang 14 cannot compile beside another"),
        (["a.ll", "plain.c"], 2, "Error: a.ll: No such file or directory"),
        (["--entries", "none", "a.ll", "plain.c"], 2, "none"),
    ],
)
def test_wrong_usage_is_one_line(
    words: list[str], code: int, message: str, plain: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(plain)
    ran = omptool("cc", *words)
    assert ran.exit_code == code
    assert message in ran.output
    assert ran.output.count("\n") == 1
    assert not list(plain.glob("*.o")) + list(plain.glob("a.out"))


def test_arguments_are_asked_for() -> None:
    ran = omptool("cc", "--triple", X86_64)
    assert ran.exit_code == 2
    assert "Missing argument" in ran.output
