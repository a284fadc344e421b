# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The wheel, installed by the README's commands, with and without a compiler."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from fixture_programs import build_once
from mpis import EACH, Mpi, job
from places import FIXTURES, ROOT, TESTS
from products import Products
from typed import blocks

from packager.formats.compressed.helper import LIBRARY

pytestmark = [pytest.mark.slow, pytest.mark.offloads]

README = (ROOT / "README.md").read_text()
FIXTURE = ROOT / "fixtures" / "two_images"
TRIPLES = ("x86_64-pc-linux-gnu", "nvptx64-nvidia-cuda")
# Files that make an object an executable; the C library brings them, not a compiler.
STARTUP = ("Scrt1.o", "crti.o", "crtn.o", "libc.so.6", "libm.so.6")


def run(*command: object, env: dict[str, str] | None = None, cwd: Path | None = None) -> str:
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=env, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout


def way() -> dict[str, str]:
    """Return the variables that select the CPU device's way."""
    return {name: value for name, value in os.environ.items() if name.startswith("OMPTOOL_")}


def commands(heading: str) -> list[str]:
    """Return the lines that the README has people type in the section under a heading."""
    return [line for block in blocks(ROOT / "README.md", heading) for line in block.splitlines()]


def picture(command: str) -> str:
    """Return the README's example of the output of a command."""
    shown = README.partition(f"<!-- begin: {command} -->\n```text\n")[2]
    return shown.partition("```")[0]


def shape(text: str) -> list[str]:
    """Return the lines without numbers and without the width of columns."""
    plain = re.sub(r"0x[0-9a-f]+|\d+", "#", text)
    return [re.sub(r"-+", "-", re.sub(r"\s+", " ", line)).strip() for line in plain.splitlines()]


def wheel(folder: Path) -> Path:
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, ROOT)
    (made,) = folder.glob("omptool-*.whl")
    return made


def other_pythons() -> list[str]:
    """Return the oldest and the newest Python on this machine that omptool supports."""
    versions = [f"python3.{minor}" for minor in range(10, 20)]
    found = [path for path in map(shutil.which, versions) if path and runs(path)]
    return sorted({found[0], found[-1]}) if found else []


def runs(python: str) -> bool:
    return subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0


class Installed:
    """The virtual environment of the README with the wheel in it, and no tool on PATH but `ld`."""

    def __init__(self, folder: Path, python: str = sys.executable) -> None:
        self.folder = folder
        self.tools = folder / "tools"
        self.tools.mkdir()
        linker = shutil.which("ld")
        assert linker
        (self.tools / "ld").symlink_to(linker)
        self.wheel = wheel(folder)
        self.python = folder / "python"
        self.python.mkdir()
        (self.python / "python3").symlink_to(python)
        (self.python / "clang").symlink_to(shutil.which("clang-19") or "clang-19")
        self.shell(*(line.replace("omptool", str(self.wheel)) for line in commands("Install")))

    def shell(self, *lines: str, cwd: Path | None = None) -> str:
        """Run commands of the README, on a machine with Python and a C compiler."""
        kept = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
        path = f"{self.folder / 'omp' / 'bin'}:{self.python}:/usr/bin:/bin"
        environment = {"PATH": path, "HOME": os.environ.get("HOME", "/"), **kept} | way()
        script = "\n".join(lines)
        command = ("bash", "-euo", "pipefail", "-c", script)
        return run(*command, env=environment, cwd=cwd or self.folder)

    def __call__(self, *arguments: object, cwd: Path | None = None) -> str:
        environment = {"PATH": str(self.tools), "NO_COLOR": "1"} | way()
        omptool = self.folder / "omp" / "bin" / "omptool"
        return run(omptool, *arguments, env=environment, cwd=cwd)


@pytest.fixture(scope="module")
def omptool(products: Products) -> Installed:
    return products.made("wheel", Installed)


def test_the_readme_alone_gets_to_a_running_program(omptool: Installed, tmp_path: Path) -> None:
    check_the_readme(omptool, tmp_path)


@pytest.mark.exhaustive
@pytest.mark.parametrize("python", other_pythons())
def test_so_it_does_with_other_pythons(tmp_path: Path, python: str) -> None:
    work = tmp_path / "work"
    work.mkdir()
    check_the_readme(Installed(tmp_path, python), work)


def check_the_readme(omptool: Installed, folder: Path) -> None:
    first, then = blocks(ROOT / "README.md", "Your program in a minute")
    said = omptool.shell(*first.splitlines(), cwd=folder)
    assert said == picture("omptool doctor --run -- ./app")
    assert "2 regions ran, all on a device" in omptool.shell(*then.splitlines(), cwd=folder)
    assert "<canvas" in (folder / "timeline.html").read_text()
    *before, dump = commands("Kernels from LLVM IR")
    ran = omptool.shell(*before, cwd=folder)
    assert ran.count("100000 of 100000 elements right, ran on the device") == 3
    assert shape(omptool.shell(dump, cwd=folder)) == shape(picture("omptool dump app"))


