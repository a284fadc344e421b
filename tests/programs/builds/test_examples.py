# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fixtures/builds, the example for build systems, built by each: fully, and after changes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import running
from build_trees import Build, Rebuilt, call, changed_by, rebuilt
from places import FIXTURES, ROOT
from products import Products

pytestmark = pytest.mark.slow

PAGE = (ROOT / "docs" / "build-systems.md").read_text()
SOURCES = {path.name for path in (FIXTURES / "builds").iterdir()}
X86_64 = "x86_64-pc-linux-gnu"
IMAGE = f"scale.{X86_64}.image"


def commands(heading: str) -> list[str]:
    """Return the lines that the page has people type in a section."""
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return section.partition("```sh\n")[2].partition("```")[0].splitlines()


def build_of(heading: str) -> Build:
    """Return a build that runs a section's commands except the last, which starts a program."""
    *lines, _run = commands(heading)
    return lambda folder: call(folder, "bash", "-euo", "pipefail", "-c", "\n".join(lines))


def by_make_of_cmake(folder: Path) -> str:
    if not (folder / "build").exists():
        call(folder, "cmake", "-B", "build", "-G", "Unix Makefiles")
    return call(folder, "cmake", "--build", "build", "--parallel", "4")


BUILDS: dict[str, Build] = {
    "make": build_of("Make"),
    "ninja": build_of("Ninja"),
    "cmake": build_of("CMake"),
    "cmake-make": by_make_of_cmake,
}
# Files made from one kernel: the image, the object that contains it, and the program.
OF_ONE_KERNEL = {
    "make": {IMAGE, "scale.bundled.o", "scale.bundled.o.d", "scale"},
    "ninja": {"scale.image", "scale.bundled.o", "scale"},  # ninja removes the .d file it reads
    "cmake": {IMAGE, "scale.images.o", "scale"},
    "cmake-make": {IMAGE, "scale.images.o", "scale"},
}
EVERY = pytest.mark.parametrize(
    "name",
    [*list(BUILDS)[:-1], pytest.param("cmake-make", marks=pytest.mark.exhaustive)],
)


def built(name: str, products: Products) -> Rebuilt:
    programs = "build" if name.startswith("cmake") else "."
    return products.made(
        f"builds-{name}", lambda folder: rebuilt(folder, BUILDS[name], "scale.ll", programs)
    )


@EVERY
def test_a_kernel_rebuilds_its_image_and_one_link(name: str, products: Products) -> None:
    result = built(name, products)
    assert result.at_once == set()
    assert result.after_touching == OF_ONE_KERNEL[name]


def test_nothing_is_left_but_outputs(products: Products) -> None:
    folder = built("make", products).folder
    made = {"{}", "{}.o", "{}.d", "{}.bundled.o", "{}.bundled.o.d", f"{{}}.{X86_64}.image"}
    outputs = {name.format(program) for name in made for program in ("saxpy", "scale")}
    assert {path.name for path in folder.iterdir()} == SOURCES | outputs


@pytest.mark.offloads
@EVERY
def test_what_was_built_runs_on_the_device(name: str, products: Products) -> None:
    programs = built(name, products).programs
    for program in ("saxpy", "scale"):
        ran = running.run(programs / program, **running.MANDATORY)
        assert ran.stdout == f"{program}: 1000 of 1000 elements right, ran on the device\n"


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["make", "cmake"])
def test_for_two_triples_both_images_follow_their_kernel(name: str, tmp_path: Path) -> None:
    triples = (X86_64, "nvptx64-nvidia-cuda")

    def make(folder: Path) -> str:
        return call(folder, "make", "-j4", f"TRIPLES={' '.join(triples)}")

    def cmake(folder: Path) -> str:
        call(folder, "cmake", "-B", "build", "-G", "Ninja", f"-DTRIPLES={';'.join(triples)}")
        return call(folder, "cmake", "--build", "build")

    result = rebuilt(tmp_path, make if name == "make" else cmake, "scale.ll")
    assert result.at_once == set()
    images = {f"scale.{triple}.image" for triple in triples}
    assert result.after_touching == (OF_ONE_KERNEL[name] | images)


@pytest.mark.exhaustive
@EVERY
def test_a_host_source_leaves_the_images_alone(name: str, tmp_path: Path) -> None:
    result = rebuilt(tmp_path, BUILDS[name], "scale.c")
    assert not [output for output in result.after_touching if output.endswith(".image")]
    assert "scale" in result.after_touching
    assert "saxpy" not in result.after_touching


def test_make_goes_on_without_images_that_it_has_no_rule_for(
    products: Products, tmp_path: Path
) -> None:
    """bundle's own rules name those of the triples that were wanted before."""
    left = built("make", products).folder
    shutil.copytree(left, tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.image"))
    assert "lower scale.ll --triple nvptx64" in call(tmp_path, "make", "-n", "TRIPLES=nvptx64")


def test_make_clean_leaves_the_sources(tmp_path: Path) -> None:
    for source in SOURCES:
        (tmp_path / source).write_bytes((FIXTURES / "builds" / source).read_bytes())
    for name in ("saxpy", "saxpy.o", "scale.bundled.o.d", IMAGE):
        (tmp_path / name).touch()
    assert changed_by(tmp_path, lambda folder: call(folder, "make", "clean")) == set()
    assert {path.name for path in tmp_path.iterdir()} == SOURCES
