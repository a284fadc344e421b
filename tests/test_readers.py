# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Installs without the runtime: the same answers, by Python alone and with what other systems have.

No such system runs the tests: what Python lacks there is hidden (tests/support/other_system.py).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from fixture_programs import NVPTX, OMPTOOL, X86_64, build, call
from machine import output
from places import ROOT, TESTS
from products import Products
from toolchain import PTX

pytestmark = pytest.mark.slow

SYSTEMS = ("darwin", "win32")
LAUNCHER = TESTS / "support" / "other_system.py"
BUILD = "import sys; from scikit_build_core.build import build_wheel; build_wheel(sys.argv[1])"
# Commands that read `app` and `image.so`, and write to `out`.
IMAGE = f"{X86_64}=image.so"
COMMANDS = (
    "dump --json app app.o lib.a image.so fat.bin",
    "dump --images --entries --descriptors app",
    "dump --summary app fat.bin",
    "dump -",
    "dump nothing",
    "dump .",
    "verify app app.o",
    "verify --json fat.bin lib.a",
    "verify --sarif app",
    "verify damaged",
    "extract --all app -o out",
    "extract --all fat.bin -o out --json",
    "extract --image 0 - -o out",
    f"emit --image {IMAGE} --host x86_64 -o out/w.o",
    f"emit --image {IMAGE} --host aarch64 --format asm -o out/w.s",
    f"emit --image {IMAGE} --host x86_64 --format llvm-ir -MD out/w.d -o out/w.ll",
    f"emit --image {IMAGE} --format compressed-bundle -o out/w.bin",
    f"bundle host.o --image {IMAGE} -o out/app.o",
    f"edit app --add {NVPTX}=code.ptx --force -o out/app",
    "edit app --replace 0=image.so -o out/app",
    "edit app --remove 0 -o out/app",
    "config --version",
    "--help",
)
OF_LINUX = (
    "lower in.ll --triple x86_64 -o out/image.so", "link -- cc app.o", "cc -- a.c", "doctor app",
    "devices --json", "run --mandatory app --flag", "worker",
)  # fmt: skip
API = """
import packager
print([image.triple for image in packager.images("app")], packager.verify("app"))
print([kernel.name for kernel in packager.kernels("app")], packager.summary("app").total)
print([one.path for one in packager.extract("app", "out")])
"""


