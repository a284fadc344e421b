# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Findings of doctor on a machine beside where regions run: OMP203 to OMP208, and near cases."""

from __future__ import annotations

import re
import shutil
import signal
from dataclasses import replace
from pathlib import Path

import pytest
from clangs import FLAGS, NEWEST, libraries, linked_libraries, tool
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
    without_a_library,
)
from toolchain import (
    HOST,
    MAIN,
    NVPTX,
    OPENMP,
    PTX,
    bundled,
    compile_c,
    fake_runtime,
    linked,
    omptool,
    run,
)

from omptool.installation import libdir
from packager.hosts.load import load
from packager.machine.diagnosis import diagnose
from packager.machine.facts import NODES, Answer, Machine

pytestmark = pytest.mark.offloads

# Functions that every plugin has, without __tgt_rtl_.
RTL_FUNCTIONS = (
    "number_of_devices",
    "init_device",
    "is_valid_binary",
    "load_binary",
    "data_alloc",
    "data_submit",
    "data_retrieve",
    "data_delete",
    "run_target_region",
    "run_target_team_region",
)


@pytest.mark.parametrize("second", [[], ["-Wl,--no-as-needed", "-l:libgomp.so.1"]])
def test_two_openmp_runtimes(tmp_path: Path, second: list[str]) -> None:
    (tmp_path / "source.c").write_text(PROGRAM)
    run("clang-19", *FLAGS, tmp_path / "source.c", *second, "-o", tmp_path / "x")
    environment = {"LD_LIBRARY_PATH": "/usr/lib/llvm-19/lib"}
    assert ("OMP203" in codes(diagnosis(tmp_path / "x", **environment))) == bool(second)


@pytest.mark.parametrize("linker", ["mold", "ld.lld-19"])
def test_packed_relocations(tmp_path: Path, linker: str) -> None:
    """glibc refuses programs with such relocations and no version for them, e.g. mold 1.10's."""
    (tmp_path / "source.c").write_text(PROGRAM)
    flags = (*FLAGS, f"--ld-path={shutil.which(linker)}", "-Wl,-z,pack-relative-relocs")
    run("clang-19", *flags, tmp_path / "source.c", "-o", tmp_path / "x")
    ends_well = started(tmp_path / "x").returncode == 0
    document = diagnosis(tmp_path / "x", LD_LIBRARY_PATH=libraries("19"))
    runtime = document["runtime"]
    assert ends_well or linker == "mold"
    assert (runtime["obstacle"] is None) == ends_well
    assert (runtime["picked"]["outcome"] == "device") == ends_well


def test_an_image_without_a_device(diagnosed: Path, tmp_path: Path) -> None:
    path = program("19", diagnosed)
    other = changed(path, tmp_path / "x", for_another_machine)
    assert "OMP205" in codes(diagnosis(other))
    assert "OMP205" in codes(diagnosis(path, OMPTOOL_HOST_DEVICES="0"))
    assert "OMP205" not in codes(diagnosis(path))


@pytest.mark.parametrize("version", ["14", NEWEST])
def test_an_image_that_needs_what_is_not_there(
    diagnosed: Path, tmp_path: Path, version: str
) -> None:
    path = changed(program(version, diagnosed), tmp_path / "x", without_a_library)
    document = diagnosis(path)
    assert predicted(document) == output(path) == "11\n"
    assert all("libq.so.6, which it needs, is not" in e["reason"] for e in document["entries"])


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        ("opened", "opening it"),
        ("is_valid_binary", "asking it of image 0"),
        ("number_of_devices", "counting its devices"),
    ],
)
@pytest.mark.parametrize("order", ["own,host", "host,own"])
def test_a_plugin_that_ends_the_program(
    diagnosed: Path, tmp_path: Path, order: str, step: str, reason: str
) -> None:
    """Programs open all plugins, and call each about each image."""
    answers = dict.fromkeys(RTL_FUNCTIONS, "return 0;") | {"is_valid_binary": "return 1;"}
    opened = "__attribute__((constructor)) static void opened(void) { abort(); }"
    source = "void abort(void);\n" + (opened if step == "opened" else "")
    answers |= {step: "abort();"} if step != "opened" else {}
    source += "".join(f"int __tgt_rtl_{rtl}(void) {{ {does} }}\n" for rtl, does in answers.items())
    compile_c(source, tmp_path / "libomptarget.rtl.own.so", "-shared", "-fPIC")
    path, only_host = program("19", diagnosed), {"OMPTOOL_PLUGIN_PATH": str(tmp_path)}
    only_host["OMPTOOL_PLUGINS"] = "host"
    search = only_host | {"OMPTOOL_PLUGINS": order}
    document = diagnosis(path, **search)
    states = {plugin["name"]: plugin["state"] for plugin in document["runtime"]["plugins"]}
    assert states == {"own": "fails", "host": "ready"}
    fault = f"plugin own ends the program: {reason} ended with signal 6"
    assert document["runtime"]["obstacle"] == fault
    said = omptool("doctor", path, environment=search).stdout
    assert said.startswith(f"{path}: under `omptool run` its first region fails: {fault}\n")
    assert started(path, **search).returncode == -signal.SIGABRT
    assert diagnosis(path, **only_host)["runtime"]["obstacle"] is None


