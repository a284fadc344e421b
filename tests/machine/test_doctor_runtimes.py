"""What doctor says of LLVM's own runtimes: they are put where the loader looks first, and run."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from clangs import INSTALLED, libraries, unpacked
from doctoring import (
    changed,
    codes,
    diagnosis,
    for_another_machine,
    program,
    without_a_library,
    without_the_second_kernel,
)
from machine import moved, with_tmp
from toolchain import HOST, MAIN, X86_64, bundled, compile_c, device_image, linked

from omptool.installation import libdir
from packager.machine.program import inspect_program

pytestmark = pytest.mark.offloads

# What a program prints whose regions run on a device, and on the host.
PRINTED = {"00\n": "device", "11\n": "host"}
EVERY = ("14", "16", "19", "22")
OWN = [(version, version) for version in EVERY]
ALL = [(version, runtime) for version in EVERY for runtime in EVERY]


def runtime_of(version: str) -> Path:
    """LLVM's library of a release."""
    usr = Path("/usr") if version == INSTALLED else unpacked(version)
    name = "libomptarget.so" if version == "14" else f"libomptarget.so.{SONAMES[version]}"
    return usr / f"lib/llvm-{version}/lib" / name


INSTALLED_LIBRARIES = libraries(INSTALLED)
NOEXEC = SimpleNamespace(f_flag=os.ST_NOEXEC)
SONAMES = {"16": "16", "19": "19.1", "22": "22.1"}


def search(path: Path, version: str, folder: Path) -> dict[str, str]:
    """An environment in which the loader takes LLVM's library of a release for the one wanted."""
    asked = inspect_program(path)
    assert asked
    (name,) = asked.offload_libraries
    folder.mkdir(exist_ok=True)
    (folder / name).symlink_to(runtime_of(version))
    return {"LD_LIBRARY_PATH": f"{folder}:{libraries(version)}:/usr/lib/llvm-19/lib"}


def happened(path: Path, environment: dict[str, str]) -> str:
    """Where the regions of a program ran that was started by itself."""
    done = subprocess.run(
        [path], capture_output=True, text=True, check=False, env=os.environ | environment
    )
    return PRINTED[done.stdout] if done.returncode == 0 else "fails"


def foreseen(path: Path, environment: dict[str, str]) -> str:
    return str(diagnosis(path, **environment)["runtime"]["picked"]["outcome"])


@pytest.mark.parametrize(("version", "runtime"), ALL)
def test_each_program_on_each_runtime(
    diagnosed: Path, tmp_path: Path, version: str, runtime: str
) -> None:
    path = program(version, diagnosed)
    environment = search(path, runtime, tmp_path / "lib")
    document = diagnosis(path, **environment)
    picked = document["runtime"]["picked"]
    assert picked["llvm"] == int(runtime)
    assert picked["outcome"] == happened(path, environment)
    assert ("OMP202" in codes(document)) == (picked["outcome"] != "device")


@pytest.mark.parametrize(("version", "runtime"), [*OWN, ("16", "22"), ("22", "16")])
@pytest.mark.parametrize(
    "more",
    [
        {"OMP_TARGET_OFFLOAD": "DISABLED"},
        {"OMP_TARGET_OFFLOAD": "MANDATORY"},
        {"OMP_DEFAULT_DEVICE": "3"},
        {"OMP_DEFAULT_DEVICE": "5"},
    ],
    ids=lambda e: ",".join(f"{k}={v}" for k, v in e.items()),
)
def test_variables_there(
    diagnosed: Path, tmp_path: Path, version: str, runtime: str, more: dict[str, str]
) -> None:
    path = program(version, diagnosed)
    environment = search(path, runtime, tmp_path / "lib") | more
    assert foreseen(path, environment) == happened(path, environment)


def without_the_variable(image: bytearray) -> None:
    image[:] = image.replace(b"table\0", b"tuble\0")


@pytest.mark.parametrize(("version", "runtime"), [*OWN, ("14", "19"), ("19", "22")])
@pytest.mark.parametrize(
    "change",
    [for_another_machine, without_the_second_kernel, without_the_variable, without_a_library],
)
def test_wrong_images_there(
    diagnosed: Path,
    tmp_path: Path,
    version: str,
    runtime: str,
    change: Callable[[bytearray], None],
) -> None:
    path = changed(program(version, diagnosed), tmp_path / "changed", change)
    environment = search(path, runtime, tmp_path / "lib")
    assert foreseen(path, environment) == happened(path, environment)


@pytest.mark.parametrize("version", EVERY)
@pytest.mark.parametrize("option", ["ro", "noexec"])
def test_a_folder_that_takes_no_images(
    diagnosed: Path, monkeypatch: pytest.MonkeyPatch, version: str, option: str
) -> None:
    path = program(version, diagnosed)
    folders = [*libraries(version).split(":"), INSTALLED_LIBRARIES]
    there = ":".join(str(moved(Path(folder))) for folder in folders)
    environment = os.environ | {"LD_LIBRARY_PATH": there}
    done = subprocess.run([*with_tmp(option), moved(path)], check=False, env=environment)
    assert done.returncode == -signal.SIGABRT
    if option == "ro":
        monkeypatch.setattr("omptool.probes.machine.os.access", lambda *_: False)
    else:
        monkeypatch.setattr("omptool.probes.machine.os.statvfs", lambda _: NOEXEC)
    document = diagnosis(path, LD_LIBRARY_PATH=":".join(folders))
    assert document["runtime"]["picked"]["outcome"] == "fails"
    assert "OMP207" in codes(document)
    ours = diagnosis(path, LD_LIBRARY_PATH=str(libdir()))
    assert (ours["runtime"]["picked"]["outcome"], codes(ours)) == ("device", set())


