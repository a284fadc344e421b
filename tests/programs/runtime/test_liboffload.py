# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs over LLVM's liboffload: a fake that runs their code, and the real one without a GPU."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import liboffload
import pytest
from clangs import UNPACKED, compiled
from fixture_programs import OMPTOOL, call
from machine import lacks
from outcomes import ENVIRONMENT
from places import ROOT, TESTS
from products import Products
from running import MANDATORY, omptool_run
from toolchain import omptool
from whole_programs import SOUND

from omptool.installation import libdir
from packager.formats.device_images.amdgpu import ARCHES
from packager.gpus import on_amd

RELEASES = tuple(liboffload.NAMES)
# Omits `unified`, whose images follow host pointers: liboffload does not report which GPUs can.
PROGRAMS = [path for path in SOUND if path.stem != "unified"]
CHECK = ROOT / "runtime" / "tests" / "plugins" / "liboffload" / "header_check.cpp"
FUNCTIONS = [
    *re.findall(
        r"^  X\((ol\w+)", (liboffload.RUNTIME / "plugins/liboffload/ol.h").read_text(), re.MULTILINE
    ),
    *("olInit", "olCreateProgram", "olMemAlloc", "olMemFree", "olCreateQueue", "olCreateEvent"),
    *("olLaunchKernel", "olCreateContext"),
]
# Functions that this program does not need, or whose failure does not end it.
UNNEEDED = {"olMemRegister", "olMemFill", "olDestroyQueue", "olDestroyEvent", "olDestroyProgram"}


@pytest.fixture(scope="module")
def saxpy(products: Products) -> Path:
    """Provide a program with one region, for AMD's GPUs by the header of its image."""

    def make(folder: Path) -> Path:
        text = """
#include <stdio.h>
int main(void) {
  int values[8] = {0};
  for (int turn = 0; turn < 2; ++turn) {
#pragma omp target map(tofrom: values)
    for (int i = 0; i < 8; ++i) values[i] += i;
  }
  printf("%d %d\\n", values[3], values[7]);
}
"""
        path = folder / "twice.c"
        path.write_text(text)
        return liboffload.for_amd(compiled(path, folder), folder / "app")

    return products.made("liboffload-twice", make)


def _run_devices(**environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [OMPTOOL, "devices", "--json"],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"OMPTOOL_PLUGINS": "liboffload"} | environment,
    )


def _devices(**environment: str) -> dict[str, Any]:
    """Return the plugin's row of `omptool devices`."""
    done = _run_devices(**environment)
    (row,) = (row for row in json.loads(done.stdout)["plugins"] if row["name"] == "liboffload")
    found: dict[str, Any] = row
    return found


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_programs_run_through_it(path: Path, tmp_path: Path, products: Products) -> None:
    """Test the form of each release; `make test-all` does not repeat it."""
    release = RELEASES[PROGRAMS.index(path) % len(RELEASES)]
    program = liboffload.for_amd(compiled(path, tmp_path), tmp_path / "app")
    library = liboffload.fake(products, release)
    done = omptool_run(program, **liboffload.environment(library, **MANDATORY, **ENVIRONMENT))
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")


@pytest.mark.parametrize("release", RELEASES)
def test_devices_shows_the_gpu_and_the_library(release: int, products: Products) -> None:
    row = _devices(OMPTOOL_LIBOFFLOAD_PATH=str(liboffload.fake(products, release)))
    assert row["state"] == "ready"
    (device,) = row["devices"]
    assert device["architecture"] == "gfx90a"
    assert device["memory"] == 16 << 30
    assert device["driver"] == f"liboffload {release}, driver FAKE"


def test_an_nvidia_gpu_is_left_to_the_plugin_for_it(products: Products) -> None:
    library = {"OMPTOOL_LIBOFFLOAD_PATH": str(liboffload.fake(products, 24))}
    assert _devices(FAKE_OFFLOAD_CUDA="1", **library)["devices"] == []
    row = _devices(FAKE_OFFLOAD_CUDA="1", OMPTOOL_LIBOFFLOAD="all", **library)
    assert len(row["devices"]) == 1


def test_a_setting_that_is_none_is_said(products: Products, saxpy: Path) -> None:
    library = liboffload.fake(products, 24)
    done = omptool_run(
        saxpy, **liboffload.environment(library, OMPTOOL_LIBOFFLOAD="amd,rocm", **MANDATORY)
    )
    assert (done.returncode, done.stdout) == (0, "6 14\n")
    assert liboffload.lines(done) == [
        (
            "omptarget: the runtime ignores OMPTOOL_LIBOFFLOAD=amd,rocm; known values: all, or a "
            "list of amd, level_zero, cuda"
        )
    ]


