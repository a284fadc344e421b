# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The CMake module: its location, arguments of its functions, and errors of wrong calls."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import running
from build_trees import call, done
from fixture_programs import OMPTOOL
from places import TESTS
from products import Products

from omptool import __version__
from omptool.installation import cmakedir, includedir, libdir, runtime_root

pytestmark = pytest.mark.slow

SOURCES = TESTS / "programs" / "builds"


def configured(name: str, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Return CMake's output for a project, without the line breaks of messages."""
    ran = done(folder, "cmake", "-S", SOURCES / name, "-B", "build", "-G", "Ninja", *options)
    ran.stderr = re.sub(r"\s+", " ", ran.stderr)
    return ran


@pytest.mark.parametrize(
    "way",
    [
        pytest.param([f"-Domptool_DIR={cmakedir()}"], id="omptool_DIR"),
        pytest.param([f"-DCMAKE_PREFIX_PATH={runtime_root()}"], id="CMAKE_PREFIX_PATH"),
        pytest.param([], id="PATH"),
    ],
)
def test_it_is_found(way: list[str], tmp_path: Path) -> None:
    ran = configured("finding", tmp_path, *way, "-DWANTED=0.1")
    assert ran.returncode == 0, ran.stderr
    libraries = f"{libdir()}/libomptarget.so {libdir()}/libtarget.so"
    assert f"found {libraries} {includedir()} {OMPTOOL} {__version__}\n" in ran.stdout


def test_a_version_that_it_is_not_is_not_found(tmp_path: Path) -> None:
    ran = configured("finding", tmp_path, "-DWANTED=99")
    assert ran.returncode == 1
    assert 'requested version "99"' in ran.stderr
    assert f"version: {__version__}" in ran.stderr


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("no-source", "omptool_lower: SOURCE is missing"),
        ("unknown-word", "omptool_lower: what is 'ARCH;sm_90'?"),
        ("no-value", "omptool_lower: no value for TRIPLE"),
        ("no-images", "omptool_add_images: IMAGES is missing"),
        ("no-file", "omptool_add_images: 'x86_64-pc-linux-gnu' is not TRIPLE[:ARCH]=FILE"),
        ("no-target", "omptool_add_images: there is no target 'another'"),
        ("archive", "omptool_add_images: archive is neither an executable nor a shared library,"),
        ("twice", "omptool_add_images: app has images already: give all of them in one call"),
        ("no-destination", "omptool_install_runtime: DESTINATION is missing"),
        ("no-plugin", f"there is no {libdir()}/libomptarget.rtl.nosuch.so"),
        ("no-libomp", "omptool_install_runtime: the compiler has no libomp.so"),
        ("elsewhere", f"omptool_add_images: app is made in {SOURCES / 'misuse'}: call it there"),
    ],
)
def test_a_wrong_call_is_named(case: str, message: str, tmp_path: Path) -> None:
    ran = configured("misuse", tmp_path, f"-DCASE={case}")
    assert ran.returncode == 1
    assert message in ran.stderr


def configured_module(folder: Path) -> Path:
    shutil.copytree(SOURCES / "module", folder / "with a space")
    call(folder, "cmake", "-S", "with a space", "-B", "build", "-G", "Ninja")
    return folder / "build"


def module(products: Products) -> Path:
    def build(folder: Path) -> None:
        call(folder, "cmake", "--build", configured_module(folder), "--parallel", "4")

    return products.folder("cmake-module", build) / "build"