def wheel_of(source: Path, folder: Path, **environment: str) -> Path:
    """Build a wheel as pip does, and return it."""
    folder.mkdir()
    words = [sys.executable, "-c", BUILD, str(folder)]
    own = {name: value for name, value in os.environ.items() if name != "CXX"} | environment
    done = subprocess.run(words, cwd=source, env=own, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (folder / "said").write_text(done.stdout + done.stderr)
    return next(folder.glob("*.whl"))


def fill_python_alone(folder: Path) -> None:
    wheel = wheel_of(ROOT, folder / "wheel", OMPTOOL_RUNTIME="OFF")
    zipfile.ZipFile(wheel).extractall(folder / "installed")
    call(sys.executable, "-m", "compileall", "-q", folder / "installed")


@pytest.fixture(scope="module")
def python_alone(products: Products) -> Path:
    """Provide the folder of a wheel without the runtime, with `installed` in it."""
    return products.folder("python-alone", fill_python_alone)


def fill_files(folder: Path) -> None:
    build("saxpy", folder)
    (folder / "host-bundled.o").rename(folder / "app.o")
    (folder / "kernels.so").rename(folder / "image.so")
    call("ar", "rcs", folder / "lib.a", folder / "app.o")
    (folder / "code.ptx").write_text(PTX)
    images = [f"{X86_64}={folder / 'image.so'}", f"{NVPTX}:sm_70={folder / 'code.ptx'}"]
    options = [word for image in images for word in ("--image", image)]
    call(OMPTOOL, "emit", "--format", "compressed-bundle", *options, "-o", folder / "fat.bin")
    (folder / "damaged").write_bytes((folder / "fat.bin").read_bytes()[:-9])


@pytest.fixture(scope="module")
def files(products: Products) -> Path:
    return products.folder("read-elsewhere", fill_files)


def answer(files: Path, folder: Path, *words: object) -> dict[str, object]:
    """Return the exit code of a command, its output, and the files that it writes."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(files, folder)
    (folder / "out").mkdir()
    with (folder / "app").open("rb") as stdin:
        done = subprocess.run(
            [str(word) for word in words], cwd=folder, stdin=stdin, capture_output=True, check=False
        )
    said: dict[str, object] = {one.name: one.read_bytes() for one in folder.glob("out/*")}
    return said | {"code": done.returncode, "out": done.stdout, "err": done.stderr.decode()}


def elsewhere(system: str, installed: Path) -> list[object]:
    """Return the command prefix that runs installed omptool as on another system."""
    code = "import sys, runpy; sys.path += {!r}; sys.argv = sys.argv[1:]; "
    code += "runpy.run_path(sys.argv[0], run_name='__main__')"
    packages = [path for path in sys.path if path.endswith("site-packages")]
    # -S hides an editable install, which would precede the wheel's packages.
    return [sys.executable, "-S", "-c", code.format(packages), LAUNCHER, system, installed]


# ---- what the wheel is ----


def test_a_wheel_of_python_alone_is_for_any_system(python_alone: Path) -> None:
    (wheel,) = python_alone.glob("wheel/*.whl")
    assert wheel.name.endswith("-py3-none-any.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert not [name for name in names if ".so" in Path(name).suffixes or ".data/" in name]
    (metadata,) = python_alone.glob("installed/*.dist-info/METADATA")
    (llvmlite,) = [one for one in metadata.read_text().splitlines() if "llvmlite" in one][:1]
    assert "sys_platform == " in llvmlite, "it is not for every system and machine"
    (points,) = python_alone.glob("installed/*.dist-info/entry_points.txt")
    assert points.read_text().split() == [
        "[console_scripts]", "omptool", "=", "omptool.__main__:main",
    ]  # fmt: skip


def test_without_a_compiler_there_is_a_wheel_that_says_so(tmp_path: Path) -> None:
    source, tools = tmp_path / "source", tmp_path / "tools"
    for path in output("git", "-C", ROOT, "ls-files").splitlines():
        if path.startswith(("CMake", "LICENSE", "README", "man", "omptool", "packager", "pyproject",
                            "runtime", "scripts")) and (ROOT / path).is_file():  # fmt: skip
            (source / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, source / path)
    tools.mkdir()
    for name in ("cmake", "ninja", "sh"):
        (tools / name).symlink_to(shutil.which(name) or "")
    wheel = wheel_of(source, tmp_path / "wheel", PATH=str(tools))
    said = (tmp_path / "wheel" / "said").read_text()
    line = "omptool is built without its runtime, as there is no C++ compiler"
    assert said.count(line) == 1
    names = zipfile.ZipFile(wheel).namelist()
    assert any(name.endswith(".data/scripts/omptool") for name in names)
    assert any(name.endswith("man1/omptool-dump.1") for name in names)
    assert not [name for name in names if ".so" in Path(name).suffixes or "entry_points" in name]


def test_a_compiler_that_is_named_has_to_be_there(tmp_path: Path) -> None:
    for name in ("CMakeLists.txt", "runtime"):
        (tmp_path / name).symlink_to(ROOT / name)
    words = ["cmake", "-S", str(tmp_path), "-B", str(tmp_path / "build"), "-DOMPTOOL_CXX=nothing++"]
    own = os.environ | {"CXX": "nothing++"}
    done = subprocess.run(words, env=own, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "nothing++" in done.stderr


# ---- what it says ----


# macOS lacks less than Windows, so a few commands suffice.
CASES = [*(("win32", words) for words in COMMANDS), *(("darwin", words) for words in COMMANDS[::4])]


@pytest.mark.parametrize(("system", "words"), CASES)
def test_another_system_gives_the_same_answer(
    system: str, words: str, python_alone: Path, files: Path, tmp_path: Path
) -> None:
    expected = answer(files, tmp_path / "work", OMPTOOL, *words.split())
    start = elsewhere(system, python_alone / "installed")
    assert answer(files, tmp_path / "work", *start, *words.split()) == expected


@pytest.mark.parametrize("system", SYSTEMS)
def test_programs_in_python_read_files_there(
    system: str, python_alone: Path, files: Path, tmp_path: Path
) -> None:
    expected = answer(files, tmp_path / "work", sys.executable, "-c", API)
    assert expected["code"] == 0, expected["err"]
    start = elsewhere(system, python_alone / "installed")
    assert answer(files, tmp_path / "work", *start, "-c", API) == expected


@pytest.mark.parametrize("words", OF_LINUX)
def test_a_command_of_linux_says_so_in_a_line(
    words: str, python_alone: Path, files: Path, tmp_path: Path
) -> None:
    name = words.split(maxsplit=1)[0]
    line = f"Error: {name} works on Linux alone; on this system these commands work: "
    line += "emit, bundle, dump, verify, extract, edit, slim, timeline, stats, config\n"
    start = elsewhere("win32", python_alone / "installed")
    found = answer(files, tmp_path / "work", *start, *words.split())
    assert found == {"code": 125 if name == "run" else 3, "out": b"", "err": line}


NEEDS_RUNTIME = ("devices", "doctor app", "config --libdir", "cc -- a.c", "run ./app")


@pytest.mark.parametrize("words", NEEDS_RUNTIME)
def test_on_linux_a_command_names_the_runtime_that_is_not_there(
    words: str, python_alone: Path, files: Path, tmp_path: Path
) -> None:
    start = elsewhere("linux", python_alone / "installed")
    found = answer(files, tmp_path / "work", *start, *words.split())
    assert found["code"] == (125 if words.startswith("run") else 3)
    (line,) = str(found["err"]).splitlines()
    assert line.endswith(
        "the runtime is not installed: it is for Linux on x86_64 and aarch64, and `pip install` "
        "from sources builds it with a C++20 compiler"
    )
