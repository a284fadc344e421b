# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool doctor` predicts `omptool run`, whatever is in the way."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from builds import Build, two_clangs
from clangs import FULL, INSTALLED, NEWEST, compiled, stem
from doctoring import (
    PROGRAM,
    changed,
    codes,
    diagnosis,
    for_another_machine,
    output,
    predicted,
    program,
    started,
    without_its_end,
    without_the_second_kernel,
)
from outcomes import Programs
from toolchain import compile_c, omptool
from whole_programs import FIGURES, PROGRAMS, REFUSED, SOUND, builds, chosen, is_error

from omptool import installation
from packager.elf import headers
from packager.files.reader import open_reader
from packager.machine import dynamic_loader
from packager.machine.dynamic_loader import libraries

pytestmark = [pytest.mark.offloads, pytest.mark.slow]

RUNNING = [path for path in FIGURES if path.stem not in REFUSED and not is_error(path)]


def is_diagnosed(path: Path, build: Build) -> bool:
    """Return whether `make test` has this case: two builds in turn, and every fourth figure."""
    built = [one.version for one in chosen(path)]
    in_turn = build.version in two_clangs(PROGRAMS.index(path), built)
    return in_turn and (path in SOUND or RUNNING.index(path) % 4 == 0)


DIAGNOSED = [
    pytest.param(
        path,
        build,
        id=f"{path.stem}-{build}",
        marks=() if is_diagnosed(path, build) else pytest.mark.exhaustive,
    )
    for path in [*SOUND, *RUNNING]
    for build in builds(path)
]
NOT_LOADED = 127  # the loader's status when it does not find a library
EACH = pytest.mark.parametrize("version", FULL)


@pytest.fixture
def folder(diagnosed: Path) -> Path:
    return diagnosed


ENVIRONMENTS: list[dict[str, str]] = [
    {},
    {"OMP_TARGET_OFFLOAD": "DISABLED"},
    {"OMPTOOL_PLUGINS": "none"},
    {"OMP_DEFAULT_DEVICE": "1"},
    {"OMP_DEFAULT_DEVICE": "5"},
    {"OMP_DEFAULT_DEVICE": "1", "OMPTOOL_HOST_DEVICES": "2"},
    {"OMPTOOL_HOST_DEVICES": "0"},
    {"OMPTOOL_QUIET": "1"},
    {"OMPTOOL_HOST_MEMORY": "shared"},
    {"OMP_TARGET_OFFLOAD": "MANDATORY"},
    {"CUDA_VISIBLE_DEVICES": "", "ROCR_VISIBLE_DEVICES": "-1"},
    {"OMPTOOL_PLUGIN_PATH": "/nowhere"},
]
# Programs in environments: two clangs in turn in `make test`, each in `make test-all`.
IN_ENVIRONMENTS = [
    pytest.param(
        version,
        environment,
        marks=() if version in two_clangs(turn) else pytest.mark.exhaustive,
        id="-".join([version, *(f"{k}={v}" for k, v in environment.items())]),
    )
    for turn, environment in enumerate(ENVIRONMENTS)
    for version in FULL
]


@pytest.mark.parametrize(("version", "environment"), IN_ENVIRONMENTS)
def test_it_is_right(folder: Path, version: str, environment: dict[str, str]) -> None:
    path = program(version, folder)
    assert predicted(diagnosis(path, **environment)) == output(path, **environment)


@EACH
@pytest.mark.parametrize("change", [for_another_machine, without_the_second_kernel])
def test_it_is_right_about_wrong_images(
    folder: Path, tmp_path: Path, version: str, change: Callable[[bytearray], None]
) -> None:
    path = changed(program(version, folder), tmp_path / "changed", change)
    document = diagnosis(path)
    assert predicted(document) == output(path)
    (image,) = document["images"]
    if change is for_another_machine:
        assert not image["accepted"]
        assert image["rule"] == "it is for aarch64, and this machine is x86_64"
        assert f"accepts an image of this program: {image['rule']}\n" in started(path).stderr
    else:
        reasons = {entry["reason"] for entry in document["entries"]}
        assert "image 0 lacks it" in reasons


