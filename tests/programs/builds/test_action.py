# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`action.yml` and the hooks of pre-commit, run by a shell that does what their runners do."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from clangs import compiled
from fixture_programs import OMPTOOL
from places import ROOT
from sarif_schema import run_of

pytestmark = [pytest.mark.slow, pytest.mark.offloads]

ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
SOURCE = ROOT / "tests" / "omptool" / "commands" / "sources" / "moved.cpp"
# GitHub's command for `shell: bash`.
BASH = ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c")


class Run:
    """A run of the action in a repository's folder."""

    def __init__(self, folder: Path, **given: str) -> None:
        assert set(given) <= set(ACTION["inputs"])
        self.inputs = {name: one.get("default", "") for name, one in ACTION["inputs"].items()}
        self.inputs |= given
        self.temporary = folder / "runner"
        self.temporary.mkdir()
        self.failed, self.printed, self.used = False, "", dict[str, Mapping[str, str]]()
        for step in ACTION["runs"]["steps"]:
            if self._is_due(step.get("if", "success()")):
                self._do(step, folder)

    def _is_due(self, condition: str) -> bool:
        """Evaluate a condition of this action: on inputs, and on failures of earlier steps."""
        words = condition.removeprefix("${{").removesuffix("}}").strip()
        if "cancelled()" not in words and self.failed:
            return False
        for name, how, value in re.findall(r"inputs\.(\w+) (==|!=) '(\w*)'", words):
            if (self.inputs[name] == value) is not (how == "=="):
                return False
        return True

    def _value(self, text: str) -> str:
        known = {f"inputs.{name}": value for name, value in self.inputs.items()}
        known["runner.temp"] = str(self.temporary)
        return EXPRESSION.sub(lambda found: known[found[1]], text)

    def _do(self, step: dict[str, Any], folder: Path) -> None:
        if "uses" in step:
            self.used[step["uses"]] = {k: self._value(v) for k, v in step["with"].items()}
            return
        assert step["shell"] == "bash"
        assert "${{" not in step["run"], "inputs come by the environment, which no shell parses"
        own = {name: self._value(value) for name, value in step.get("env", {}).items()}
        done = subprocess.run(
            [*BASH, step["run"]],
            cwd=folder,
            env=os.environ | own | {"RUNNER_TEMP": str(self.temporary)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        self.printed += done.stdout
        self.failed = self.failed or done.returncode != 0


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Provide a folder with the program of the last build, and one that lost a kernel."""
    text = SOURCE.read_text()
    less = "\n".join(
        line for line in text.split("\n") if "// first" not in line and "+= 1" not in line
    )
    for name, source in (("last", text), ("app", less)):
        (tmp_path / f"{name}.cpp").write_text(source)
        compiled(tmp_path / f"{name}.cpp", tmp_path, "-g")
    return tmp_path


def test_a_repository_that_loses_a_kernel(repository: Path) -> None:
    run = Run(repository, files="app", against="last", run="./app", command=OMPTOOL)
    assert run.failed
    assert "::error file=app,title=OMP141 app::kernel work:11 " in run.printed
    assert "the checker found nothing" in run.printed  # the program ran, too
    found = run_of((run.temporary / "omptool-sarif" / "verify.sarif").read_text())
    assert [one["ruleId"] for one in found["results"]] == ["OMP141"]
    ((uses, given),) = run.used.items()
    assert uses.startswith("github/codeql-action/upload-sarif@")
    assert given["sarif_file"] == str(run.temporary / "omptool-sarif")


def test_a_repository_that_lost_nothing(repository: Path) -> None:
    run = Run(repository, files="last app", verify="--strict", command=OMPTOOL, upload="false")
    assert (run.failed, run.printed, run.used) == (False, "", {})


def test_an_input_is_no_command(repository: Path) -> None:
    run = Run(repository, files="app;touch$IFS./owned $(touch owned)", command=OMPTOOL)
    assert run.failed
    assert not (repository / "owned").exists()


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["id"])
def test_a_hook(hook: dict[str, Any], tmp_path: Path) -> None:
    """Files that pre-commit chooses by the hook's pattern are appended to its entry."""
    source = tmp_path / "app.cpp"
    source.write_text(SOURCE.read_text())
    program = compiled(source, tmp_path, "-shared", "-fPIC").rename(tmp_path / "libapp.so")
    stripped = tmp_path / "libnone.so"
    words = ["-fopenmp", "-shared", "-fPIC", str(source), "-o", str(stripped)]
    subprocess.run(["clang++-19", *words], check=True)
    chosen = re.compile(hook["files"])
    assert [path.name for path in (program, stripped, source) if chosen.search(path.name)] == [
        "libapp.so",
        "libnone.so",
    ]
    command, *entry = shlex.split(hook["entry"])
    assert command == Path(OMPTOOL).name
    for path, code in ((program, 0), (stripped, 1 if "--strict" in entry else 0)):
        done = subprocess.run([OMPTOOL, *entry, path], capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stdout