@pytest.mark.parametrize(
    ("default", "place"),
    [("0", "device 0 (own)"), ("1", "device 1 (own)"), ("2", "device 2 (host)"), ("3", "host")],
)
def test_all_plugins_that_accept_an_image_give_devices(
    diagnosed: Path, default: str, place: str
) -> None:
    binary = load(program("19", diagnosed))
    both = [[Answer("own", True, ""), Answer("host", True, "")]] * len(binary.images)
    machine = Machine([], [], {"own": 2, "host": 1}, both, {"OMP_DEFAULT_DEVICE": default})
    found = diagnose(binary, machine)
    assert (found.devices, found.images[0].devices) == (3, (0, 1, 2))
    assert found.images[0].rule == "plugins own and host accept it"
    assert {fate.runs_on for fate in found.entries} == {place}


def test_devices_of_several_kinds_may_refuse_an_image(diagnosed: Path) -> None:
    binary = load(program("19", diagnosed))
    both = [[Answer("own", True, ""), Answer("host", True, "")]] * len(binary.images)
    kinds = {"own": ("x86-64", "sm_90"), "host": ("x86-64",)}
    machine = Machine([], [], {"own": 2}, both, {}, architectures=kinds)
    lacking = replace(machine, deviceless={"host": "(it is set to 0)"})
    assert diagnose(binary, lacking).images[0].rule == (
        "plugin own accepts it; plugin host accepts it, but has no device (it is set to 0); "
        "a device of plugin own (x86-64, sm_90) may refuse to load it"
    )
    none = diagnose(binary, replace(lacking, devices={}, deviceless={"own": "", "host": "(0)"}))
    assert {fate.reason for fate in none.entries} == {
        "there is no device: plugin own has none, plugin host has none (0)"
    }


def test_a_folder_of_plugins_that_is_not_there(diagnosed: Path) -> None:
    path, search = program("19", diagnosed), {"OMPTOOL_PLUGIN_PATH": "/no/such/folder"}
    (finding,) = (
        finding
        for finding in diagnosis(path, **search)["findings"]
        if "/no/such/folder" in finding["message"] and finding["severity"] == "warning"
    )
    assert finding["code"] == "OMP206"
    assert "No such file or directory" in finding["message"]
    said = omptool("devices", environment=search).stdout
    assert "/no/such/folder" in said
    assert "No such file or directory" in said