# Half of each clang's image, and other parts of one.
@pytest.mark.parametrize(
    ("version", "part"),
    [*((version, 0.5) for version in FULL), (INSTALLED, 0.25), (INSTALLED, 0.9)],
)
def test_an_image_whose_end_is_gone_stays_on_the_host(
    folder: Path, tmp_path: Path, version: str, part: float
) -> None:
    """The dynamic linker would end the program without a line."""
    path = changed(program(version, folder), tmp_path / "changed", without_its_end(part))
    assert predicted(diagnosis(path)) == "11\n"
    done = started(path)
    assert (done.returncode, done.stdout) == (0, "11\n")
    assert all("its end is gone" in line for line in done.stderr.splitlines())
    assert len(done.stderr.splitlines()) == 2


def test_an_image_without_section_headers_and_without_its_end(tmp_path: Path) -> None:
    """Only the dynamic section shows that the image is truncated."""
    path = program(INSTALLED, tmp_path)

    def change(image: bytearray) -> None:
        without_its_end(0.5)(image)
        image[0x28:0x30] = bytes(8)  # e_shoff
        image[0x3C:0x40] = bytes(4)  # e_shnum, e_shstrndx

    path = changed(path, tmp_path / "changed", change)
    assert predicted(diagnosis(path)) == "11\n"
    done = started(path)
    assert (done.returncode, done.stdout) == (0, "11\n")
    assert "its dynamic section is empty or cut off" in done.stderr


@EACH
@pytest.mark.parametrize("in_the_way", [{"OMPTOOL_PLUGINS": "none"}, {"OMP_DEFAULT_DEVICE": "3"}])
def test_what_must_offload_and_cannot(
    folder: Path, version: str, in_the_way: dict[str, str]
) -> None:
    environment = {"OMP_TARGET_OFFLOAD": "MANDATORY", **in_the_way}
    document = diagnosis(program(version, folder), **environment)
    said = [f["message"] for f in document["findings"] if f["code"] == "OMP206"]
    assert any("MANDATORY: the first region ends the program" in message for message in said)
    done = started(program(version, folder), **environment)
    assert (done.returncode, done.stdout) == (-signal.SIGABRT, "")


INSTALLATION = """
import sys
from pathlib import Path
from omptool import installation
root = Path(sys.argv.pop(1))
installation.runtime_root = lambda: root
from omptool.cli import cli
cli()
"""


