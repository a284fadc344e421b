# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The plugin that people start from, in both forms: built with the installed headers, it runs."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from fixture_programs import OMPTOOL, build, call, run
from places import FIXTURES
from products import Products

from omptool.installation import includedir

pytestmark = pytest.mark.offloads

SOURCES = FIXTURES / "sample_plugin"
FORMS = ("sample.c", "sample_async.c")
FLAGS = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-O2", "-shared", "-fPIC", "-pthread")


@pytest.fixture(scope="module", params=FORMS)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder that has the plugin alone."""
    into = tmp_path_factory.mktemp("plugin")
    plugin = into / "libomptarget.rtl.sample.so"
    call("cc", *FLAGS, f"-I{includedir()}", SOURCES / request.param, "-o", plugin)
    return into


def test_devices_shows_it(folder: Path) -> None:
    done = subprocess.run(
        [OMPTOOL, "devices", "--json"],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"OMPTOOL_PLUGIN_PATH": str(folder)},
    )
    plugins = {plugin["name"]: plugin for plugin in json.loads(done.stdout)["plugins"]}
    assert plugins["sample"]["state"] == "ready"
    assert len(plugins["sample"]["devices"]) == 1


@pytest.mark.parametrize(
    "name", ["saxpy", "dotp", "mxv", "map_types", "pointer_mapping", "global_ctor", "two_images"]
)
def test_programs_give_their_results_on_it(folder: Path, products: Products, name: str) -> None:
    done = run(
        products.made(f"fixture-{name}", lambda folder: build(name, folder)),
        OMPTOOL_PLUGIN_PATH=str(folder),
        OMPTOOL_PLUGINS="sample",
        OMP_TARGET_OFFLOAD="MANDATORY",
    )
    assert done.stderr == ""
    assert done.stdout == (FIXTURES / name / "expected.txt").read_text()
    assert done.returncode == 0


@pytest.mark.parametrize("form", FORMS)
def test_its_first_comment_builds_it(tmp_path: Path, form: str) -> None:
    lines = [line.removeprefix(" *").strip() for line in (SOURCES / form).read_text().splitlines()]
    command = next(line for line in lines if line.startswith("cc "))
    for source in FORMS:
        (tmp_path / source).write_bytes((SOURCES / source).read_bytes())
    path = f"{Path(OMPTOOL).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PATH": path},
    )
    assert done.stderr == ""
    assert (tmp_path / "libomptarget.rtl.sample.so").exists()