def test_without_a_gpu_the_first_cause_is_named(
    saxpy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without AMD's device file the library is not opened, and one line names the cause."""
    if Path("/dev/kfd").exists():
        pytest.skip("there is /dev/kfd")
    monkeypatch.setenv("OMPTOOL_PLUGINS", "liboffload")
    done = omptool_run(saxpy, **MANDATORY)
    assert done.returncode == -6
    assert "no AMD GPU: there is no /dev/kfd" in liboffload.lines(done)[0]
    told = omptool("doctor", saxpy)
    assert "liboffload accepts it, but has no device" in " ".join(told.output.split())


def test_a_machine_without_the_library_names_the_package() -> None:
    reason = _devices(OMPTOOL_LIBOFFLOAD="all")["reason"]
    assert "no liboffload of LLVM 22, 23 or 24" in str(reason)
    assert "install liboffload-24" in str(reason)


def test_the_real_library_says_why_it_has_no_device() -> None:
    if not liboffload.real(22).exists():
        lacks("scripts/compilers.sh 22 has not unpacked liboffload-22")
    row = _devices(OMPTOOL_LIBOFFLOAD_PATH=str(liboffload.real(22)))
    assert row["state"] == "no devices"
    assert re.search(r"no AMD GPU: there is no /dev/kfd.*\(liboffload 22\)", str(row["reason"]))


# Run a command where AMD's device file has some mode, without the right to override modes.
WITH_DEVICE_FILE = """
mount -t tmpfs none /dev && : >/dev/null && : >/dev/kfd && chmod "$1" /dev/kfd
shift
exec setpriv --bounding-set=-all --inh-caps=-all "$@"
"""


@pytest.mark.parametrize(
    ("mode", "has_driver", "reason"),
    [
        ("0", False, "/dev/kfd: Permission denied; the user needs the group that owns it (render)"),
        ("666", False, "AMD's library cannot be opened (libhsa-runtime64.so: "),
        ("666", True, "it finds no AMD GPU"),
    ],
)
def test_the_real_library_with_a_device_file(
    tmp_path: Path, mode: str, *, has_driver: bool, reason: str
) -> None:
    """The order of causes is the kernel's driver, the user's rights, then AMD's library."""
    if not liboffload.real(22).exists():
        lacks("scripts/compilers.sh 22 has not unpacked liboffload-22")
    own_dev = [
        "unshare",
        "--user",
        "--map-root-user",
        "--mount",
        "sh",
        "-c",
        WITH_DEVICE_FILE,
        "sh",
    ]
    if subprocess.run([*own_dev, "0", "true"], capture_output=True, check=False).returncode != 0:
        lacks("this machine gives users no namespace of their own")
    if has_driver:
        call("gcc", "-shared", "-x", "c", "/dev/null", "-o", tmp_path / "libhsa-runtime64.so")
    done = subprocess.run(
        [*own_dev, mode, sys.executable, "-m", "omptool", "devices", "--json"],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ
        | {
            "LD_LIBRARY_PATH": str(tmp_path),
            "OMPTOOL_PLUGINS": "liboffload",
            "OMPTOOL_LIBOFFLOAD_PATH": str(liboffload.real(22)),
        },
    )
    (row,) = json.loads(done.stdout)["plugins"]
    assert row["state"] == "no devices"
    assert reason in row["reason"]


@pytest.mark.exhaustive
def test_the_real_library_of_24_says_why_it_has_no_device(tmp_path: Path) -> None:
    """The library needs a newer C library than this machine's; a small program uses that one."""
    usr = UNPACKED / "24" / "usr"
    loaders = list(usr.parent.glob("**/ld-linux-x86-64.so.2"))
    if not loaders or not liboffload.real(24).exists():
        lacks("scripts/compilers.sh 24 has not unpacked liboffload-24")
    call("gcc", TESTS / "support" / "sources" / "ask_plugin.c", "-o", tmp_path / "ask", "-ldl")
    folders = {path.parent for path in usr.parent.glob("**/*.so.*")}
    done = subprocess.run(
        [
            loaders[0],
            *("--library-path", ":".join(map(str, sorted(folders)))),
            *(tmp_path / "ask", libdir() / "libomptarget.rtl.liboffload.so"),
        ],
        capture_output=True,
        text=True,
        check=False,
        env={"OMPTOOL_LIBOFFLOAD_PATH": str(liboffload.real(24))},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"0 no AMD GPU: there is no /dev/kfd.*\(liboffload 24\)\n", done.stdout)


def _library(folder: Path, soname: str) -> Path:
    (folder / "nothing.c").write_text("int nothing;\n")
    out = folder / "libsome.so"
    call("gcc", "-shared", f"-Wl,-soname,{soname}", folder / "nothing.c", "-o", out)
    return out


@pytest.mark.parametrize(
    ("soname", "said"),
    [
        ("libLLVMOffload.so.21.1", "is libLLVMOffload.so.21.1, whose interface is not known; "),
        ("libLLVMOffload.so.25.0", "known releases of liboffload: 22, 23, 24"),
        ("libother.so.1", "is libother.so.1, whose interface is not known; "),
        ("libLLVMOffload.so.22.1", "lacks olIterateDevices, olGetPlatformInfo, "),
    ],
)
def test_another_library_is_refused_by_a_line(tmp_path: Path, soname: str, said: str) -> None:
    row = _devices(OMPTOOL_LIBOFFLOAD_PATH=str(_library(tmp_path, soname)))
    assert said in str(row["reason"])


def test_a_missing_file_is_named_on_stderr_and_in_the_table(tmp_path: Path) -> None:
    path = str(tmp_path / "none")
    fault = f"OMPTOOL_LIBOFFLOAD_PATH={path} cannot be opened: {path}: cannot open shared object"
    row = _devices(OMPTOOL_LIBOFFLOAD_PATH=path)
    assert row["state"] == "refused"
    assert row["reason"].startswith(fault)
    said = _run_devices(OMPTOOL_LIBOFFLOAD_PATH=path).stderr
    assert said == f"Warning: plugin liboffload was refused: {row['reason']}\n"


def test_a_program_whose_library_is_missing_names_it(saxpy: Path, tmp_path: Path) -> None:
    library = liboffload.environment(tmp_path / "none", **ENVIRONMENT)
    done = omptool_run(saxpy, **library)
    assert (done.returncode, done.stdout) == (0, "6 14\n")
    refused, *_ = done.stderr.splitlines()
    assert refused.startswith("omptarget: plugin liboffload was refused: OMPTOOL_LIBOFFLOAD_PATH=")


@pytest.mark.parametrize("release", [22, pytest.param(23, marks=pytest.mark.exhaustive), 24])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_each_call_may_fail(
    function: str, release: int, saxpy: Path, tmp_path: Path, products: Products
) -> None:
    """The program ends well on the host, or with a line that names the call; it never crashes."""
    log = tmp_path / "calls"
    library = liboffload.environment(liboffload.fake(products, release))
    for number in (1, 2):
        log.unlink(missing_ok=True)
        done = omptool_run(
            saxpy,
            FAKE_OFFLOAD_FAIL_IN=function,
            FAKE_OFFLOAD_FAIL_AT=str(number),
            FAKE_OFFLOAD_LOG=str(log),
            **library,
        )
        said = [line for line in liboffload.lines(done) if not line.startswith("FAKE: call")]
        assert not any(line.startswith("FAKE") for line in said), said
        if done.returncode == 0:
            assert done.stdout == "6 14\n"
        else:
            assert done.returncode == -6, done
            assert function in UNNEEDED or any(function in line for line in said), said


@pytest.mark.parametrize("release", RELEASES)
def test_a_fault_names_the_region_and_the_device_is_lost(
    release: int, saxpy: Path, tmp_path: Path, products: Products
) -> None:
    kernel = _kernel(saxpy)
    library = liboffload.fake(products, release)
    done = omptool_run(saxpy, **liboffload.environment(library, FAKE_OFFLOAD_FAULT=kernel))
    assert done.returncode == -6
    assert done.stderr.startswith("omptarget: device 0 (liboffload) is lost (kernel main:6")


def _kernel(program: Path) -> str:
    (name,) = set(re.findall(rb"__omp_offloading_\w+_main_l\d+(?=\0)", program.read_bytes()))
    return str(name.decode())


@pytest.mark.parametrize("release", [22, pytest.param(24, marks=pytest.mark.exhaustive)])
def test_our_types_are_the_header_s(release: int) -> None:
    """Sizes, offsets, numbers and parameters, by a compiled check."""
    include = liboffload.header(release)
    if not (include / "offload" / "OffloadAPI.h").exists():
        lacks(f"scripts/compilers.sh {release} has not unpacked liboffload-{release}-dev")
    own = f"-I{liboffload.RUNTIME / 'plugins' / 'liboffload'}"
    form = (f"-DRELEASE={release}", own, f"-I{include}")
    call("g++", "-std=c++20", "-fsyntax-only", *form, CHECK)


@pytest.mark.parametrize("gpu", ["gfx90a", "gfx906", "gfx942:xnack-", "gfx1030", "gfx1201"])
def test_the_rules_for_images_are_doctor_s(gpu: str, tmp_path: Path, products: Products) -> None:
    """Headers of every processor, with settings of each feature."""
    known = {number: name for number, name in ARCHES.items() if number}
    headers = {}
    for number, name in known.items():
        for flags, ending in ((0, ""), (0x200, ":xnack-"), (0x300, ":xnack+")):
            headers[f"{number | flags:#x}"] = name + ending
    done = subprocess.run(
        [
            sys.executable,
            TESTS / "support" / "ask_images.py",
            libdir() / "libomptarget.rtl.liboffload.so",
            *headers,
        ],
        capture_output=True,
        text=True,
        check=True,
        env={
            "OMPTOOL_LIBOFFLOAD_PATH": str(liboffload.fake(products, 24)),
            "FAKE_OFFLOAD_NAME": gpu,
        },
    )
    accepted = dict(zip(headers.values(), done.stdout.split(), strict=True))
    assert accepted == {name: str(int(on_amd(name, gpu))) for name in headers.values()}