def test_the_first_commands_are_right(omptool: Installed, tmp_path: Path) -> None:
    """The commands in README's first table work on the example of the next section."""
    rows = README.partition("| to | type |\n")[2].partition("\n\n")[0].splitlines()[1:]
    lines = [line for row in rows for line in row.split("|")[2].split("`")[1::2]]
    assert len(lines) > 8
    start = 'cp "$(omptool config --exampledir)"/heat/* .'
    build = "omptool cc heat.c norm.c -o last-good; cp last-good app"
    kernels = 'cp "$(omptool config --exampledir)"/saxpy/kernels.ll .'
    omptool.shell(start, build, kernels, *lines, cwd=tmp_path)
    assert (tmp_path / "kernels.ptx").exists()


def test_the_readme_is_short() -> None:
    assert README.count("\n") <= 120
    prose = re.sub(
        r"```.*?```|^\|.*?$|^#.*?$|<!--.*?-->", ".", README, flags=re.DOTALL | re.MULTILINE
    )
    for sentence in re.split(r"[.:;?!](?:\s|$)", prose):
        assert len(sentence.split()) <= 30, sentence


def test_wheel_does_the_main_job_without_a_compiler(omptool: Installed, tmp_path: Path) -> None:
    kernels, host = FIXTURE / "kernels.ll", tmp_path / "host.o"
    include = omptool("config", "--includedir").strip()
    run("gcc", "-O2", f"-I{include}", "-c", FIXTURE / "host.c", "-o", host)  # the user's, elsewhere
    images = []
    for triple in TRIPLES:
        omptool("lower", kernels, "--triple", triple, "-o", f"{triple}.image", cwd=tmp_path)
        images += ["--image", f"{triple}={triple}.image"]
    omptool("bundle", "host.o", *images, "-o", "bundled.o", cwd=tmp_path)
    libdir = omptool("config", "--libdir").strip()
    parts = [run("gcc", f"-print-file-name={name}").strip() for name in STARTUP]
    command = ["ld", "-pie", "-dynamic-linker", "/lib64/ld-linux-x86-64.so.2", *parts[:2]]
    command += ["bundled.o", f"-L{libdir}", "-lomptarget", *parts[3:], parts[2], "-o", "app"]
    run(*command, cwd=tmp_path)
    dumped = omptool("dump", "app", cwd=tmp_path)
    assert all(triple in dumped for triple in TRIPLES)
    omptool("verify", "app", cwd=tmp_path)
    output = omptool("run", "--mandatory", "--plugin", "host", "./app", cwd=tmp_path)
    assert "on the device" in output


def test_wheel_needs_no_library_that_a_compiler_brings(omptool: Installed) -> None:
    libdir = Path(omptool("config", "--libdir").strip())
    for library in (*libdir.glob("*.so"), *omptool.folder.glob(f"omp/lib/*/*/packager/{LIBRARY}")):
        needed = run("readelf", "-d", library)
        assert "libstdc++" not in needed
        assert "libgcc_s" not in needed
        assert str(ROOT) not in run("strings", library)


# Libraries that need the runtime under different names: one maps, one looks up, one runs a region.
USER_16 = (TESTS / "programs" / "wheel" / "user_16.c").read_text()
USER_19 = (TESTS / "programs" / "wheel" / "user_19.c").read_text()
USER_2013 = (TESTS / "programs" / "wheel" / "user_2013.c").read_text()
USERS = (TESTS / "programs" / "wheel" / "users.c").read_text()


def linked_like(folder: Path, source: str, soname: str) -> Path:
    """Link a library that needs LLVM's runtime under `soname`, as its clang would."""
    stand_in = folder / soname
    versions = folder / "versions.map"
    versions.write_text("VERS1.0 { global: *; };")
    calls = ("__tgt_target_data_begin_mapper", "__tgt_target_data_end_mapper")
    defined = "".join(f"void {name}(void) {{}}\n" for name in (*calls, "omp_target_is_present"))
    out = folder / f"libuser{soname.rpartition('so.')[2]}.so"
    for text, product, flags in (
        (defined, stand_in, (f"-Wl,--version-script={versions}", f"-Wl,-soname,{soname}")),
        (source, out, (stand_in,)),
    ):
        code = folder / f"{product.name}.c"
        code.write_text(text)
        run("gcc", "-shared", "-fPIC", code, *flags, "-o", product)
    stand_in.unlink()
    assert f"[{soname}]" in run("readelf", "-d", out)
    return out


def test_wheel_has_the_compiled_helper(omptool: Installed) -> None:
    asked = "from packager.formats.compressed.helper import built; print(bool(built()))"
    python = omptool.folder / "omp" / "bin" / "python"
    assert run(python, "-c", asked, cwd=omptool.folder) == "True\n"


