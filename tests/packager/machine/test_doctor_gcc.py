# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Doctor and programs of GCC's: where libgomp will run their regions, and why."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from clangs import compiled as by_clang
from doctoring import codes, diagnosis
from documents import document
from fixture_programs import OMPTOOL
from gccs import GCN, NVPTX, compiled, gcn_plugins
from places import TESTS
from products import Products
from toolchain import compile_c, omptool

from omptool.probes import amd_kfd
from packager.hosts.load import load
from packager.machine import gcc_runtime
from packager.machine.dynamic_loader import find_library
from packager.machine.facts import Cuda, Machine

OPENS = """\
#include <dlfcn.h>
int main(void) {
  void *library = dlopen(LIBRARY, RTLD_NOW);
  int (*of_gcc)(void) = library ? (int (*)(void))dlsym(library, "of_gcc") : 0;
  return of_gcc ? of_gcc() : 9;
}
"""
BOTH = """\
int of_gcc(void);
int main(void) {
  int x = 0;
#pragma omp target map(tofrom : x)
  x = 1;
  return of_gcc() > 1 || x != 1;
}
"""
SOURCE = (TESTS / "packager" / "machine" / "gcc_program.c").read_text()
# Driver with COUNT devices. libgomp itself calls many more functions of a real one.
FAKE_DRIVER = (TESTS / "packager" / "machine" / "fake_driver.c").read_text()


@pytest.fixture(scope="module")
def program(products: Products) -> Path:
    return products.made("doctor-gcc", lambda folder: compiled(SOURCE, folder / "program"))


@pytest.fixture(scope="module")
def of_gcn(products: Products) -> dict[str, Path]:
    """Provide programs for AMD's GPUs, and for both AMD's and NVIDIA's."""
    return products.made("doctor-gcn", for_gcn)


def for_gcn(folder: Path) -> dict[str, Path]:
    kinds = {"amd": (GCN,), "both": (NVPTX, GCN)}
    return {name: compiled(SOURCE, folder / name, targets=k) for name, k in kinds.items()}


def fake_driver(folder: Path, *, code: int = 0, count: int = 1, major: int = 7) -> dict[str, str]:
    """Return an environment whose libcuda.so.1 answers doctor's questions.

    Since GCC 14 libgomp's plugin ends the program if the library lacks any function that it may
    call.
    """
    defines = (f"-DCODE={code}", f"-DCOUNT={count}", f"-DMAJOR={major}")
    others = "".join(f"int {name}(void) {{ return 999; }}\n" for name in looked_up())
    compile_c(FAKE_DRIVER + others, folder / "libcuda.so.1", "-shared", "-fPIC", *defines)
    return {"LD_LIBRARY_PATH": str(folder)}


def looked_up() -> set[str]:
    """Return the CUDA functions that libgomp's plugin looks up and the fake driver lacks."""
    plugin = find_library(gcc_runtime.NVPTX.plugin, os.environ)
    names = re.findall(rb"\0(cu[A-Z]\w+)(?=\0)", plugin.read_bytes()) if plugin else []
    return {name.decode() for name in names} - set(re.findall(r"cu[A-Z]\w+", FAKE_DRIVER))


def ran_on(path: Path, **environment: str) -> set[str]:
    """Return where its regions ran: the program prints whether that is the host."""
    done = subprocess.run(
        [path], capture_output=True, text=True, check=True, env=os.environ | environment
    )
    return {"host" if done.stdout == "1\n" else "device 0 (nvptx)"}


def foreseen(path: Path, **environment: str) -> set[str]:
    return {entry["runs_on"] for entry in diagnosis(path, **environment)["entries"]}


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"OMP_TARGET_OFFLOAD": "DISABLED"},
        {"OMP_TARGET_OFFLOAD": "MANDATORY", "OMP_DEFAULT_DEVICE": "0"},
        {"OMP_DEFAULT_DEVICE": "2"},
    ],
    ids=lambda e: ",".join(f"{k}={v}" for k, v in e.items()) or "nothing",
)
def test_it_is_right(program: Path, environment: dict[str, str]) -> None:
    assert foreseen(program, **environment) == ran_on(program, **environment)


@pytest.mark.slow
@pytest.mark.parametrize("path", ["amd", "both"])
def test_it_is_right_of_amds_gpus(of_gcn: dict[str, Path], path: str) -> None:
    """Predictions hold without libgomp's plugin, and with it but without a driver."""
    with_plugin = {"LD_LIBRARY_PATH": str(gcn_plugins())}
    for environment, lack in (({}, gcc_runtime.GCN.plugin), (with_plugin, gcc_runtime.GCN.driver)):
        assert foreseen(of_gcn[path], **environment) == ran_on(of_gcn[path], **environment)
        reasons = {e["reason"] for e in diagnosis(of_gcn[path], **environment)["entries"]}
        assert all(reason is None or lack in reason for reason in reasons)


