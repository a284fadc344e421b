# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""doctor is right about LLVM's own runtimes: they are put where the loader looks first, and run."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from clangs import (
    EVERY,
    FULL,
    INSTALLED,
    SNAPSHOTS,
    TRIED,
    UNPACKED,
    UNPACKED_SNAPSHOTS,
    WITH_RUNTIME,
    libraries,
    llvm_library,
    own_runtime,
    runtime,
)
from doctoring import (
    changed,
    codes,
    diagnosis,
    for_another_machine,
    program,
    without_a_library,
    without_its_end,
    without_the_second_kernel,
)
from machine import moved, with_tmp
from places import ROOT
from toolchain import HOST, MAIN, X86_64, bundled, compile_c, device_image, linked, run

from omptool.installation import libdir
from packager.checks import verify
from packager.files.reader import open_reader
from packager.hosts.load import load
from packager.machine.llvm_runtime import Outcome, Surroundings, outcome
from packager.machine.program import inspect_program
from packager.machine.runtimes import Runtime, cpu_plugin

# The output of a program whose regions run on a device, and on the host.
PRINTED = {"00\n": "device", "11\n": "host"}
OWN = [(version, version) for version in FULL]
# LLVM's runtimes that are here: Debian's by the number of their release, others by the name of
# their package and theirs.
RUNTIMES = (*WITH_RUNTIME, "pyomp-20", "pyomp-22", "intel-23")
# Clangs and runtimes of `make test`: every clang, every runtime, and every outcome.
SAMPLE = {
    ("14", "14"), ("14", "22"), ("14", "intel-23"),
    ("16", "14"), ("16", "16"), ("16", "19"), ("16", "22"),
    ("17", "pyomp-20"), ("18", "19"), ("19", "16"), ("19", "19"),
    ("20", "pyomp-20"), ("21", "pyomp-22"),
    ("22", "16"), ("22", "19"), ("22", "22"), ("22", "intel-23"),
    ("23", "22"), ("23", "intel-23"),
}  # fmt: skip
PAIRS = [
    pytest.param(*pair, marks=() if pair in SAMPLE else pytest.mark.exhaustive)
    for pair in itertools.product(EVERY, RUNTIMES)
]


def library(name: str) -> Path:
    """Return the libomptarget of one of RUNTIMES, or of a clang's release."""
    _, is_alone, release = name.partition("-")
    return runtime(release) / "libomptarget.so" if is_alone else llvm_library(name)


def release_of(name: str) -> int:
    return int(name.rsplit("-", maxsplit=1)[-1])


INSTALLED_LIBRARIES = libraries(INSTALLED)
NOEXEC = SimpleNamespace(f_flag=os.ST_NOEXEC)


def search(path: Path, name: str, folder: Path) -> dict[str, str]:
    """Return an environment in which the loader picks one of RUNTIMES as the needed library."""
    with open_reader(path) as data:
        asked = inspect_program(path, data)
    assert asked
    folder.mkdir(exist_ok=True)
    (folder / asked.offload_libraries[0]).symlink_to(library(name))
    needs = library(name).parent if "-" in name else own_runtime(name)
    return {"LD_LIBRARY_PATH": f"{folder}:{needs}:{INSTALLED_LIBRARIES}"}