def test_a_plugin_taken_away_and_put_back(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(installation.runtime_root(), tmp_path / "root")
    monkeypatch.setattr(installation, "runtime_root", lambda: tmp_path / "root")
    plugin = installation.libdir() / "libomptarget.rtl.host.so"
    path = program(NEWEST, folder)
    broken = compile_c("int x;", tmp_path / "broken.so", "-shared")
    away = plugin.rename(tmp_path / "away")
    for instead, expected in ((None, "11\n"), (broken, "11\n"), (away, "00\n")):
        if instead:
            shutil.copy(instead, plugin)
        assert predicted(diagnosis(path)) == expected
        command = [sys.executable, "-c", INSTALLATION, str(tmp_path / "root"), "run", str(path)]
        assert (
            subprocess.run(command, capture_output=True, text=True, check=False).stdout == expected
        )


def test_a_plugin_that_is_put_before_the_own_one(folder: Path, tmp_path: Path) -> None:
    compile_c("int x;", tmp_path / "libomptarget.rtl.host.so", "-shared")
    path, before = program("19", folder), {"OMPTOOL_PLUGIN_PATH": str(tmp_path)}
    assert predicted(diagnosis(path, **before)) == output(path, **before)


@pytest.mark.parametrize(
    "path", ["{}", "/nowhere:{}", "/nowhere;{}", ":/nowhere", "/nowhere:", ";"]
)
def test_libraries_are_those_that_the_loader_picks(
    folder: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """A folder without a name is the one in which the program is started."""
    monkeypatch.chdir("/usr/lib/llvm-19/lib")
    llvm = {"LD_LIBRARY_PATH": path.format("/usr/lib/llvm-19/lib")}
    executable = program(INSTALLED, folder)
    runtime = diagnosis(executable, **llvm)["runtime"]
    picked = {lib["name"]: lib["path"] for lib in runtime["libraries"]}
    ldd = ["ldd", str(executable)]
    said = subprocess.check_output(ldd, text=True, env=os.environ | llvm)
    for line in said.splitlines():
        name, arrow, place = line.strip().partition(" => ")
        if arrow:
            assert Path(picked[name]) == Path(place.split(" (")[0])
    assert Path(picked["libomptarget.so.19.1"]).parent in (Path(), Path("/usr/lib/llvm-19/lib"))


def test_a_runtime_that_is_not_there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`omptool run` provides the runtime, but no other library."""
    path = program("22", folder)
    installed = dynamic_loader._cache  # a machine may have this release's
    monkeypatch.setattr(dynamic_loader, "_cache", lambda code: _without_runtimes(installed(code)))
    monkeypatch.setattr(dynamic_loader, "DEFAULT_FOLDERS", ("/nowhere",))
    document = diagnosis(path)
    (finding,) = (f for f in document["findings"] if "libomptarget" in f["message"])
    assert (finding["code"], finding["severity"]) == ("OMP201", "warning")
    assert "`omptool run`" in finding["hint"]
    assert document["runtime"]["obstacle"] is None


def _without_runtimes(cache: Mapping[str, Path]) -> dict[str, Path]:
    return {name: path for name, path in cache.items() if not name.startswith("libomptarget")}


def test_a_library_that_nobody_has(folder: Path, tmp_path: Path) -> None:
    compile_c("int f(void) { return 1; }", tmp_path / "libgone.so", "-shared", "-fPIC")
    source = tmp_path / "needs.c"
    source.write_text(
        PROGRAM.replace("int main", "int f(void);\nint main").replace("0;", "f() - 1;")
    )
    path = compiled(source, tmp_path, "-L", str(tmp_path), "-lgone")
    (tmp_path / "libgone.so").unlink()
    document = diagnosis(path)
    (finding,) = (f for f in document["findings"] if "libgone.so" in f["message"])
    assert (finding["code"], finding["severity"]) == ("OMP201", "error")
    lack = f"libgone.so, which {path} needs, is not found"
    assert document["runtime"]["obstacle"] == document["runtime"]["picked"]["reason"] == lack
    verdict = omptool("doctor", path).stdout.splitlines()[0]
    assert verdict == f"{path}: under `omptool run` it does not start: {lack}"
    assert started(path).returncode == NOT_LOADED


def test_an_old_runtime_and_new_entries(folder: Path, tmp_path: Path) -> None:
    """Clang 22's 56-byte records meet LLVM 19's library under the needed name."""
    (tmp_path / "libomptarget.so.22.1").symlink_to("/usr/lib/llvm-19/lib/libomptarget.so.19.1")
    document = diagnosis(program("22", folder), LD_LIBRARY_PATH=str(tmp_path))
    assert "OMP202" in codes(document)
    assert "OMP202" not in codes(diagnosis(program("19", folder)))


def test_an_image_for_a_gpu(folder: Path) -> None:
    from toolchain import HOST, MAIN, NVPTX, PTX, bundled, linked

    from omptool.installation import libdir

    host = compile_c(HOST + MAIN, folder / "gpu.o", "-c", "-fPIC")
    (folder / "gpu.ptx").write_text(PTX)
    out = bundled(host, folder / "gpu-bundled.o", {f"{NVPTX}:sm_70": folder / "gpu.ptx"})
    path = linked([out], folder / "gpu", runtime=libdir() / "libomptarget.so")
    document = diagnosis(path)
    if "OMP204" in codes(document):  # there is no driver here
        assert all("there is no device" in entry["reason"] for entry in document["entries"])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OMP_TARGET_OFFLOAD", "SOMETIMES"),
        ("OMP_DEFAULT_DEVICE", "first"),
        pytest.param("OMP_DEFAULT_DEVICE", "9" * 5000, id="digits"),
        ("CUDA_VISIBLE_DEVICES", ""),
        ("LIBOMPTARGET_DEBUG", "1"),
    ],
)
def test_the_environment_is_looked_at(folder: Path, name: str, value: str) -> None:
    path = program(INSTALLED, folder)
    assert "OMP206" not in codes(diagnosis(path))
    assert "OMP206" in codes(diagnosis(path, **{name: value}))
    assert "OMP206" not in codes(diagnosis(path, LIBOMPTARGET_INFO="1"))


def test_the_verdict_comes_first(folder: Path) -> None:
    path = program(INSTALLED, folder)
    first, *_ = omptool("doctor", path).stdout.splitlines()
    assert first == f"{path}: under `omptool run` everything runs on a device (1 device)"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"text", "is neither an ELF file nor"),
        (b"\x7fELF", "ELF file at 0x0 is not 64-bit"),
    ],
)
def test_bad_input(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "bad"
    path.write_bytes(content)
    result = omptool("doctor", path)
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"Error: {path}: {message}")


def test_an_object_is_no_program(tmp_path: Path) -> None:
    path = compile_c("int x;", tmp_path / "x.o", "-c")
    result = omptool("doctor", path)
    assert result.exit_code == 2
    assert "is not a program" in result.stderr


def test_a_program_without_offload_code(tmp_path: Path) -> None:
    path = compile_c("int main(void) { return 0; }", tmp_path / "plain")
    result = omptool("doctor", path)
    assert (result.exit_code, result.stdout) == (0, f"{path}: no offload code\n")


def test_a_library_whose_name_no_file_can_have(tmp_path: Path) -> None:
    name = "lib" + "x" * 300 + ".so"
    library = compile_c("int x;", tmp_path / "short.so", "-shared", f"-Wl,-soname,{name}")
    source = "extern int x; int main(void) { return x; }"
    flags = (str(library), "-Wl,--unresolved-symbols=ignore-all")
    program = compile_c(source, tmp_path / "program", *flags)
    with open_reader(program) as data:
        found = {one.name: one.path for one in libraries(program, headers.read(data), {})}
    assert found[name] is None


@pytest.mark.parametrize(("program", "build"), DIAGNOSED)
def test_it_is_right_about_real_programs(programs: Programs, program: Path, build: Build) -> None:
    """Programs run with a mandatory device, and fail without its plugin, as predicted."""
    assert programs.outcome(build, program).ran
    made = programs.path(build, program)
    document = diagnosis(made)
    # Clangs up to 17 make no region for interop objects.
    has_none = program.stem == "interop" and build.version in ("14", "16", "17")
    assert document["entries"] or has_none
    assert {entry["runs_on"] for entry in document["entries"]} <= {"device 0 (host)"}


@pytest.mark.parametrize("program", SOUND, ids=stem)
def test_nothing_runs_on_a_device_without_its_plugin(programs: Programs, program: Path) -> None:
    build = next(one for one in chosen(program) if one.version == INSTALLED)
    assert programs.outcome(build, program).ran
    made = programs.path(build, program)
    without = diagnosis(made, OMPTOOL_PLUGINS="none")
    assert {entry["runs_on"] for entry in without["entries"]} == {"host"}
    mandatory = {"OMPTOOL_PLUGINS": "none", "OMP_TARGET_OFFLOAD": "MANDATORY"}
    assert started(made, **mandatory).returncode == -signal.SIGABRT