@pytest.mark.parametrize(
    ("path", "processors", "number", "expected"),
    [
        ("amd", ("gfx906",), 0, {"device 0 (gcn)"}),
        ("amd", ("gfx90a",), 0, {"image 0 is for gfx906, and device 0 is gfx90a"}),
        ("amd", (), 0, {"there is no device: the driver has no device"}),
        ("both", ("gfx906",), 0, {"device 0 (nvptx)"}),
        ("both", ("gfx906",), 1, {"device 1 (gcn)"}),
        ("both", ("gfx906",), 2, {"OMP_DEFAULT_DEVICE is 2, and there are 2 devices"}),
    ],
)
def test_machines_that_are_not_here(
    of_gcn: dict[str, Path],
    path: str,
    processors: tuple[str, ...],
    number: int,
    expected: set[str],
) -> None:
    """Predictions assume AMD's GPUs and one of NVIDIA's."""
    machine = Machine(
        [],
        [],
        {},
        [],
        {"OMP_DEFAULT_DEVICE": str(number)},
        files=frozenset({gcc_runtime.GCN.driver}),
        libgomp_plugins={kind.name: Path(kind.plugin) for kind in gcc_runtime.KINDS},
        cuda=Cuda("", (75,)),
        amd=processors,
    )
    found = gcc_runtime.diagnose(load(of_gcn[path]), machine)
    assert {fate.reason or fate.runs_on for fate in found.entries} == expected
    name = "main._omp_fn.0" if path == "amd" or number == 1 else "main$_omp_fn$0"
    assert {fate.entry.name for fate in found.entries} == {name}