def test_wheel_is_one_runtime_under_all_its_names(omptool: Installed, tmp_path: Path) -> None:
    """DECISIONS 5: one mapping table in a process, whatever its libraries were linked with."""
    include, libdir = (omptool("config", f"--{what}").strip() for what in ("includedir", "libdir"))
    kernels = ROOT / "fixtures" / "proposal" / "kernels.ll"
    omptool("lower", kernels, "--triple", TRIPLES[0], "-o", "kernels.so", cwd=tmp_path)
    (tmp_path / "user.c").write_text(USER_2013)
    run("gcc", "-fPIC", f"-I{include}", "-c", "user.c", "-o", "user.o", cwd=tmp_path)
    image = f"{TRIPLES[0]}=kernels.so"
    words = ("--abi", "proposal", "--image", image, "-o", "user-bundled.o")
    omptool("bundle", "user.o", *words, cwd=tmp_path)
    library = tmp_path / "libuser2013.so"
    run("gcc", "-shared", "user-bundled.o", f"-L{libdir}", "-ltarget", "-o", library, cwd=tmp_path)
    users = [
        linked_like(tmp_path, USER_16, "libomptarget.so.16"),
        linked_like(tmp_path, USER_19, "libomptarget.so.19.1"),
        library,
    ]
    (tmp_path / "users.c").write_text(USERS)
    paths = (f"-Wl,-rpath,{tmp_path}", f"-Wl,-rpath-link,{libdir}")
    run("gcc", "users.c", *users, *paths, "-o", "app", cwd=tmp_path)
    alone = {"LD_LIBRARY_PATH": libdir, "OMP_TARGET_OFFLOAD": "MANDATORY"} | way()
    assert run(tmp_path / "app", env=alone) == "1 0 1 0 3 6\n"
    assert omptool("run", "--mandatory", "./app", cwd=tmp_path) == "1 0 1 0 3 6\n"


@EACH
def test_wheel_has_workers_by_an_mpi_that_it_was_built_without(
    omptool: Installed, products: Products, mpi: Mpi
) -> None:
    libdir = Path(omptool("config", "--libdir").strip())
    for file in (libdir / "mpi" / "libomptarget.rtl.mpi.so", libdir / "omptool-worker"):
        needed = re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-d", file))
        assert not [name for name in needed if "mpi" in name]
    command = (omptool.folder / "omp" / "bin" / "omptool", "run", "--workers", "--mandatory")
    program = build_once("saxpy", products)
    done = job(mpi, "-n", 3, *command, "--plugin", "mpi", program)
    said = (FIXTURES / "saxpy" / "expected.txt").read_text()
    assert (done.returncode, done.stdout) == (0, said), done.stderr


def test_wheel_holds_what_its_users_look_for(omptool: Installed) -> None:
    names = run(sys.executable, "-m", "zipfile", "-l", omptool.wheel)
    for name in (
        "libomptarget.so",
        "libomptarget.so.19.1",
        "libtarget.so",
        "libomptarget.rtl.cuda.so",
        "libomptarget.rtl.host.so",
        "libomptarget.rtl.liboffload.so",
        "libomptarget.rtl.opencl.so",
        "libomptool_observe.so",
        "_runtime/lib/mpi/libomptarget.rtl.mpi.so",
        "_runtime/lib/omptool-worker",
        "omptarget.h",
        "omptarget_rtl.h",
        "libtarget.h",
        "libtarget_rtl.h",
        "examples/builds/CMakeLists.txt",
        "examples/saxpy/kernels.ll",
        "examples/sample_plugin/sample.c",
        "examples/wheel/pyproject.toml",
        "_runtime/lib/LICENSE.omptool",
    ):
        assert f"/{name}" in names
    for name in (
        "omptool.pc",
        "_runtime/lib/cmake/omptool/omptoolConfig.cmake",
        "_runtime/lib/cmake/omptool/omptoolConfigVersion.cmake",
        "_runtime/lib/cmake/omptool/omptoolRuntime.cmake",
        "_runtime/lib/cmake/omptool/omptoolChecks.cmake",
        "data/lib/cmake/omptool/omptoolConfig.cmake",
        "schemas/dump.json",
        "packager/py.typed",
        f"packager/{LIBRARY}",
        "man1/omptool-bundle.1",
        "LICENSE",
    ):
        assert name in names
    assert "/tests/" not in names
    verdicts = omptool("verify", omptool.wheel).splitlines()
    runtime = f"{omptool.wheel}(omptool/_runtime/lib"
    library = f"{runtime}/omptool-devicertl-spirv64.bc)"
    assert [line for line in verdicts if not line.endswith(": no offload code")] == [
        *(
            f"{runtime}/libomptarget.devicertl.host.a({member}.o)): "
            "no findings (1 image, 0 entries; checked all 34 codes)"
            for member in ("pc", "unknown")
        ),
        f"{library}: OMP116 info: image 0 (no triple) is bitcode: compiled when loaded",
        "    it needs a driver or runtime that can compile it",
        f"{library}: no errors, no warnings (1 image, 0 entries; checked all 34 codes)",
    ]