def test_a_library_of_the_runtime_is_not_there(diagnosed: Path, tmp_path: Path) -> None:
    """LLVM 16's needs a libLLVM, here one that there never was."""
    path, runtime = program("16", diagnosed), runtime_of("16")
    whole = runtime.read_bytes()
    (tmp_path / runtime.name).write_bytes(whole.replace(b"libLLVM-16.so.1", b"libLLVM-00.so.1"))
    environment = {"LD_LIBRARY_PATH": f"{tmp_path}:{libraries('16')}"}
    picked = diagnosis(path, **environment)["runtime"]["picked"]
    assert picked["outcome"] == happened(path, environment) == "fails"
    assert picked["reason"].startswith("libLLVM-00.so.1, which ")


@pytest.mark.parametrize("version", ["14", "16"])
def test_their_plugins_taken_away_and_put_back(
    diagnosed: Path, tmp_path: Path, version: str
) -> None:
    """Up to LLVM 18 the code for each kind of device is a library of its own."""
    path, folder = program(version, diagnosed), tmp_path / "lib"
    folder.mkdir()
    shutil.copy(runtime_of(version), folder)
    others = ":".join(place for place in libraries(version).split(":") if "linux-gnu" in place)
    environment = {"LD_LIBRARY_PATH": f"{folder}:{others}"}
    mandatory = {**environment, "OMP_TARGET_OFFLOAD": "MANDATORY"}
    assert foreseen(path, environment) == happened(path, environment) == "host"
    assert foreseen(path, mandatory) == happened(path, mandatory) == "fails"
    plugins = list(runtime_of(version).parent.glob("libomptarget.rtl.x86_64.so*"))
    for plugin in plugins:
        shutil.copy(plugin, folder)
    assert foreseen(path, environment) == happened(path, environment) == "device"
    for plugin in plugins:
        whole = plugin.read_bytes()
        (folder / plugin.name).write_bytes(whole.replace(b"libstdc++.so.6", b"libstdc++.so.0"))
    assert foreseen(path, environment) == happened(path, environment) == "host"
    said = [f["message"] for f in diagnosis(path, **environment)["findings"]]
    assert any("libstdc++.so.0, which" in message for message in said)


@pytest.mark.parametrize("version", EVERY)
@pytest.mark.parametrize("variable", ["LD_LIBRARY_PATH", "LD_PRELOAD"])
def test_our_own_under_their_names(diagnosed: Path, version: str, variable: str) -> None:
    """Clang 16's program on LLVM 22's library would find no image."""
    path = program(version, diagnosed)
    asked = inspect_program(path)
    assert asked
    name = asked.offload_libraries[0]
    environment = {variable: str(libdir() if variable == "LD_LIBRARY_PATH" else libdir() / name)}
    for more in ({}, {"OMPTOOL_PLUGINS": "none"}):
        document = diagnosis(path, **environment, **more)
        picked = document["runtime"]["picked"]
        assert (picked["llvm"], picked["outcome"]) == (None, happened(path, environment | more))
        assert "OMP202" not in codes(document)


def test_a_name_of_ours_that_finds_their_library(diagnosed: Path) -> None:
    """The small library under a name of LLVM's needs libomptarget.so: the first that there is."""
    path = program("19", diagnosed)
    environment = {
        "LD_PRELOAD": str(libdir() / "libomptarget.so.19.1"),
        "LD_LIBRARY_PATH": libraries("19"),
        "OMPTOOL_PLUGINS": "none",
    }
    picked = diagnosis(path, **environment)["runtime"]["picked"]
    assert (picked["llvm"], picked["outcome"]) == (19, happened(path, environment))


@pytest.mark.parametrize(("version", "runtime"), [("16", "22"), ("16", "19"), ("22", "19")])
def test_a_runtime_that_is_preloaded(diagnosed: Path, version: str, runtime: str) -> None:
    """Under another name than the one that is asked for, which is loaded as well, but later."""
    path = program(version, diagnosed)
    environment = {
        "LD_PRELOAD": str(runtime_of(runtime)),
        "LD_LIBRARY_PATH": f"{libraries(version)}:{libraries(runtime)}",
    }
    picked = diagnosis(path, **environment)["runtime"]["picked"]
    assert (picked["llvm"], picked["outcome"]) == (int(runtime), happened(path, environment))


def test_a_program_of_the_documents(tmp_path: Path) -> None:
    """It asks for a version of the calls that LLVM's library does not have."""
    host = compile_c(HOST + MAIN, tmp_path / "host.o", "-c", "-fPIC")
    image = device_image(HOST, tmp_path / "image.so")
    out = bundled(host, tmp_path / "bundled.o", {X86_64: image})
    path = linked([out], tmp_path / "program", runtime=libdir() / "libomptarget.so")
    environment = {"LD_LIBRARY_PATH": str(runtime_of("14").parent)}
    assert foreseen(path, environment) == happened(path, environment) == "fails"
