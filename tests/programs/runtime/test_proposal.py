# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The interface of 2013, libtarget.so: programs linked and run; what doctor predicts of them."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from documents import document
from fixture_programs import OMPTOOL, build
from linking import LINKERS, link
from places import FIXTURES, ROOT
from proposals import (
    ENTRIES,
    SOURCE,
    bundled,
    by_hand,
    device,
    foreign_runtime,
    only,
    program,
    started,
    under_run,
)
from toolchain import (
    CLANG,
    OPENMP,
    X86_64,
    compile_c,
    device_image,
    run,
)

from omptool.installation import includedir, libdir

pytestmark = pytest.mark.offloads


@pytest.fixture
def image(tmp_path: Path) -> Path:
    return device_image(SOURCE + ENTRIES, tmp_path / "image.so")


@pytest.fixture
def old_plugin(tmp_path: Path) -> Path:
    """Provide the tests' plugin of section 5, in a folder of its own."""
    runtime = ROOT / "runtime"
    out = tmp_path / "plugins" / "libomptarget.rtl.proposal_cpu.so"
    out.parent.mkdir()
    cpu, machine = runtime / "plugins" / "host", runtime / "machine" / platform.machine()
    folders = [f"-I{folder}" for folder in (runtime / "include", runtime / "common", machine, cpu)]
    run(
        "g++", "-std=c++20", "-O1", "-shared", "-fPIC", *folders,
        runtime / "tests" / "support" / "proposal_cpu.cpp",
        cpu / "elf_image.cpp", machine / "call.cpp", "-o", out,
    )  # fmt: skip
    return out.parent


@pytest.mark.parametrize("linker", LINKERS)
def test_every_linker_finds_the_version_of_2013(tmp_path: Path, image: Path, linker: str) -> None:
    app = program(tmp_path, image, linker=linker)
    wanted = {
        word for line in run("readelf", "-W", "--dyn-syms", app).splitlines()
        for word in line.split() if word.startswith("__tgt_")
    }  # fmt: skip
    assert wanted == {
        f"{name}@LIBTARGET_2013"
        for name in ("__tgt_register_lib", "__tgt_unregister_lib", "__tgt_target")
    }
    assert "[libtarget.so]" in run("readelf", "-d", app)
    for done in (
        under_run(app, "--mandatory"),
        started(app, LD_LIBRARY_PATH=str(libdir()), OMP_TARGET_OFFLOAD="MANDATORY"),
    ):
        assert (done.stdout, done.stderr, done.returncode) == ("0 2\n", "", 0)


def test_a_program_of_both_interfaces_is_one_runtime(tmp_path: Path, image: Path) -> None:
    """Each library of the program calls the interface that it was written for."""
    other = FIXTURES / "shared_library" / "library.c"
    library = tmp_path / "libother.so"
    link(library, other, flags=("-shared", "-fPIC", f"-I{includedir()}", f"-L{libdir()}",
                                "-lomptarget"))  # fmt: skip
    paths = (f"-L{libdir()}", f"-Wl,-rpath,{tmp_path}", f"-Wl,-rpath-link,{libdir()}")
    inputs = (bundled(tmp_path, image), library)
    app = link(tmp_path / "app", *inputs, flags=(*paths, "-ltarget"))
    done = started(app, LD_LIBRARY_PATH=str(libdir()), LD_DEBUG="files")
    assert done.stdout == "0 2\n"
    loaded = [line for line in done.stderr.splitlines() if "calling init: " in line]
    assert sum(line.endswith("/libomptarget.so") for line in loaded) == 1


@pytest.mark.parametrize("order", [["-lomptarget", "-ltarget"], ["-ltarget", "-lomptarget"]])
@pytest.mark.parametrize("linker", LINKERS)
def test_the_other_library_may_be_linked_with_it(
    tmp_path: Path, image: Path, linker: str, order: list[str]
) -> None:
    flags = (f"-L{libdir()}", *order)
    app = link(tmp_path / "app", bundled(tmp_path, image), linker=linker, flags=flags)
    assert under_run(app, "--mandatory").stdout == "0 2\n"


def test_verify_names_the_program_that_an_old_mold_makes_in_silence(
    tmp_path: Path, image: Path
) -> None:
    """A newer one finds default versions, and its program is sound."""
    flags = (f"-L{libdir()}", "-ltarget")
    app = link(tmp_path / "app", bundled(tmp_path, image), linker="mold", flags=flags)
    calls = "__tgt_register_lib" in run("readelf", "-W", "--dyn-syms", app)
    fault = "is never registered: the file does not call __tgt_register_lib"
    assert [message.endswith(fault) for message in only(app, "OMP101")] == [True] * (not calls)


