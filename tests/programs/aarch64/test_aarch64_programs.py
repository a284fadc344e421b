# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs for AArch64 on the runtime that scripts/test.sh builds for it, run by qemu.

Each way to put an image into a program, with pages of 4 and 64 KiB.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from aarch64 import GCC, OFFLOADING, PAGES, QEMU, RUNTIME, TARGET, compiled, driver
from clangs import INSTALLED, tool
from machine import lacks, output
from products import Products
from toolchain import NVPTX, PTX, omptool

from packager.files.reader import open_reader
from packager.formats.device_images.bitcode import module as bitcode
from packager.triples import code_of

pytestmark = [pytest.mark.slow, pytest.mark.offloads]
LIBRARIES = RUNTIME.parent
SAXPY = Path(__file__).with_name("saxpy.c")
ON_DEVICE, ON_HOST = ["ran on the device: 1999"], ["ran on the host: 1999"]


@pytest.fixture
def work(products: Products, tmp_path: Path) -> Path:
    """Provide a folder for the test with links to the objects and the image."""
    if not RUNTIME.exists():
        lacks("the runtime for AArch64 is not here: scripts/test.sh builds it")

    def fill(folder: Path) -> None:
        compiled(SAXPY, folder / "both.o")
        compiled(SAXPY, folder / "host.o", "--offload-host-only")
        compiled(SAXPY, folder / "device.o", "--offload-device-only")
        output(GCC, "-shared", folder / "device.o", "-o", folder / "image.so")

    for path in products.folder("saxpy-aarch64", fill).iterdir():
        (tmp_path / path.name).symlink_to(path)
    return tmp_path


def linked(out: Path, *objects: object) -> Path:
    """Link a program with the runtime."""
    output(*driver("lld"), *objects, *libraries(), "-o", out)
    return out


def libraries() -> tuple[object, ...]:
    return (f"-L{LIBRARIES}", "-lomptarget", f"-Wl,-rpath,{LIBRARIES}")


def expect(program: Path, lines: list[str]) -> None:
    """Check the output of a program at every page size."""
    for page in PAGES:
        assert output(*QEMU, "-p", page, program).splitlines() == lines


def made(*words: object) -> None:
    done = omptool(*words)
    assert done.exit_code == 0, done.output


def image(work: Path) -> tuple[str, str]:
    return "--image", f"{TARGET}={work}/image.so"


def test_by_link(work: Path) -> None:
    app = work / "app"
    made("link", "--", GCC, work / "both.o", *libraries(), "-o", app)
    expect(app, ON_DEVICE)


def test_a_program_has_observers(work: Path) -> None:
    """The runtime opens their library beside itself."""
    app, trace = work / "app", work / "trace.json"
    made("link", "--", GCC, work / "both.o", *libraries(), "-o", app)
    assert output(*QEMU, "-E", f"OMPTOOL_TRACE={trace}", app).splitlines() == ON_DEVICE
    names = [event["name"] for event in json.loads(trace.read_text())]
    assert len([name for name in names if name.startswith("__omp_offloading_")]) == 1


def test_by_clangs_own_link(work: Path) -> None:
    app = work / "app"
    for name in ("libomp.so", "libomptarget.devicertl.so"):
        output(GCC, "-shared", "-x", "c", "/dev/null", "-o", work / name)
    clang = (*tool(INSTALLED, "clang"), f"--target={TARGET}", *driver("lld")[-1:])
    output(*clang, *OFFLOADING, f"-L{work}", work / "both.o", *libraries(), "-o", app)
    words = (*QEMU, "-E", f"LD_LIBRARY_PATH={work}")
    assert output(*words, app).splitlines() == ON_DEVICE


def test_by_bundle_of_an_object(work: Path) -> None:
    made("bundle", work / "host.o", *image(work), "-o", work / "with-image.o")
    expect(linked(work / "app", work / "with-image.o"), ON_DEVICE)


@pytest.mark.parametrize("form", ["object", "asm", "llvm-ir"])
def test_by_emit(work: Path, form: str) -> None:
    wrapper = work / {"object": "wrapper.o", "asm": "wrapper.s", "llvm-ir": "wrapper.ll"}[form]
    words = ("--host", "aarch64", "--abi", "llvm-19", "--format", form)
    made("emit", *words, *image(work), "-o", wrapper)
    expect(linked(work / "app", "-Wno-override-module", work / "host.o", wrapper), ON_DEVICE)


def test_by_bundle_and_edit_of_a_program(work: Path) -> None:
    app, out = linked(work / "app", work / "host.o"), work / "out"
    expect(app, ON_HOST)
    made("bundle", app, *image(work), "-o", out)
    expect(out, ON_DEVICE)
    (work / "gpu.ptx").write_text(PTX)
    for options, lines in (
        (("--replace", f"0={work}/image.so"), ON_DEVICE),
        (("--add", f"{NVPTX}:sm_75={work}/gpu.ptx"), ON_DEVICE),
        (("--remove", 0), ON_HOST),
    ):
        edited = work / f"edited{options[0]}"
        made("edit", out, *options, "--force", "-o", edited)
        expect(edited, lines)


def test_the_device_runtime_in_bitcode_is_for_the_machine_of_the_runtime() -> None:
    """A clang of this machine compiles the bitcode, even if another compiler builds the runtime."""
    path = LIBRARIES / "devicertl" / "omptool-devicertl-host.bc"
    if not path.exists():
        lacks("the device runtime in bitcode is not here: no clang++ has compiled it")
    with open_reader(path) as data:
        assert bitcode.machine(data) == code_of(TARGET)
