"""The plugin that people start from, built against the installed headers alone, runs programs."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from fixture_programs import OMPTOOL, build, call, run
from places import FIXTURES

from omptool.installation import includedir

SOURCE = FIXTURES / "sample_plugin" / "sample.c"
FLAGS = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-O2", "-shared", "-fPIC")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the plugin is, alone."""
    into = tmp_path_factory.mktemp("plugin")
    plugin = into / "libomptarget.rtl.sample.so"
    call("cc", *FLAGS, f"-I{includedir()}", SOURCE, "-o", plugin)
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
def test_programs_give_their_results_on_it(folder: Path, tmp_path: Path, name: str) -> None:
    done = run(
        build(name, tmp_path),
        OMPTOOL_PLUGIN_PATH=str(folder),
        OMPTOOL_PLUGINS="sample",
        OMP_TARGET_OFFLOAD="MANDATORY",
    )
    assert done.stderr == ""
    assert done.stdout == (FIXTURES / name / "expected.txt").read_text()
    assert done.returncode == 0


def test_its_first_comment_builds_it(tmp_path: Path) -> None:
    lines = [line.removeprefix(" *").strip() for line in SOURCE.read_text().splitlines()]
    command = next(line for line in lines if line.startswith("cc "))
    (tmp_path / SOURCE.name).write_bytes(SOURCE.read_bytes())
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
