# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One object, archive or library of a program was compiled without -fopenmp-targets."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from clangs import EVERY, INSTALLED, OFFLOADING, compiled, tool
from documents import document
from running import omptool_run
from toolchain import omptool

import packager
from packager.naming.kernel_names import decode

WORK = """\
void work(int n, double *a) {
#pragma omp target teams distribute parallel for map(tofrom : a[0 : n])
  for (int i = 0; i < n; i++) a[i] *= 2;
}
"""
MAIN = """\
#include <stdio.h>
void work(int n, double *a);
int main(void) {
  double a[100] = {0}, s = 0;
#pragma omp target map(tofrom : s)
  s = 1;
  work(100, a);
  printf("%g\\n", s);
  return 0;
}
"""
INLINED = """\
void work(int n, double *a) {
#pragma omp target map(tofrom : a[0 : n])
  a[0] *= n;
}
"""
ONE = "at least 1 region was compiled for the host alone (work:2)"
CURE = "give -fopenmp-targets=TRIPLE to compiler and linker, or build with `omptool cc`"


def objects(
    folder: Path, version: str = INSTALLED, *flags: str, work: str = WORK
) -> tuple[Path, Path]:
    """Return main's object with device code, and work's without."""
    made = []
    for name, text, how in (("main", MAIN, OFFLOADING[:2]), ("work", work, OFFLOADING[:1])):
        source = folder / f"{name}.c"
        source.write_text(text)
        out = folder / f"{name}.o"
        call(*tool(version, "clang"), *how, *flags, "-fPIC", "-c", source, "-o", out)
        made.append(out)
    return made[0], made[1]


def call(*words: object) -> None:
    subprocess.run([str(word) for word in words], check=True)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide a program whose archive was compiled for the host alone."""
    folder = tmp_path_factory.mktemp("archive")
    _, work = objects(folder)
    call("ar", "rcs", folder / "libwork.a", work)
    return compiled(folder / "main.c", folder, "-O2", str(folder / "libwork.a"))


@pytest.fixture(scope="module")
def with_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide a program whose shared library was compiled for the host alone."""
    folder = tmp_path_factory.mktemp("library")
    _, work = objects(folder)
    call(*tool(INSTALLED, "clang"), "-fopenmp", "-shared", work, "-o", folder / "libwork.so")
    words = (f"-L{folder}", "-lwork", f"-Wl,-rpath,{folder}")
    return compiled(folder / "main.c", folder, "-O2", *words)


@pytest.mark.parametrize("version", EVERY)
def test_debug_information_names_what_is_inlined(tmp_path: Path, version: str) -> None:
    """The optimizer leaves no function of a region without teams, but its name with -g."""
    main, work = objects(tmp_path, version, "-O2", "-g", work=INLINED)
    symbols = subprocess.run(["nm", work], capture_output=True, text=True, check=False).stdout
    assert "__omp_offloading" not in symbols
    both = tmp_path / "both.o"
    call("ld", "-r", main, work, "-o", both)
    assert f"OMP133 warning: {ONE}" in omptool("verify", both).stdout
    call("strip", "-g", both)
    assert "OMP133" not in omptool("verify", both).stdout


@pytest.mark.parametrize("version", EVERY)
@pytest.mark.parametrize("flags", [("-O0",), ("-O2",), ("-O0", "-g")], ids=" ".join)
def test_names_of_each_clang(tmp_path: Path, version: str, flags: tuple[str, ...]) -> None:
    """Clang up to 16 names only the function that -O0 leaves."""
    if int(version) < 17 and "-O2" in flags:
        pytest.skip("this clang leaves no function that names the region")
    both = tmp_path / "both.o"
    call("ld", "-r", *objects(tmp_path, version, *flags), "-o", both)
    assert f"{both}: OMP133 warning: {ONE}" in omptool("verify", both).stdout


def test_verify(program: Path) -> None:
    done = omptool("verify", program)
    expected = f"{program}: OMP133 warning: {ONE}, without -fopenmp-targets\n    {CURE}\n"
    assert (done.exit_code, done.stdout) == (0, expected)
    assert omptool("verify", "--strict", program).exit_code == 1
    assert "OMP133" not in omptool("verify", "--ignore", "OMP133", program).stdout


def test_the_library_finds_the_same(program: Path) -> None:
    (checked,) = packager.verify(str(program))
    assert [finding.code for finding in checked.findings] == ["OMP133"]
    assert checked.binary.host_only
    assert [str(decode(name)) for name in checked.binary.host_only.regions] == ["work:2"]


def test_an_archive(program: Path) -> None:
    archive = program.parent / "libwork.a"
    done = omptool("verify", "--strict", archive)
    assert done.exit_code == 1
    assert f"{archive}(work.o): OMP133 warning: clang compiled target regions" in done.stdout
    call("ar", "rcs", program.parent / "both.a", *objects(program.parent))
    said = omptool("verify", program.parent / "both.a").stdout
    assert "both.a(work.o): OMP133 warning" in said
    assert "both.a(main.o): OMP101 info" in said


def test_required_entries(program: Path) -> None:
    assert omptool("verify", "--require-entries", program).exit_code == 0
    archive = program.parent / "libwork.a"
    done = omptool("verify", "--require-entries", program, archive)
    assert done.exit_code == 1
    assert done.stderr == f"Error: {archive}: has no entry, and --require-entries is given\n"