def ended(path: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Return how a program ends that is started by itself."""
    return subprocess.run(
        [path], capture_output=True, text=True, check=False, env=os.environ | environment
    )


def happened(path: Path, environment: dict[str, str]) -> str:
    """Return where its regions ran."""
    return where(ended(path, environment))


def where(done: subprocess.CompletedProcess[str]) -> str:
    return PRINTED[done.stdout] if done.returncode == 0 else "fails"


def foreseen(path: Path, environment: dict[str, str]) -> str:
    return str(diagnosis(path, **environment)["runtime"]["picked"]["outcome"])


@pytest.mark.parametrize(("version", "name"), PAIRS)
def test_each_program_on_each_runtime(
    diagnosed: Path, tmp_path: Path, version: str, name: str
) -> None:
    path = program(version, diagnosed)
    environment = search(path, name, tmp_path / "lib")
    document, done = diagnosis(path, **environment), ended(path, environment)
    picked = document["runtime"]["picked"]
    assert (picked["llvm"], picked["outcome"]) == (release_of(name), where(done))
    assert ("OMP202" in codes(document)) == (picked["outcome"] != "device")
    if picked["outcome"] == "device":
        assert ("`requires`" in picked["reason"]) == ("__tgt_register_requires" in done.stderr)
    # The findings of verify for a program that needs the library of that release.
    needs = load(path)._replace(needed=(f"libomptarget.so.{release_of(name)}.1",))
    found = {finding.code for finding in verify(needs)}
    assert ("OMP104" in found) == (picked["outcome"] == "fails")
    assert "OMP113" in found or picked["outcome"] != "host"


def in_words(ends: Outcome) -> str:
    """Return an outcome in the words of docs/runtime.md."""
    return ends.where + ", message" * ("`requires`" in ends.reason)


def documented() -> Iterator[tuple[tuple[str, str], str]]:
    """Yield (clang, runtime) and outcome from the table of docs/runtime.md.

    Clangs that are not installed are skipped.
    """
    lines = (ROOT / "docs" / "runtime.md").read_text().splitlines()
    start = lines.index(next(line for line in lines if line.startswith("| program of |")))
    head, _, *rows = ([cell.strip() for cell in line.split("|")[1:-1]] for line in lines[start:])
    for row in itertools.takewhile(bool, rows):
        for version in row[0].removeprefix("clang ").split(", "):
            for release, words in zip(head[1:], row[1:], strict=True):
                for name in (*RUNTIMES, *SNAPSHOTS) if version in TRIED else ():
                    if release == f"on LLVM {release_of(name)}":
                        yield (version, name), words


def test_every_outcome_is_in_the_sample(diagnosed: Path) -> None:
    around = Surroundings({}, has_gpu=False, tmp_problem="")
    read = {version: load(program(version, diagnosed)) for version in TRIED}
    outcomes = {
        (version, name): outcome(read[version], Runtime(Path(name), release_of(name)), around)
        for version in TRIED
        for name in (*RUNTIMES, *SNAPSHOTS)
    }
    every = {outcomes[pair] for pair in itertools.product(EVERY, RUNTIMES)}
    assert {outcomes[pair] for pair in SAMPLE} == every
    assert {(pair, in_words(ends)) for pair, ends in outcomes.items()} == set(documented())
    assert {version for version, _ in SAMPLE} == set(EVERY)
    assert {name for _, name in SAMPLE} == set(RUNTIMES)


@pytest.mark.parametrize("version", TRIED)
@pytest.mark.parametrize("name", UNPACKED_SNAPSHOTS)
def test_each_program_on_a_snapshot(
    diagnosed: Path, tmp_path: Path, version: str, name: str
) -> None:
    """The snapshot's runtime needs a later C library, which lies beside it with its loader."""
    path, root = program(version, diagnosed), UNPACKED / name
    with open_reader(path) as data:
        asked = inspect_program(path, data)
    assert asked
    system, own = (root / part / "usr/lib/x86_64-linux-gnu" for part in ("system", "."))
    (tmp_path / asked.offload_libraries[0]).symlink_to(own / f"libomptarget.so.{name}.0")
    search = f"{tmp_path}:{system}:{own}:{INSTALLED_LIBRARIES}:/usr/lib/x86_64-linux-gnu"
    words = [str(system / "ld-linux-x86-64.so.2"), "--library-path", search, str(path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    around = Surroundings({}, has_gpu=False, tmp_problem="")
    expected = outcome(load(path), Runtime(Path(name), release_of(name)), around)
    assert where(done) == expected.where, done.stderr


def altered(folder: Path, name: str, source: Path, *options: str) -> dict[str, str]:
    """Return an environment in which the loader picks a changed copy of a library."""
    run("objcopy", *options, source, folder / name)
    return {"LD_LIBRARY_PATH": f"{folder}:{source.parent}:{INSTALLED_LIBRARIES}"}


def test_a_runtime_that_does_not_say_its_release(diagnosed: Path, tmp_path: Path) -> None:
    """A vendor's, under the name without a number: its compiler and linker are taken for it."""
    path, source = program("23", diagnosed), library("intel-23")
    environment = altered(tmp_path, "libomptarget.so", source, "-R", ".comment")
    document = diagnosis(path, **environment)
    picked = document["runtime"]["picked"]
    assert (picked["llvm"], picked["outcome"]) == (0, "unknown")
    assert picked["reason"] == "it does not name its release of LLVM"
    assert codes(document).isdisjoint({"OMP202", "OMP203"})
    assert happened(path, environment) == "device"


def test_a_runtime_that_is_yet_to_come(diagnosed: Path, tmp_path: Path) -> None:
    """The runtime is LLVM 22's under the name of 25's, whose calls of kernels are unknown."""
    path, name = program("22", diagnosed), "libomptarget.so.22.1"
    later = library("22").read_bytes().replace(f"{name}\0".encode(), b"libomptarget.so.25.1\0")
    (tmp_path / name).write_bytes(later)
    environment = {"LD_LIBRARY_PATH": f"{tmp_path}:{libraries('22')}:{INSTALLED_LIBRARIES}"}
    document = diagnosis(path, **environment)
    picked = document["runtime"]["picked"]
    assert (picked["llvm"], picked["outcome"]) == (25, "unknown")
    assert picked["reason"] == "LLVM 25 came after those that omptool knows"
    assert "OMP202" not in codes(document)
    assert happened(path, environment) == "device"


BEYOND = {"OMP_DEFAULT_DEVICE": "5"}
VARIABLES: tuple[dict[str, str], ...] = (
    {"OMP_TARGET_OFFLOAD": "DISABLED"},
    {"OMP_TARGET_OFFLOAD": "MANDATORY"},
    {"OMP_DEFAULT_DEVICE": "3"},
    BEYOND,
)


@pytest.mark.parametrize(
    ("version", "runtime", "more"),
    [
        pytest.param(version, runtime, more, id=f"{version}-{runtime}-{number}")
        for version, runtime in (*OWN, ("16", "22"), ("22", "16"))
        for number, more in enumerate(VARIABLES)
        # Intel's libomp uses another device in place of a missing one.
        if runtime != "23" or more != BEYOND
    ],
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


@pytest.mark.offloads
@pytest.mark.parametrize("version", FULL)
@pytest.mark.parametrize("option", ["ro", "noexec"])
def test_a_folder_that_takes_no_images(
    diagnosed: Path, monkeypatch: pytest.MonkeyPatch, version: str, option: str
) -> None:
    path = program(version, diagnosed)
    folders = [*own_runtime(version).split(":"), INSTALLED_LIBRARIES]
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


def test_a_damaged_image_there(diagnosed: Path, tmp_path: Path) -> None:
    """LLVM's runtime passes the image to the dynamic linker, which may end the program."""
    version = INSTALLED
    path = changed(program(version, diagnosed), tmp_path / "changed", without_its_end(0.5))
    environment = search(path, version, tmp_path / "lib")
    picked = diagnosis(path, **environment)["runtime"]["picked"]
    assert (picked["outcome"], happened(path, environment)) == ("unknown", "fails")
    assert picked["reason"].startswith("it loads images that are damaged: ")


def test_a_library_of_the_runtime_is_not_there(diagnosed: Path, tmp_path: Path) -> None:
    """LLVM 16's needs a libLLVM, here one that there never was."""
    path, runtime = program("16", diagnosed), library("16")
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
    """Up to LLVM 18 the code for each kind of device is a separate library."""
    path, folder = program(version, diagnosed), tmp_path / "lib"
    folder.mkdir()
    shutil.copy(library(version), folder)
    others = ":".join(place for place in libraries(version).split(":") if "linux-gnu" in place)
    environment = {"LD_LIBRARY_PATH": f"{folder}:{others}"}
    mandatory = {**environment, "OMP_TARGET_OFFLOAD": "MANDATORY"}
    assert foreseen(path, environment) == happened(path, environment) == "host"
    assert foreseen(path, mandatory) == happened(path, mandatory) == "fails"
    plugins = list(library(version).parent.glob(f"{cpu_plugin()}*"))
    for plugin in plugins:
        shutil.copy(plugin, folder)
    assert foreseen(path, environment) == happened(path, environment) == "device"
    for plugin in plugins:
        whole = plugin.read_bytes()
        (folder / plugin.name).write_bytes(whole.replace(b"libstdc++.so.6", b"libstdc++.so.0"))
    assert foreseen(path, environment) == happened(path, environment) == "host"
    said = [f["message"] for f in diagnosis(path, **environment)["findings"]]
    assert any("libstdc++.so.0, which" in message for message in said)


@pytest.mark.offloads
@pytest.mark.parametrize("version", FULL)
@pytest.mark.parametrize("variable", ["LD_LIBRARY_PATH", "LD_PRELOAD"])
def test_our_own_under_their_names(diagnosed: Path, version: str, variable: str) -> None:
    """Clang 16's program on LLVM 22's library would find no image."""
    path = program(version, diagnosed)
    with open_reader(path) as data:
        asked = inspect_program(path, data)
    assert asked
    name = asked.offload_libraries[0]
    environment = {variable: str(libdir() if variable == "LD_LIBRARY_PATH" else libdir() / name)}
    for more in ({}, {"OMPTOOL_PLUGINS": "none"}):
        document = diagnosis(path, **environment, **more)
        picked = document["runtime"]["picked"]
        assert (picked["llvm"], picked["outcome"]) == (None, happened(path, environment | more))
        assert "OMP202" not in codes(document)


@pytest.mark.offloads
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
    """The program needs another name, which is loaded as well, but later."""
    path = program(version, diagnosed)
    environment = {
        "LD_PRELOAD": str(library(runtime)),
        "LD_LIBRARY_PATH": f"{libraries(version)}:{libraries(runtime)}",
    }
    picked = diagnosis(path, **environment)["runtime"]["picked"]
    assert (picked["llvm"], picked["outcome"]) == (int(runtime), happened(path, environment))


def test_a_program_of_the_documents(tmp_path: Path) -> None:
    """The program needs a version of the functions that LLVM's library lacks."""
    host = compile_c(HOST + MAIN, tmp_path / "host.o", "-c", "-fPIC")
    image = device_image(HOST, tmp_path / "image.so")
    out = bundled(host, tmp_path / "bundled.o", {X86_64: image})
    path = linked([out], tmp_path / "program", runtime=libdir() / "libomptarget.so")
    environment = {"LD_LIBRARY_PATH": str(library("14").parent)}
    assert foreseen(path, environment) == happened(path, environment) == "fails"


def test_the_plugin_of_the_cpu_is_that_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(machine="aarch64"))
    assert cpu_plugin() == "libomptarget.rtl.aarch64.so"
