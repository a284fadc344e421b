# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool verify` as a gate of a build: against an earlier one, by a budget, with a baseline."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from clangs import compiled
from documents import document
from places import DATA
from sarif_schema import run_of
from toolchain import omptool, run

SOURCE = Path(__file__).parent / "sources" / "moved.cpp"
FATBIN = DATA / "none.fatbin"


class Builds(NamedTuple):
    old: Path
    moved: Path  # program whose lines moved by one comment
    less: Path  # one region fewer


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Builds:
    folder = tmp_path_factory.mktemp("builds")
    text = SOURCE.read_text()
    moved = text.replace("void work", "// more\nvoid work")
    less = "\n".join(
        line for line in moved.split("\n") if "// first" not in line and "+= 1" not in line
    )
    programs = []
    for name, source in (("old", text), ("moved", moved), ("less", less)):
        (folder / f"{name}.cpp").write_text(source)
        programs.append(compiled(folder / f"{name}.cpp", folder, "-g"))
    return Builds(*programs)


def codes(old: Path, new: Path, *options: str, exit_code: int) -> list[tuple[str, str]]:
    result = omptool("verify", "--json", "--against", old, new, *options)
    assert result.exit_code == exit_code, result.output
    files = document("verify", result.stdout)["files"]
    return [(one["code"], one["severity"]) for file in files for one in file["findings"]]


def test_a_moved_line_is_no_change(builds: Builds) -> None:
    assert codes(builds.old, builds.moved, exit_code=0) == []


def test_a_removed_kernel_fails(builds: Builds) -> None:
    assert codes(builds.moved, builds.less, exit_code=1) == [("OMP141", "error")]
    text = omptool("verify", "--against", builds.moved, builds.less).stdout
    assert ": OMP141 error: kernel work:12 (elf for x86_64-pc-linux-gnu) is gone\n" in text


def test_a_file_that_cannot_be_read_has_lost_nothing(builds: Builds, tmp_path: Path) -> None:
    missing = tmp_path / "app"
    for gate in (("--against", builds.old), ("--budget", _budget(tmp_path))):
        result = omptool("verify", *gate, missing)
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr == f"Error: {missing}: No such file or directory\n"


def _budget(folder: Path) -> Path:
    path = folder / "budget.toml"
    path.write_text("entries = 2\n")
    return path


def test_a_new_kernel_fails_where_that_is_asked_for(builds: Builds) -> None:
    assert codes(builds.less, builds.moved, exit_code=0)[0] == ("OMP142", "info")
    found = codes(builds.less, builds.moved, "--fail-on", "added", exit_code=1)
    assert ("OMP142", "error") in found


def test_a_lost_architecture_fails() -> None:
    assert codes(FATBIN, DATA / "zstd.fatbin", exit_code=1) == [("OMP141", "error")]


def test_a_program_without_device_code_fails(builds: Builds, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    run("clang++-19", "-O1", "-fopenmp", SOURCE, "-o", plain)
    found = codes(builds.old, plain, exit_code=1)
    assert ("OMP141", "error") in found


def test_a_lost_member_of_an_archive_fails(tmp_path: Path) -> None:
    (tmp_path / "a.fatbin").write_bytes(FATBIN.read_bytes())
    (tmp_path / "b.fatbin").write_bytes(FATBIN.read_bytes())
    run("ar", "rcs", tmp_path / "old.a", tmp_path / "a.fatbin", tmp_path / "b.fatbin")
    run("ar", "rcs", tmp_path / "new.a", tmp_path / "a.fatbin")
    result = omptool("verify", "--against", tmp_path / "old.a", tmp_path / "new.a")
    assert result.exit_code == 1
    assert f"{tmp_path / 'new.a'}(b.fatbin): OMP141 error: image cubin for " in result.stdout


def test_a_budget(builds: Builds, tmp_path: Path) -> None:
    budget = tmp_path / "budget.toml"
    assert omptool("verify", "--write-budget", budget, builds.old).exit_code == 0
    assert omptool("verify", "--budget", budget, builds.old).exit_code == 0
    result = omptool("verify", "--budget", budget, builds.less)
    assert result.exit_code == 1, result.output
    assert ": OMP145 error: there are 2 entries, and the budget asks for 3\n" in result.stdout
    budget.write_text('[kernels."work:*"]\ncode = 1\n')
    result = omptool("verify", "--budget", budget, builds.old)
    assert result.exit_code == 1
    assert ": OMP144 error: kernel work:11 (x86_64-pc-linux-gnu) has code " in result.stdout
    budget.write_text("entry = 1\n")
    result = omptool("verify", "--budget", budget, builds.old)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"Error: {budget}: the budget has the key 'entry'; known keys")


