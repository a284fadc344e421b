# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs of fixtures/, built as users build them and run: they print their expected.txt."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from fixture_programs import (
    OMPTOOL,
    PROGRAMS,
    X86_64,
    build,
    build_once,
    compile_host,
    lower,
    run,
    runtime_flags,
)
from linking import LINKERS, link
from places import FIXTURES
from products import Products

from omptool.installation import libdir

pytestmark = pytest.mark.offloads

# Programs with a region that falls back on purpose.
FALL_BACK = {
    "missing_kernel": "omptarget: region second runs on the host: the image for device 0 (host) "
    "lacks it\n",
}
# Constructors of device objects have no host version, and map_types is about moving data.
DEVICE_ONLY = {"ctor_order", "map_types"}
# Programs that read device addresses, or host data while the device's copy is newer.
SEPARATE_MEMORY_ONLY = {"map_types", "pointer_mapping", "shared_library"}


Build = Callable[[str], Path]


@pytest.fixture(scope="module")
def program(products: Products) -> Build:
    """Provide a function that builds each program once."""
    return lambda name: build_once(name, products)


def expected(name: str) -> str:
    return (FIXTURES / name / "expected.txt").read_text()


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_computes_on_the_device(program: Build, name: str) -> None:
    policy = "DEFAULT" if name in FALL_BACK else "MANDATORY"
    done = run(program(name), OMP_TARGET_OFFLOAD=policy)
    assert done.stdout == expected(name)
    assert done.stderr == FALL_BACK.get(name, "")
    assert done.returncode == 0


@pytest.mark.parametrize("name", [n for n in PROGRAMS if n not in DEVICE_ONLY])
def test_it_computes_on_the_host(program: Build, name: str) -> None:
    done = run(program(name), OMP_TARGET_OFFLOAD="DISABLED")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    assert "on the device" not in done.stdout


@pytest.mark.parametrize("name", [n for n in PROGRAMS if n not in SEPARATE_MEMORY_ONLY])
def test_it_computes_where_memory_is_shared(program: Build, name: str) -> None:
    done = run(program(name), OMPTOOL_HOST_MEMORY="shared")
    assert done.stdout == expected(name)
    assert done.returncode == 0


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_computes_on_the_second_of_two_devices(program: Build, name: str) -> None:
    done = run(program(name), OMPTOOL_HOST_DEVICES="2", OMP_DEFAULT_DEVICE="1")
    assert done.stdout == expected(name)
    assert done.returncode == 0


def test_entries_in_another_order_are_found_by_their_names(tmp_path: Path) -> None:
    """Host and image list them the other way round: a warning, and the program runs right."""
    folder = FIXTURES / "two_images"
    entries = ("--entry", "mxv", "--entry", "saxpy")
    image = lower(folder / "kernels.ll", tmp_path / "kernels.so", *entries)
    host = compile_host(folder / "host.c", tmp_path / "host.o")
    command = ("bundle", host, "--image", f"{X86_64}={image}", "-o", tmp_path / "bundled.o")
    done = subprocess.run([OMPTOOL, *command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "OMP106 warning: 2 entries are in another order in image 0" in done.stderr
    app = link(tmp_path / "app", tmp_path / "bundled.o", flags=runtime_flags())
    assert run(app, OMP_TARGET_OFFLOAD="MANDATORY").stdout == expected("two_images")


def test_a_missing_kernel_under_mandatory_is_named_and_fatal(program: Build) -> None:
    done = run(program("missing_kernel"), OMP_TARGET_OFFLOAD="MANDATORY")
    assert done.returncode == -6
    assert "second" in done.stderr
    assert done.stdout == ""


def test_it_runs_without_omptool_run(program: Build) -> None:
    environment = os.environ | {"LD_LIBRARY_PATH": str(libdir()), "OMP_TARGET_OFFLOAD": "MANDATORY"}
    command = [str(program("saxpy"))]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert done.stdout == expected("saxpy")


@pytest.mark.parametrize("flags", [["-pie"], ["-no-pie"], ["-pie", "-Wl,--gc-sections"]])
@pytest.mark.parametrize("linker", LINKERS)
def test_every_linker_makes_a_program_that_runs(
    products: Products, linker: str, flags: tuple[str, ...]
) -> None:
    program = products.made(
        "-".join(("saxpy", linker, *flags)),
        lambda folder: build("saxpy", folder, *flags, linker=linker),
    )
    done = run(program, OMP_TARGET_OFFLOAD="MANDATORY")
    assert done.stdout == expected("saxpy")