def test_every_keyword_reaches_the_command(tmp_path: Path) -> None:
    graph = (configured_module(tmp_path) / "build.ninja").read_text()
    (lower,) = re.findall(r"COMMAND = .* lower .*/cpu.*", graph)
    for option in (
        "--cpu x86-64-v2",
        "--features +avx",
        "-O 1",
        "--emit image",
        "--entry second --entry first",
        "-E make_directory",  # Make creates no folders by itself
    ):
        assert option in lower
    images = [f"images of tripled/{name}" for name in ("cpu", "gpu")]
    named = {
        "tripled": ("entries.txt --abi interface", "nvptx64-nvidia-cuda:sm_75=", *images),
        "older": ("--entries auto --abi proposal", images[0]),
        "bare": ("--entries auto --abi llvm-19", images[0]),
    }
    for target, words in named.items():
        (emit,) = re.findall(rf"COMMAND = .* emit .*{target}\.images\.o.*", graph)
        assert [word for word in words if word not in emit] == []


@pytest.mark.parametrize(
    ("launcher", "module"),
    [
        pytest.param("omptool;link;--no-rpath;--", "OFF", id="launcher"),
        pytest.param("omptool;link;--", "ON", id="module"),
    ],
)
@pytest.mark.offloads
def test_what_is_installed_has_no_folder_of_the_build(
    launcher: str, module: str, tmp_path: Path
) -> None:
    shutil.copytree(SOURCES / "installed", tmp_path / "source")
    options = [f"-DCMAKE_C_LINKER_LAUNCHER={launcher}", f"-DWITH_MODULE={module}"]
    options += ["-DCMAKE_C_COMPILER=clang-19", f"-DOMPTOOL_NO_RPATH={module}"]
    call(tmp_path, "cmake", "-S", "source", "-B", "build", "-G", "Ninja", *options)
    call(tmp_path, "cmake", "--build", "build")
    call(tmp_path, "cmake", "--install", "build", "--prefix", "first")
    for path in ("build/app", "build/libpart.so"):
        assert str(libdir()) not in call(tmp_path, "readelf", "-d", path)
    (tmp_path / "first").rename(tmp_path / "second")
    for path in ("second/bin/app", "second/lib/libpart.so"):
        dynamic = call(tmp_path, "readelf", "-d", path)
        assert "runpath: [$ORIGIN/../lib]" in dynamic
        assert "[libomptarget.so]" in dynamic
    app = tmp_path / "second" / "bin" / "app"
    if module == "ON":
        shutil.rmtree(tmp_path / "build")
        environment = os.environ | running.MANDATORY
        alone = subprocess.run([app], capture_output=True, text=True, check=False, env=environment)
        assert (alone.stdout, alone.stderr) == ("14\n", "")
    else:
        assert running.run(app, **running.MANDATORY).stdout == "14\n"


@pytest.mark.exhaustive
@pytest.mark.offloads
def test_a_library_with_images_runs(products: Products) -> None:
    ran = running.run(module(products) / "module", **running.MANDATORY)
    assert (ran.stdout, ran.stderr) == ("54\n", "")


@pytest.mark.exhaustive
def test_a_library_has_what_was_asked_for(products: Products) -> None:
    (file,) = json.loads(call(module(products), OMPTOOL, "dump", "--json", "libtripled.so"))[
        "files"
    ]
    assert [(image["triple"], image["arch"]) for image in file["images"]] == [
        ("x86_64-pc-linux-gnu", None),
        ("nvptx64-nvidia-cuda", "sm_75"),
    ]
    assert [entry["name"] for entry in file["entries"]] == ["second", "first"]


@pytest.mark.exhaustive
def test_the_runtime_is_that_of_the_abi_or_none(products: Products) -> None:
    def needed(library: str) -> list[str]:
        said = call(module(products), "readelf", "-d", library)
        return re.findall(r"NEEDED.*\[(lib(?:omp)?target\.so)\]", said)

    assert needed("libtripled.so") == ["libomptarget.so"]
    assert needed("libolder.so") == ["libtarget.so"]
    assert needed("libbare.so") == []


@pytest.mark.exhaustive
def test_a_list_of_entries_is_an_input(products: Products) -> None:
    graph = call(module(products), "ninja", "-t", "query", "tripled.images.o")
    assert "entries.txt" in graph
