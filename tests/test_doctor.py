"""`omptool doctor` says what `omptool run` then does, whatever is in the way."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from clangs import INSTALLED, OTHERS, compiled, compiled_by
from fixture_programs import OMPTOOL
from test_openmp import SOUND as OPENMP
from toolchain import compile_c, omptool

from packager.load import load
from packager.loader import libraries

SCHEMA = Path(__file__).parent.parent / "omptool" / "schemas" / "doctor.json"
PROGRAM = """
#include <omp.h>
#include <stdio.h>
int table[4];
#pragma omp declare target to(table)
static int first(void) { int host = 1;
#pragma omp target map(from : host)
host = omp_is_initial_device();
return host; }
static int second(void) { int host = 1;
#pragma omp target map(from : host)
host = omp_is_initial_device() + 0 * table[1];
return host; }
int main(void) { printf("%d%d\\n", first(), second()); return 0; }
"""
VERSIONS = pytest.mark.parametrize("version", sorted((*OTHERS, INSTALLED)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("doctor")


def program(version: str, folder: Path) -> Path:
    (folder / version).mkdir(exist_ok=True)
    source = folder / version / "program.c"
    if not source.exists():
        source.write_text(PROGRAM)
        made = compiled if version == INSTALLED else lambda s, f: compiled_by(version, s, f)
        made(source, folder / version)
    return folder / version / "program"


def diagnosis(path: Path, **environment: str) -> dict[str, Any]:
    done = subprocess.run(
        [OMPTOOL, "doctor", "--json", path],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )
    document = json.loads(done.stdout)
    jsonschema.validate(document, json.loads(SCHEMA.read_text()))
    errors = [f for f in document["findings"] if f["severity"] == "error"]
    away = [entry["reason"] for entry in document["entries"] if entry["reason"]]
    assert done.returncode == (1 if away or errors else 0)
    return dict(document)


def predicted(document: dict[str, Any]) -> str:
    """The program's output, as the diagnosis has it."""
    kernels = [entry for entry in document["entries"] if entry["kind"] == "kernel"]
    return "".join("1" if kernel["runs_on"] == "host" else "0" for kernel in kernels) + "\n"


def output(path: Path, **environment: str) -> str:
    done = subprocess.run(
        [OMPTOOL, "run", path],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )
    return done.stdout


@VERSIONS
@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"OMP_TARGET_OFFLOAD": "DISABLED"},
        {"OMPTOOL_PLUGINS": "none"},
        {"OMP_DEFAULT_DEVICE": "1"},
        {"OMP_DEFAULT_DEVICE": "5"},
        {"OMP_DEFAULT_DEVICE": "1", "OMPTOOL_HOST_DEVICES": "2"},
        {"OMPTOOL_HOST_DEVICES": "0"},
        {"OMPTOOL_QUIET": "1"},
    ],
    ids=lambda e: ",".join(f"{k}={v}" for k, v in e.items()) or "nothing",
)
def test_it_is_right(folder: Path, version: str, environment: dict[str, str]) -> None:
    path = program(version, folder)
    assert predicted(diagnosis(path, **environment)) == output(path, **environment)


def changed(path: Path, out: Path, change: Callable[[bytearray], None]) -> Path:
    """A copy of the program whose image is another."""
    (image,) = load(path).images
    data = bytearray(path.read_bytes())
    content = data[image.offset : image.offset + image.size]
    change(content)
    assert len(content) == image.size
    data[image.offset : image.offset + image.size] = content
    out.write_bytes(data)
    out.chmod(0o755)
    return out


def for_another_machine(image: bytearray) -> None:
    image[18:20] = (183).to_bytes(2, "little")  # e_machine of aarch64


def without_the_second_kernel(image: bytearray) -> None:
    image[:] = image.replace(b"_second_l", b"_sekond_l")


@VERSIONS
@pytest.mark.parametrize("change", [for_another_machine, without_the_second_kernel])
def test_it_is_right_about_wrong_images(
    folder: Path, tmp_path: Path, version: str, change: Callable[[bytearray], None]
) -> None:
    path = changed(program(version, folder), tmp_path / "changed", change)
    document = diagnosis(path)
    assert predicted(document) == output(path)
    (image,) = document["images"]
    if change is for_another_machine:
        assert (image["accepted"], image["rule"]) == (False, "host: it is for another machine")
    else:
        reasons = {entry["reason"] for entry in document["entries"]}
        assert "image 0 lacks it" in reasons


def codes(document: dict[str, Any]) -> set[str]:
    return {finding["code"] for finding in document["findings"]}


def test_libraries_are_those_that_the_loader_picks(folder: Path) -> None:
    path = program(INSTALLED, folder)
    llvm = {"LD_LIBRARY_PATH": "/usr/lib/llvm-19/lib"}
    picked = {lib["name"]: lib["path"] for lib in diagnosis(path, **llvm)["runtime"]["libraries"]}
    said = subprocess.run(
        ["ldd", path], capture_output=True, text=True, check=True, env=os.environ | llvm
    ).stdout
    for line in said.splitlines():
        name, arrow, place = line.strip().partition(" => ")
        if arrow:
            assert picked[name] == place.split(" (")[0]
    assert picked["libomptarget.so.19.1"] == "/usr/lib/llvm-19/lib/libomptarget.so.19.1"


def test_a_runtime_that_is_not_there(folder: Path) -> None:
    """`omptool run` brings it; nobody brings another library."""
    path = program("22", folder)
    document = diagnosis(path)
    (finding,) = (f for f in document["findings"] if "libomptarget" in f["message"])
    assert (finding["code"], finding["severity"]) == ("OMP201", "warning")
    assert "`omptool run`" in finding["hint"]


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


def test_an_old_runtime_and_new_entries(folder: Path, tmp_path: Path) -> None:
    """The 56-byte records of clang 22 on LLVM 19's library under the name that is asked for."""
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
    ],
)
def test_the_environment_is_looked_at(folder: Path, name: str, value: str) -> None:
    path = program(INSTALLED, folder)
    assert "OMP206" not in codes(diagnosis(path))
    assert "OMP206" in codes(diagnosis(path, **{name: value}))


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
    assert "is no program" in result.stderr


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
    found = {one.name: one.path for one in libraries(program, {})}
    assert found[name] is None


@pytest.mark.parametrize("path", OPENMP, ids=lambda path: path.stem)
def test_it_is_right_about_every_construct(tmp_path: Path, path: Path) -> None:
    """They run where the device is mandatory, and nothing is on it without its plugin."""
    made = compiled(path, tmp_path, "-O1")
    document = diagnosis(made)
    assert document["entries"]
    assert {entry["runs_on"] for entry in document["entries"]} == {"device 0 (host)"}
    done = subprocess.run([OMPTOOL, "run", "--mandatory", made], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    without = diagnosis(made, OMPTOOL_PLUGINS="none")
    assert {entry["runs_on"] for entry in without["entries"]} == {"host"}
