# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""doctor's words about rights, file systems and other runtimes come true."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from clangs import INSTALLED, compiled
from doctoring import PROGRAM, diagnosis, program
from documents import document
from fixture_programs import OMPTOOL
from machine import lacks, with_nothing_to_write
from toolchain import compile_c, omptool

from omptool.installation import libdir
from packager.machine.program import raised_rights

pytestmark = pytest.mark.offloads

PRINTED = {"00\n": "device", "11\n": "host"}
NOBODY = 65534


def happened(path: Path, environment: dict[str, str]) -> str:
    """Return where the regions of a program ran that was started by itself."""
    done = subprocess.run(
        [path], capture_output=True, text=True, check=False, env=os.environ | environment
    )
    return PRINTED[done.stdout] if done.returncode == 0 else "fails"


def foreseen(path: Path, environment: dict[str, str]) -> str:
    return str(diagnosis(path, **environment)["runtime"]["picked"]["outcome"])


@pytest.fixture
def setuid(tmp_path: Path) -> Path:
    """Provide a setuid program with regions that another user owns."""
    source = tmp_path / "program.c"
    source.write_text(PROGRAM)
    path = compiled(source, tmp_path, f"-Wl,-rpath,{libdir()}")
    try:
        os.chown(path, NOBODY, NOBODY)
    except PermissionError:
        lacks("this process may not give files away")
    path.chmod(0o4755)
    if not raised_rights(path):
        lacks("programs get no other rights here")
    return path


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"OMPTOOL_PLUGINS": "none"},
        {"OMP_TARGET_OFFLOAD": "DISABLED"},
        {"LD_LIBRARY_PATH": "/usr/lib/llvm-19/lib"},
        {"LD_PRELOAD": "/usr/lib/llvm-19/lib/libomptarget.so.19.1"},
    ],
    ids=lambda e: ",".join(e) or "nothing",
)
def test_a_setuid_program(setuid: Path, environment: dict[str, str]) -> None:
    """The program ignores all variables but OpenMP's."""
    said = diagnosis(setuid, **environment)
    assert said["runtime"]["picked"]["outcome"] == happened(setuid, environment)
    expected = "it is setuid: the loader ignores the runtime that is put before its own"
    assert said["runtime"]["obstacle"] == expected
    assert omptool("run", setuid).exit_code == 125
    ignored = [name for name in environment if not name.startswith("OMP_")]
    messages = [f["message"] for f in said["findings"] if "ignore" in f["message"]]
    assert all(name in messages[0] for name in ignored)


def test_a_setuid_program_whose_runtime_only_the_environment_names(
    setuid: Path, diagnosed: Path
) -> None:
    shutil.copyfile(program("22", diagnosed), setuid)
    os.chown(setuid, NOBODY, NOBODY)
    setuid.chmod(0o4755)
    environment = {"LD_LIBRARY_PATH": str(libdir())}
    assert foreseen(setuid, environment) == happened(setuid, environment)
    setuid.chmod(0o755)
    assert foreseen(setuid, environment) == happened(setuid, environment) == "device"


def test_a_setuid_program_of_ones_own(setuid: Path) -> None:
    """The program has no rights that its user lacks, so the environment counts."""
    os.chown(setuid, os.getuid(), os.getgid())
    setuid.chmod(0o6755)
    said = diagnosis(setuid)
    assert said["runtime"]["obstacle"] is None
    assert {entry["runs_on"] for entry in said["entries"]} == {"device 0 (host)"}
    assert happened(setuid, {"OMPTOOL_PLUGINS": "none"}) == "host"


def test_a_read_only_file_system(diagnosed: Path) -> None:
    path = program(INSTALLED, diagnosed)
    command = [*with_nothing_to_write(), OMPTOOL, "doctor", "--json", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    said = document("doctor", done.stdout)
    assert {entry["runs_on"] for entry in said["entries"]} == {"device 0 (host)"}
    command = [*with_nothing_to_write(), OMPTOOL, "doctor", "--run", "--", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stderr.endswith("00\n")  # libomp says that it cannot write either


def test_another_runtime_of_omptools(diagnosed: Path, tmp_path: Path) -> None:
    """The other runtime has plugins of its own, or none."""
    path = program(INSTALLED, diagnosed)
    for name in libdir().glob("libomptarget.so*"):
        shutil.copy(name, tmp_path)
    environment = {"LD_LIBRARY_PATH": str(tmp_path)}
    said = diagnosis(path, **environment)
    assert said["runtime"]["picked"]["outcome"] == happened(path, environment) == "host"
    assert "there is no device" in said["runtime"]["picked"]["reason"]
    assert said["runtime"]["obstacle"] is None
    shutil.copy(libdir() / "libomptarget.rtl.host.so", tmp_path)
    assert foreseen(path, environment) == happened(path, environment) == "device"


def test_another_runtime_that_does_not_answer(diagnosed: Path, tmp_path: Path) -> None:
    """An empty library with the name of omptool's version of the calls."""
    script = tmp_path / "exports"
    script.write_text("OMPTARGET_4.5 { global: x; };")
    out = tmp_path / "libomptarget.so.19.1"
    compile_c("int x;", out, "-shared", "-fPIC", f"-Wl,--version-script={script}")
    picked = diagnosis(program(INSTALLED, diagnosed), LD_LIBRARY_PATH=str(tmp_path))["runtime"][
        "picked"
    ]
    assert picked["outcome"] == "unknown"
    assert str(out) in picked["reason"]
    assert "Traceback" not in picked["reason"]