def test_a_baseline(builds: Builds, tmp_path: Path) -> None:
    known = tmp_path / "known.json"
    asked = ("verify", "--against", builds.moved, builds.less)
    result = omptool(*asked, "--write-baseline", known)
    assert (result.exit_code, result.stderr) == (0, f"{known}: wrote 1 finding\n")
    assert len(json.loads(known.read_text())["findings"]) == 1
    result = omptool(*asked, "--baseline", known)
    assert (result.exit_code, result.stderr) == (0, f"{known}: 1 known finding left out\n")
    result = omptool("verify", builds.less, "--baseline", known)
    assert result.exit_code == 0
    assert result.stderr.startswith(f"{known}: no longer found: {builds.less}: OMP141: kernel ")
    result = omptool("verify", builds.old, "--baseline", known)
    assert (result.exit_code, result.stderr) == (0, "")  # the entry's file is unchecked


def test_annotations_and_sarif_point_to_the_source(builds: Builds, tmp_path: Path) -> None:
    """An image without one of the host's regions: the finding names the entry."""
    edited = tmp_path / "edited"
    image = tmp_path / "images"
    omptool("extract", builds.less, "-o", image)
    (only,) = image.iterdir()
    result = omptool("edit", builds.moved, "--replace", f"0={only}", "--force", "-o", edited)
    assert result.exit_code == 0, result.output
    result = omptool("verify", "--format", "github", edited)
    assert result.exit_code == 1
    source = builds.moved.with_suffix(".cpp")
    lines = [line for line in result.stdout.splitlines() if line.startswith("::error ")]
    assert any(f"file={source},line=" in line and "title=OMP105 " in line for line in lines)
    found = run_of(omptool("verify", "--sarif", edited).stdout)
    places = [
        one["locations"][0]["physicalLocation"]
        for one in found["results"]
        if one["ruleId"] == "OMP105"
    ]
    assert places
    assert all(place["artifactLocation"]["uri"] == source.as_uri() for place in places)
    assert all(place["region"]["startLine"] > 0 for place in places)


def test_options_that_make_no_sense(builds: Builds, tmp_path: Path) -> None:
    for options, message in (
        (("--fail-on", "added"), "--fail-on needs --against."),
        (("--against", builds.old, builds.old), "--against takes exactly one FILE."),
        (("--baseline", "a", "--write-baseline", "a"), "--baseline and --write-baseline exclude"),
        (("--format", "json", "--sarif"), "--format, --json and --sarif exclude each other."),
    ):
        result = omptool("verify", builds.old, *options)
        assert (result.exit_code, message in result.stderr) == (2, True), result.stderr
    missing = tmp_path / "missing"
    result = omptool("verify", "--against", missing, builds.old)
    assert result.exit_code == 2
    assert f"{missing}: No such file or directory" in result.stderr


@pytest.mark.parametrize("command", ["run", "verify"])
def test_gates_are_imported_when_they_are_asked_for(command: str) -> None:
    code = f"import sys, omptool.commands.{command}; print(*sys.modules, sep='\\n')"
    loaded = run(sys.executable, "-c", code).splitlines()
    assert not {"difflib", "packager.gates.budget", "packager.gates.baseline"} & set(loaded)