@pytest.mark.offloads
def test_doctor(program: Path) -> None:
    done = omptool("doctor", program)
    assert done.exit_code == 1
    verdict = f"{ONE}; under `omptool run` all else runs on a device (1 device)"
    assert done.stdout.startswith(f"{program}: {verdict}\n")
    said = document("doctor", omptool("doctor", "--json", program).stdout)
    assert [(r["source"], r["file"]) for r in said["host_only"]] == [("work:2", str(program))]


@pytest.mark.offloads
def test_doctor_of_a_library(with_library: Path) -> None:
    done = omptool("doctor", with_library)
    assert done.exit_code == 1
    assert f": {ONE}; under `omptool run` all else runs on a device" in done.stdout
    library = with_library.parent / "libwork.so"
    assert f"OMP211 warning: {library}: clang compiled target regions" in done.stdout


@pytest.mark.offloads
def test_doctor_of_a_run(program: Path, with_library: Path) -> None:
    for path in (program, with_library):
        done = omptool("doctor", "--run", "--", path)
        assert done.exit_code == 1
        verdict = f"1 region ran, on a device; {ONE}; the program exited with 0"
        assert done.stdout.startswith(f"{path}: {verdict}\n")
        json = omptool("doctor", "--run", "--json", "--", path)
        assert json.exit_code == 1
        assert [r["source"] for r in document("doctor-run", json.stdout)["host_only"]] == ["work:2"]


@pytest.mark.offloads
def test_doctor_of_a_script_that_runs_it(tmp_path: Path, program: Path, with_library: Path) -> None:
    """The program registers its own region, and so doctor reads its file and its libraries."""
    for path in (program, with_library):
        script = tmp_path / "script"
        script.write_text(f"#!/bin/sh\n{path}\n")
        script.chmod(0o755)
        done = omptool("doctor", "--run", "--", script)
        verdict = f"1 region ran, on a device; {ONE}; the program exited with 0"
        assert (done.exit_code, done.stdout.splitlines()[0]) == (1, f"{script}: {verdict}")


def test_a_device_is_mandatory(program: Path, with_library: Path) -> None:
    for path in (program, with_library):
        done = omptool_run("--mandatory", path)
        assert (done.returncode, done.stdout) == (125, "")
        why = "(work:2), without -fopenmp-targets: with --mandatory the program is not started; "
        assert f"{why}{CURE}\n" in done.stderr


@pytest.mark.offloads
@pytest.mark.parametrize("option", ["--summary", "--check"])
def test_a_report_on_the_run_says_what_it_lacks(
    program: Path, with_library: Path, option: str
) -> None:
    for path, file in ((program, program), (with_library, with_library.parent / "libwork.so")):
        (note,) = (
            line for line in omptool_run(option, path).stderr.splitlines() if "Note:" in line
        )
        assert note.startswith(f"Note: {file}: ")
        assert note.endswith(f"for the host alone (work:2), without -fopenmp-targets; {CURE}")


@pytest.mark.offloads
def test_a_region_whose_if_is_always_false(tmp_path: Path) -> None:
    """The region has no kernel by the program's own choice, although its source has entries."""
    loop = "  for (int i = 0; i < 100; i++) a[i] = i;\n"
    never = "#pragma omp target teams distribute parallel for if(target : 0)\n"
    (tmp_path / "main.c").write_text(MAIN.replace("  work(100, a);\n", f"{never}{loop}"))
    path = compiled(tmp_path / "main.c", tmp_path, "-Wno-unused")
    assert (
        "main_l7"
        in subprocess.run(["nm", path], capture_output=True, text=True, check=False).stdout
    )
    assert "OMP133" not in omptool("verify", path).stdout
    assert "everything runs on a device" in omptool("doctor", path).stdout


@pytest.mark.offloads
def test_stripped_files_show_nothing(program: Path, tmp_path: Path) -> None:
    call("strip", program, "-o", tmp_path / "stripped")
    assert "everything runs on a device" in omptool("doctor", tmp_path / "stripped").stdout


@pytest.mark.offloads
def test_run_prints_one_line(program: Path, tmp_path: Path) -> None:
    """Only a program without any device code gets it."""
    _, work = objects(tmp_path)
    plain = tmp_path / "plain"
    call(*tool(INSTALLED, "clang"), "-fopenmp", tmp_path / "main.c", work, "-o", plain)
    what = f"omptool: {plain} has target regions but no device code: "
    end = "compile and link with -fopenmp-targets=…; OMPTOOL_QUIET=1 hides this line\n"
    assert omptool_run(plain).stderr == what + end
    assert omptool_run(plain, OMPTOOL_QUIET="1").stderr == ""
    assert omptool_run(program).stderr == ""
    library = tmp_path / "libwork.so"
    call(*tool(INSTALLED, "clang"), "-fopenmp", "-shared", work, "-o", library)
    (tmp_path / "main.c").write_text(MAIN.replace("#pragma omp", "//"))
    user = tmp_path / "user"
    words = (tmp_path / "main.c", library, f"-Wl,-rpath,{tmp_path}", "-o", user)
    call(*tool(INSTALLED, "clang"), *words)
    assert (
        omptool_run(user).stderr == f"omptool: {user} has target regions but no device code: {end}"
    )


def test_link_warns(tmp_path: Path) -> None:
    out = tmp_path / "app"
    words = (*tool(INSTALLED, "clang"), "-fopenmp", *objects(tmp_path), "-o", out)
    done = omptool("link", "--", *words)
    assert done.exit_code == 0
    assert f"OMP133: {ONE}, without -fopenmp-targets" in done.stderr