def test_amds_gpus_of_a_fake_topology(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(amd_kfd, "NODES", tmp_path)
    assert amd_kfd.processors() == ()
    for number, (simds, version) in enumerate(((0, 0), (432, 90010), (64, 100300), (256, 110001))):
        (tmp_path / str(number)).mkdir()
        text = f"cpu_cores_count 0\nsimd_count {simds}\ngfx_target_version {version}\n"
        (tmp_path / str(number) / "properties").write_text(text)
    (tmp_path / "9").mkdir()
    assert amd_kfd.processors() == ("gfx90a", "gfx1030", "gfx1101")


def test_without_a_driver(program: Path) -> None:
    document = diagnosis(program)
    assert document["runtime"]["plugins"] == []
    assert document["runtime"]["picked"] is None
    said = [f["message"] for f in document["findings"] if f["code"] == "OMP209"]
    is_absent = find_library(gcc_runtime.NVPTX.driver, os.environ) is None
    assert any("libcuda.so.1 is not on this machine" in message for message in said) == is_absent
    mandatory = diagnosis(program, OMP_TARGET_OFFLOAD="MANDATORY")
    assert ("OMP206" in codes(mandatory)) == bool(said)
    first, *_ = omptool("doctor", program).stdout.splitlines()
    assert first.startswith(f"{program}: on GCC's libgomp ")


def test_what_must_offload_and_names_no_device(program: Path, tmp_path: Path) -> None:
    """Since GCC 13 the default device is none in that case."""
    environment = fake_driver(tmp_path, count=0) | {"OMP_TARGET_OFFLOAD": "MANDATORY"}
    found = diagnosis(program, **environment)["findings"]
    said = [f["message"] for f in found if f["code"] == "OMP206"]
    expected = " on the host up to GCC 12, and ends the program since GCC 13"
    assert any(message.endswith(expected) for message in said)
    line = [str(program)]
    done = subprocess.run(
        line, capture_output=True, text=True, env=os.environ | environment, check=False
    )
    assert done.stdout == "1\n" or "only the host device is available" in done.stderr


@pytest.mark.offloads
@pytest.mark.parametrize("number", ["0", "2"])
def test_what_must_offload(program: Path, tmp_path: Path, number: str) -> None:
    """The driver has no devices: number 0 is the host, and 2 is invalid."""
    environment = fake_driver(tmp_path, count=0)
    environment |= {"OMP_TARGET_OFFLOAD": "MANDATORY", "OMP_DEFAULT_DEVICE": number}
    found = diagnosis(program, **environment)["findings"]
    (severity,) = (f["severity"] for f in found if f["code"] == "OMP206")
    line = [str(program)]
    done = subprocess.run(line, capture_output=True, check=False, env=os.environ | environment)
    assert severity == ("error" if done.returncode else "warning")


def test_without_libgomps_plugin(program: Path, tmp_path: Path) -> None:
    """A copy of libgomp finds no plugin in its folder, and none in a cache that has it not."""
    plugin = find_library(gcc_runtime.NVPTX.plugin, {})
    assert plugin
    plugins = {gcc_runtime.NVPTX.name: plugin}
    binary, around = load(program), Machine([], [], {}, [], {}, cuda=Cuda("", (75,)))
    assert gcc_runtime.diagnose(binary, replace(around, libgomp_plugins=plugins)).offloads
    without = gcc_runtime.diagnose(binary, around)
    assert not without.offloads
    (finding,) = without.findings
    assert (finding.code, finding.severity) == ("OMP209", "warning")
    assert "libgomp-plugin-nvptx1" in finding.hint
    failing = replace(
        around, libgomp_plugins=plugins, cuda=Cuda("cuInit of CUDA's driver returned 999")
    )
    there = replace(failing, files=frozenset({gcc_runtime.NVPTX.node, gcc_runtime.NVPTX.driver}))
    for machine, expected in ((failing, {"OMP209"}), (there, {"OMP208", "OMP209"})):
        findings = gcc_runtime.diagnose(binary, machine).findings
        assert {finding.code for finding in findings} == expected
    shutil.copy(plugin, tmp_path / plugin.name)
    assert find_library(plugin.name, {"LD_LIBRARY_PATH": str(tmp_path)}) != plugin


@pytest.mark.parametrize(
    ("driver", "reason"),
    [
        ({"code": 100}, "there is no device: cuInit of CUDA's driver returned 100"),
        ({"count": 0}, "there is no device: the driver has no device"),
        ({"major": 7}, None),
        ({"major": 2}, "image 0 is for sm_35, and device 0 is sm_25"),
    ],
)
def test_what_the_driver_says(
    program: Path, tmp_path: Path, driver: dict[str, int], reason: str | None
) -> None:
    """The driver is a fake that answers doctor's questions only."""
    document = diagnosis(program, **fake_driver(tmp_path, **driver))
    (entry,) = document["entries"]
    assert (entry["runs_on"], entry["reason"]) == ("host" if reason else "device 0 (nvptx)", reason)
    assert ("OMP209" in codes(document)) == bool(reason)


def test_a_default_device_beyond_those(program: Path, tmp_path: Path) -> None:
    environment = fake_driver(tmp_path, count=2) | {"OMP_DEFAULT_DEVICE": "1"}
    assert foreseen(program, **environment) == {"device 1 (nvptx)"}
    document = diagnosis(program, **{**environment, "OMP_DEFAULT_DEVICE": "2"})
    (entry,) = document["entries"]
    assert entry["reason"] == "OMP_DEFAULT_DEVICE is 2, and there are 2 devices"


def test_a_driver_that_ends_the_process(program: Path, tmp_path: Path) -> None:
    source = "void abort(void); int cuInit(unsigned flags) { abort(); }"
    compile_c(source, tmp_path / "libcuda.so.1", "-shared", "-fPIC")
    document = diagnosis(program, LD_LIBRARY_PATH=str(tmp_path))
    (entry,) = document["entries"]
    assert "asking CUDA's driver ended with signal 6" in entry["reason"]


def test_a_run_reports_what_libgomp_will_do(program: Path) -> None:
    sentence = "regions by GCC run on the host, by libgomp: there is no device: "
    done = omptool("doctor", "--run", "--", program)
    assert done.exit_code == 1
    assert sentence in done.stdout.splitlines()[0].replace(
        "1 region by GCC runs", "regions by GCC run"
    )
    said = document("doctor-run", omptool("doctor", "--run", "--json", "--", program).stdout)
    assert [(row["file"], row["runs_on"]) for row in said["gcc"]] == [(str(program), "host")]
    started = subprocess.run(
        [OMPTOOL, "run", "--mandatory", str(program)], capture_output=True, text=True, check=False
    )
    assert (started.returncode, started.stdout) == (125, "")
    assert "by libgomp: there is no device" in started.stderr


@pytest.fixture(scope="module")
def opener(products: Products) -> Path:
    """Provide a program without OpenMP that opens a library by GCC with a region."""
    return products.made("doctor-gcc-opened", opening)


def opening(folder: Path) -> Path:
    library = opened_library(folder)
    return compile_c(OPENS, folder / "opener", f'-DLIBRARY="{library}"')


def opened_library(folder: Path) -> Path:
    source = SOURCE.replace("main", "of_gcc")
    return compiled(source, folder / "libopened.so", "-shared", "-fPIC")


def test_a_run_reports_a_library_that_the_program_opens(opener: Path) -> None:
    library = opener.with_name("libopened.so")
    done = omptool("doctor", "--run", "--", opener)
    first = done.stdout.splitlines()[0]
    assert done.exit_code == 1
    assert "1 region by GCC runs on the host, by libgomp: there is no device: " in first
    assert "the program exited with 0" in first
    assert str(library) in done.stdout
    said = document("doctor-run", omptool("doctor", "--run", "--json", "--", opener).stdout)
    assert [(row["file"], row["runs_on"]) for row in said["gcc"]] == [(str(library), "host")]


def test_a_run_reports_programs_that_a_script_starts(program: Path, tmp_path: Path) -> None:
    script = tmp_path / "start.sh"
    script.write_text(f"#!/bin/sh\nexec {program}\n")
    script.chmod(0o755)
    done = omptool("doctor", "--run", "--", script)
    assert done.exit_code == 1
    assert "by GCC run on the host, by libgomp: there is no device: " in done.stdout.replace(
        "region by GCC runs", "regions by GCC run"
    )
    refused = run_mandatory(script)
    assert refused.returncode == -signal.SIGABRT
    assert "GCC's libgomp runs the regions of the program on the host: it has no" in refused.stderr


def test_mandatory_refuses_a_library_that_the_program_opens(opener: Path) -> None:
    refused = run_mandatory(opener)
    library = opener.with_name("libopened.so")
    line = f"GCC's libgomp runs the regions of {library} on the host: it has no device"
    assert (refused.returncode, refused.stdout) == (-signal.SIGABRT, "")
    assert refused.stderr == f"omptarget fatal error: {line}, and --mandatory is given\n"
    plain = subprocess.run([OMPTOOL, "run", opener], capture_output=True, text=True, check=True)
    assert (plain.stdout, plain.stderr) == ("1\n", "")


@pytest.mark.offloads
def test_a_program_by_clang_that_opens_a_library_by_gcc(tmp_path: Path) -> None:
    library = opened_library(tmp_path)
    source = tmp_path / "opens.c"
    source.write_text(BOTH.replace("return of_gcc()", "return opens()"))
    source.write_text(
        OPENS.replace("main", "opens") + source.read_text().replace("int of_gcc(void);", "")
    )
    path = by_clang(source, tmp_path, f'-DLIBRARY="{library}"')
    done = omptool("doctor", "--run", "--", path)
    assert done.exit_code == 1
    assert "1 region ran, on a device" in done.stdout
    assert "by libgomp: there is no device" in done.stdout.splitlines()[0]


def run_mandatory(program: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [OMPTOOL, "run", "--mandatory", program], capture_output=True, text=True, check=False
    )


def test_gcc_without_an_offload_compiler(tmp_path: Path) -> None:
    """A driver is no cure where there is no image."""
    path = compiled(SOURCE, tmp_path / "disabled", "-foffload=disable")
    done = omptool("doctor", path)
    assert done.exit_code == 1
    assert "it has no image: GCC compiled without an offload compiler" in done.stdout
    assert "OMP209" not in done.stdout
    assert "OMP101 error" in done.stdout
    verify = omptool("verify", path)
    assert (
        "but there is no image: every region runs on the host\n    give -foffload=" in verify.stdout
    )


@pytest.mark.offloads
def test_one_process_with_regions_by_clang_and_by_gcc(tmp_path: Path) -> None:
    library = compiled(SOURCE.replace("main", "of_gcc"), tmp_path / "libgcc.so", "-shared", "-fPIC")
    source = tmp_path / "both.c"
    source.write_text(BOTH)
    path = by_clang(source, tmp_path, str(library), f"-Wl,-rpath,{tmp_path}")
    done = omptool("doctor", path)
    assert done.exit_code == 1
    first = done.stdout.splitlines()[0]
    assert "under `omptool run` all else runs on a device (1 device)" in first
    assert "by GCC" in first
    assert "by libgomp: there is no device" in first
    done = omptool("doctor", "--run", "--", path)
    assert done.exit_code == 1
    assert "1 region ran, on a device" in done.stdout
    assert "by libgomp: there is no device" in done.stdout.splitlines()[0]


@pytest.mark.offloads
def test_a_program_by_gcc_with_a_library_by_clang(tmp_path: Path) -> None:
    source = tmp_path / "libclang.c"
    source.write_text(BOTH.replace("int of_gcc(void);\nint main", "int by_clang"))
    source.write_text(source.read_text().replace("of_gcc() > 1 || ", ""))
    library = by_clang(source, tmp_path, "-shared", "-fPIC")
    text = SOURCE.replace("int main", "int by_clang(void);\nint main")
    own = text.replace("return 0", "return by_clang()")
    linker = ("-Wl,--no-as-needed", "-Wl,--allow-shlib-undefined", f"-Wl,-rpath,{tmp_path}")
    path = compiled(own, tmp_path / "program", *linker, str(library))
    first, *_ = omptool("doctor", path).stdout.splitlines()
    assert "under `omptool run` all else runs on a device (1 device)" in first
    assert "1 region by GCC runs on the host, by libgomp: there is no device" in first