def test_images_that_others_left(
    diagnosed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LLVM's runtimes leave them since 16, in /tmp."""
    monkeypatch.setattr("omptool.probes.machine.TMP", tmp_path)
    path, llvm = program("19", diagnosed), {"LD_LIBRARY_PATH": libraries("19")}
    old = tmp_path / "tmpfile_a1b2c3"
    said = "OMP207 info: LLVM's runtimes have left 1 image of {} bytes in /tmp\n"
    assert "OMP207" not in omptool("doctor", "--verbose", path, environment=llvm).stdout
    for size in (5, 1 << 30):
        with old.open("wb") as file:
            file.truncate(size)
        assert "OMP207" not in codes(diagnosis(path, **llvm))
        verbose = omptool("doctor", "--verbose", path, environment=llvm)
        assert said.format(size) in verbose.stdout
    with old.open("wb") as file:
        file.truncate((1 << 30) + 1)
    assert said.format((1 << 30) + 1) in omptool("doctor", path, environment=llvm).stdout
    assert "OMP207" not in codes(diagnosis(path, LD_LIBRARY_PATH=str(libdir())))


@pytest.mark.parametrize(("version", "severities"), [("19", set()), ("22", {"warning"})])
def test_a_runtime_of_another_release(
    diagnosed: Path, tmp_path: Path, version: str, severities: set[str]
) -> None:
    """LLVM 22 reads clang 19's records; .comment shows the release."""
    path, folder = program("19", diagnosed), tmp_path / "lib"
    folder.mkdir()
    (runtime,) = Path(libraries(version).split(":")[-1]).glob("libomptarget.so.??.1")
    (folder / "libomptarget.so.19.1").symlink_to(runtime)
    search = f"{folder}:{libraries(version)}:{libraries('19')}"
    document = diagnosis(path, LD_LIBRARY_PATH=search)
    found = [f for f in document["findings"] if f["code"] == "OMP203"]
    assert {f["severity"] for f in found} == severities
    assert all("LLVM 22's runtime for code of clang 19" in f["message"] for f in found)


def test_a_device_node_without_a_driver(tmp_path: Path) -> None:
    """Device nodes and drivers are those of this machine, so the test fakes them."""
    (tmp_path / "image.ptx").write_text(PTX)
    host = compile_c(HOST + MAIN, tmp_path / "host.o", "-c", "-fPIC")
    images = {f"{NVPTX}:sm_70": tmp_path / "image.ptx"}
    out = bundled(host, tmp_path / "bundled.o", images)
    binary = load(linked([out], tmp_path / "x", runtime=fake_runtime(tmp_path)))
    node, driver = NODES["nvptx64"]
    refused = [[Answer("host", False, "it is not an ELF file")]]
    machine = Machine([], [], {"host": 1}, refused, {})
    for files, expected in (
        ({node}, {"OMP204", "OMP208"}),
        (set(), {"OMP204"}),
        ({node, driver}, {"OMP205"}),
    ):
        found = diagnose(binary, replace(machine, files=frozenset(files))).findings
        assert {finding.code for finding in found} == expected


@pytest.mark.parametrize(
    ("arch", "value", "expected"),
    [
        ("gfx90a:xnack+", "0", {"OMP206"}),
        ("gfx90a:xnack-", "1", {"OMP206"}),
        ("gfx90a:xnack+", "1", set()),
        ("gfx90a", "1", set()),
        ("gfx90a:xnack+", "", set()),
    ],
)
def test_xnack(tmp_path: Path, arch: str, value: str, expected: set[str]) -> None:
    """No driver on this machine reads the variable."""
    source = tmp_path / "k.c"
    source.write_text("void k(void) {}\n")
    target = ["--target=amdgcn-amd-amdhsa", f"-mcpu={arch}", "-nogpulib"]
    run("clang-19", *target, source, "-o", tmp_path / "image.elf")
    host = compile_c(HOST + MAIN, tmp_path / "host.o", "-c", "-fPIC")
    out = bundled(host, tmp_path / "b.o", {f"amdgcn-amd-amdhsa:{arch}": tmp_path / "image.elf"})
    binary = load(linked([out], tmp_path / "x", runtime=fake_runtime(tmp_path)))
    refused = [[Answer("host", False, "it is for a machine other than x86-64")]]
    machine = Machine([], [], {"host": 1}, refused, {"HSA_XNACK": value})
    found = {f.code for f in diagnose(binary, machine).findings}
    assert found - {"OMP204"} == expected


def test_spirv_without_the_device_library_runs_on_the_host(tmp_path: Path) -> None:
    """OpenCL's driver refuses an image that was made without omptool's link."""
    (tmp_path / "program.c").write_text(OPENMP)
    flags = ("-O1", "-fopenmp", "-fopenmp-targets=spirv64-intel", "-nogpulib", "-c")
    host, image, out = (tmp_path / name for name in ("host.o", "image.spv", "program.o"))
    for only, made in (("host", host), ("device", image)):
        run(*tool("22"), *flags, f"--offload-{only}-only", tmp_path / "program.c", "-o", made)
    words = ("bundle", host, "--image", f"spirv64-intel={image}", "-o", out)
    unforced = omptool(*words)
    assert unforced.exit_code == 1
    needs = "image 0 (spirv64-intel-unknown SPIR-V 1.4) needs __kmpc_"
    assert f"OMP114: {needs}" in unforced.stderr
    assert omptool(*words, "--force").exit_code == 0
    run("cc", out, *linked_libraries("22"), "-o", tmp_path / "program")
    binary = load(tmp_path / "program")
    accepted = [[Answer("opencl", True, "")]]
    found = diagnose(binary, Machine([], [], {"opencl": 1}, accepted, {}))
    assert {fate.runs_on for fate in found.entries} == {"host"}
    (reason,) = {fate.reason for fate in found.entries}
    assert re.fullmatch(
        "its image cannot be loaded: it needs __kmpc_.*, …, which nothing defines", reason
    )