def test_a_program_linked_with_another_libtarget_runs_on_this_one(
    tmp_path: Path, image: Path
) -> None:
    runtime = foreign_runtime(tmp_path)
    app = by_hand(tmp_path, image, "-DUNVERSIONED", str(runtime), f"-Wl,-rpath,{tmp_path}")
    assert started(app).stdout == "1 0\n"
    assert under_run(app, "--mandatory").stdout == "0 2\n"


def test_a_libtarget_for_something_else_is_left_alone(tmp_path: Path) -> None:
    flags = ("-shared", "-fPIC", "-Wl,-soname,libtarget.so")
    other = compile_c("int aim(void) { return 5; }", tmp_path / "libtarget.so", *flags)
    source = "int aim(void); int main(void) { return aim(); }"
    app = link(
        tmp_path / "app", compile_c(source, tmp_path / "app.o", "-c"), other,
        flags=(f"-Wl,-rpath,{tmp_path}",),
    )  # fmt: skip
    assert under_run(app).returncode == 5


def test_a_plugin_of_2013_runs_a_program_of_2013(
    tmp_path: Path, image: Path, old_plugin: Path
) -> None:
    app = program(tmp_path, image)
    path = {"OMPTOOL_PLUGIN_PATH": str(old_plugin)}
    done = under_run(app, "--mandatory", "--plugin", "proposal_cpu", **path)
    assert (done.stdout, done.stderr) == ("0 2\n", "")
    listed = subprocess.run(
        [OMPTOOL, "devices", "--json"], capture_output=True, text=True, check=True,
        env=os.environ | path,
    )  # fmt: skip
    plugins = {row["name"]: row for row in document("devices", listed.stdout)["plugins"]}
    assert plugins["proposal_cpu"]["state"] == "ready"
    assert len(plugins["proposal_cpu"]["devices"]) == 2


def test_a_plugin_of_2013_runs_what_lower_makes(tmp_path: Path, old_plugin: Path) -> None:
    app = build("proposal", tmp_path)
    path = {"OMPTOOL_PLUGIN_PATH": str(old_plugin)}
    done = under_run(app, "--mandatory", "--plugin", "proposal_cpu", **path)
    assert done.stdout == (FIXTURES / "proposal" / "expected.txt").read_text()
    assert done.stderr == ""


def test_plugins_of_2013_are_counted(tmp_path: Path, old_plugin: Path) -> None:
    (plugin,) = old_plugin.iterdir()
    for number in range(9):
        shutil.copy(plugin, old_plugin / f"libomptarget.rtl.copy{number}.so")
    plugin.unlink()
    listed = subprocess.run(
        [OMPTOOL, "devices", "--json"], capture_output=True, text=True, check=True,
        env=os.environ | {"OMPTOOL_PLUGIN_PATH": str(old_plugin)},
    )  # fmt: skip
    plugins = {row["name"]: row for row in document("devices", listed.stdout)["plugins"]}
    assert all(plugins[f"copy{number}"]["state"] == "ready" for number in range(8))
    assert plugins["copy8"]["state"] == "refused"
    assert plugins["copy8"]["reason"].startswith("there are 8 plugins of its interface")


# ---- doctor ----


def diagnosed(path: Path, **environment: str) -> tuple[int, dict[str, Any]]:
    done = started(path, OMPTOOL, "doctor", "--json", **environment)
    return done.returncode, document("doctor", done.stdout)


def test_doctor_predicts_what_happens_to_a_program_of_2013(
    tmp_path: Path, image: Path, old_plugin: Path
) -> None:
    app = program(tmp_path, image)
    only_old = {"OMPTOOL_PLUGIN_PATH": str(old_plugin), "OMPTOOL_PLUGINS": "proposal_cpu"}
    for environment, plugin in (({}, "host"), (only_old, "proposal_cpu")):
        code, said = diagnosed(app, **environment)
        assert code == 0, said
        assert {entry["runs_on"] for entry in said["entries"]} == {f"device 0 ({plugin})"}
    named = compile_c(OPENMP, tmp_path / "clang", "-fopenmp", f"-fopenmp-targets={X86_64}",
                      compiler=CLANG)  # fmt: skip
    code, said = diagnosed(named, **only_old)
    assert code == 1
    assert "whose entries have no names" in said["images"][0]["rule"]


def test_doctor_knows_which_tables_the_runtime_refuses(tmp_path: Path) -> None:
    short = device(tmp_path, "LIBTARGET_GLOBAL(table);\nLIBTARGET_KERNEL(first);\n")
    code, said = diagnosed(program(tmp_path, short))
    assert code == 1
    assert {entry["runs_on"] for entry in said["entries"]} == {"host"}
    assert "the host lists 3 entries, image 0 2" in said["entries"][0]["reason"]
    smaller = device(tmp_path, ENTRIES, SOURCE.replace("long table[4]", "int table[4]"))
    code, said = diagnosed(program(tmp_path, smaller))
    assert code == 1
    assert said["entries"][2]["reason"] == "image 0 has another size for entry 0 (table)"
