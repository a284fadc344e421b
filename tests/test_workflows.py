# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The files for GitHub: valid by their schemas, with pinned actions and commands that exist."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import stored_schemas
import tomli
import yaml
from places import ROOT

GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
ACTION = ROOT / "action.yml"
FORMS = [path for path in (GITHUB / "ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config"]
SCHEMAS = [
    *((path, "github-workflow.json") for path in WORKFLOWS),
    *((path, "github-issue-forms.json") for path in FORMS),
    (GITHUB / "ISSUE_TEMPLATE" / "config.yml", "github-issue-config.json"),
    (ACTION, "github-action.json"),
]


class _Loader(yaml.SafeLoader):
    """Read YAML 1.2, as GitHub does: the key `on` is a text, and not true."""


_BOOL = "tag:yaml.org,2002:bool"
_Loader.yaml_implicit_resolvers = {
    first: [one for one in resolvers if one[0] != _BOOL]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(_BOOL, re.compile("true|false"), ["t", "f"])


def _loaded(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = yaml.load(path.read_text(), _Loader)  # noqa: S506 - a safe one
    return document


def _jobs(name: str) -> dict[str, dict[str, Any]]:
    jobs: dict[str, dict[str, Any]] = _loaded(GITHUB / "workflows" / f"{name}.yml")["jobs"]
    return jobs


def _commands(job: dict[str, Any]) -> list[str]:
    return [step["run"] for step in job["steps"] if "run" in step]


@pytest.mark.parametrize(("path", "schema"), SCHEMAS, ids=lambda value: Path(value).name)
def test_each_file_fits_its_schema(path: Path, schema: str) -> None:
    stored_schemas.validator(f"https://json.schemastore.org/{schema}").validate(_loaded(path))


@pytest.mark.parametrize("path", [*WORKFLOWS, ACTION], ids=lambda path: path.name)
def test_actions_are_pinned_by_commit(path: Path) -> None:
    used = re.findall(r"^ *(?:- )?uses: *(.*)$", path.read_text(), re.MULTILINE)
    assert used
    pinned = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
    assert [one for one in used if not pinned.fullmatch(one)] == []


def test_an_action_has_one_commit() -> None:
    texts = [path.read_text() for path in [*WORKFLOWS, ACTION]]
    used = {one for text in texts for one in re.findall(r"uses: *(\S+ # \S+)", text)}
    names = [one.partition("@")[0] for one in used]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_commands_are_those_of_the_makefile(path: Path) -> None:
    (targets,) = re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    jobs = _jobs(path.stem).values()
    made = {
        target
        for job in jobs
        for command in _commands(job)
        for target in re.findall(r"^make (\S+)$", command, re.MULTILINE)
    }
    assert made
    assert made <= set(targets.split())
    for job in jobs:
        for script in re.findall(r"scripts/[\w.]+", " ".join(_commands(job))):
            assert (ROOT / script).exists()


def test_the_oldest_and_the_newest_python_are_tried() -> None:
    project = tomli.loads((ROOT / "pyproject.toml").read_text())["project"]
    oldest = project["requires-python"].removeprefix(">=")
    images = [one["image"] for one in _jobs("test")["quick"]["strategy"]["matrix"]["include"]]
    assert [image for image in images if image.startswith("python:")] == [
        f"python:{oldest}-bookworm",
        "python:3.14-bookworm",
    ]
    assert {"debian:bookworm", "debian:trixie", "debian:sid"} <= set(images)
