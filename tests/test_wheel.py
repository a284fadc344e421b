"""The wheel in an empty environment: no compiler, another directory, the whole road once."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FIXTURE = ROOT / "fixtures" / "two_images"
TRIPLES = ("x86_64-pc-linux-gnu", "nvptx64-nvidia-cuda")
# What makes an object an executable; a C library brings them, not a compiler.
STARTUP = ("Scrt1.o", "crti.o", "crtn.o", "libc.so.6", "libm.so.6")


def run(*command: object, **how: object) -> str:
    done = subprocess.run(  # type: ignore[call-overload]
        [str(word) for word in command], capture_output=True, text=True, check=False, **how
    )
    assert done.returncode == 0, done.stderr
    return str(done.stdout)


class Installed:
    """A virtual environment with the wheel in it, and no tool on PATH but `ld`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tools = folder / "tools"
        self.tools.mkdir()
        linker = shutil.which("ld")
        assert linker
        (self.tools / "ld").symlink_to(linker)
        run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, ROOT)
        (self.wheel,) = folder.glob("omptool-*.whl")
        run(sys.executable, "-m", "venv", folder / "venv")
        run(folder / "venv" / "bin" / "pip", "install", "-q", self.wheel)

    def __call__(self, *arguments: object, cwd: Path | None = None) -> str:
        environment = {"PATH": str(self.tools), "NO_COLOR": "1"}
        omptool = self.folder / "venv" / "bin" / "omptool"
        return run(omptool, *arguments, env=environment, cwd=cwd)


@pytest.fixture(scope="module")
def omptool(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return Installed(tmp_path_factory.mktemp("wheel"))


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
    for library in libdir.glob("*.so"):
        needed = run("readelf", "-d", library)
        assert "libstdc++" not in needed
        assert "libgcc_s" not in needed
        assert str(ROOT) not in run("strings", library)


def test_wheel_holds_what_its_users_look_for(omptool: Installed) -> None:
    names = run(sys.executable, "-m", "zipfile", "-l", omptool.wheel)
    for name in (
        "libomptarget.so",
        "libomptarget.so.19.1",
        "libomptarget.rtl.host.so",
        "omptarget.h",
        "omptarget_rtl.h",
    ):
        assert f"/{name}" in names
    for name in ("omptool.pc", "schemas/dump.json", "man1/omptool-bundle.1", "LICENSE"):
        assert name in names
    assert "/tests/" not in names
