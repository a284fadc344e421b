# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool verify --sarif` follows SARIF 2.1.0's schema, and the needs of viewers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from struct import unpack_from
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from sarif_schema import run_of
from toolchain import HOST, omptool, run
from verifying import Bench

from omptool.render.exchange import sarif
from packager.checks import CHECKS
from packager.hosts.load import load, load_all
from packager.model import FatBinary, Finding, Severity

OMPTOOL = str(Path(sys.executable).parent / "omptool")
NAMES = ["a b.o", "äß.o", "100%.o", "a#b?c.o", "a:b.o", "[x](y).o", "\\back.o", b"\xff\xfe.o"]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("sarif"))


@pytest.fixture(scope="module")
def lacking(bench: Bench) -> Path:
    """Provide an object with a kernel that image 0 lacks."""
    return bench.object("lacking", device=HOST.replace("OMPTARGET_KERNEL(first);", ""))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def verified(*arguments: object, exit_code: int) -> dict[str, Any]:
    """Return the run in the log that `verify --sarif` prints."""
    result = omptool("verify", "--sarif", *arguments)
    assert result.exit_code == exit_code, result.output
    found = run_of(result.stdout)
    (invocation,) = found["invocations"]
    assert invocation["exitCode"] == exit_code
    assert invocation["executionSuccessful"] is (exit_code != 2)
    return found


def locations(found: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield all locations in a run."""
    for result in found["results"]:
        yield from result["locations"]
        yield from result.get("relatedLocations", ())
    for notification in found["invocations"][0]["toolExecutionNotifications"]:
        yield from notification["locations"]


def target(found: dict[str, Any], artifact: dict[str, Any]) -> bytes:
    """Return the bytes of the file that an artifact's location refers to."""
    base = ""
    if "uriBaseId" in artifact:
        base = found["originalUriBaseIds"][artifact["uriBaseId"]]["uri"]
        assert urlsplit(artifact["uri"]).scheme == ""
        assert not artifact["uri"].startswith("/")
    uri = urlsplit(base + artifact["uri"])
    assert (uri.scheme, uri.netloc, uri.query, uri.fragment) == ("file", "", "", "")
    assert uri.path.isascii()
    return unquote(uri.path, errors="surrogateescape").encode(errors="surrogateescape")


def test_a_file_without_findings(bench: Bench) -> None:
    found = verified("--ignore", "OMP116", bench.object("sound"), exit_code=0)
    assert found["results"] == []
    assert found["invocations"][0]["toolExecutionNotifications"] == []
    (artifact,) = found["artifacts"]
    assert artifact["roles"] == ["analysisTarget"]


def test_rules_say_what_explain_says(lacking: Path) -> None:
    found = verified("--ignore", "OMP116", lacking, exit_code=1)
    rules = {rule["id"]: rule for rule in found["tool"]["driver"]["rules"]}
    assert list(rules) == [code for code in CHECKS if code != "OMP116"]
    for code, rule in rules.items():
        told = omptool("verify", "--explain", code).stdout.strip().removeprefix(f"{code}: ")
        assert rule["help"]["text"] == told
        assert "\n" not in rule["shortDescription"]["text"]
        assert "Cure:" not in rule["fullDescription"]["text"]


@pytest.mark.parametrize("strict", [False, True])
def test_exit_codes(bench: Bench, strict: bool) -> None:
    extra = HOST + "\nvoid third(void) {}\nOMPTARGET_KERNEL(third);\n"
    path = bench.object("extra", device=extra)
    options = ["--select", "OMP107", *(["--strict"] if strict else [])]
    found = verified(*options, path, exit_code=1 if strict else 0)
    (result,) = found["results"]
    assert (result["ruleId"], result["ruleIndex"], result["level"]) == ("OMP107", 0, "warning")


def test_regions_are_the_bytes(lacking: Path) -> None:
    found = verified("--select", "OMP105", lacking, exit_code=1)
    (result,) = found["results"]
    (at,), (related,) = result["locations"], result["relatedLocations"]
    data = lacking.read_bytes()
    binary = load(lacking)
    entry = binary.entries[result["properties"]["entry"]]
    image = binary.images[result["properties"]["image"]]
    region = at["physicalLocation"]["region"]
    assert region == {"byteOffset": entry.offset, "byteLength": 24}
    assert unpack_from("<q", data, region["byteOffset"] + 16) == (entry.size,)
    region = related["physicalLocation"]["region"]
    assert region == {"byteOffset": image.offset, "byteLength": image.size}
    assert data[region["byteOffset"] :].startswith(b"\x7fELF")
    assert related["message"]["text"] == "image 0 (x86_64-pc-linux-gnu)"


def test_every_code_in_every_form(lacking: Path, here: Path) -> None:
    """Findings as the checks make them, of no entry or image, of one, and of both."""
    binary = load(lacking)
    severities: tuple[Severity, ...] = ("error", "warning", "info")
    findings = [
        Finding(code, severities[number % 3], "a [name](x)", "a hint", entry, image, detail)
        for number, code in enumerate(CHECKS)
        for entry in (None, 0, 2)
        for image in (None, 1)
        for detail in ((), ("line 1", "line 2"))
    ]
    codes = list(CHECKS)
    found = run_of("".join(sarif.log([(binary, findings)], codes, [], 1)))
    assert {result["ruleId"] for result in found["results"]} == set(CHECKS)
    for result, finding in zip(found["results"], findings, strict=True):
        assert codes[result["ruleIndex"]] == finding.code
        assert result["level"] == {"info": "note"}.get(finding.severity, finding.severity)
        assert "](" not in result["message"]["text"].replace("\\](", "")  # is no link
        (at,) = result["locations"]
        is_somewhere = finding.entry is not None or finding.image is not None
        assert ("region" in at["physicalLocation"]) == is_somewhere
    assert {
        target(found, at["physicalLocation"]["artifactLocation"]) for at in locations(found)
    } == {os.fsencode(lacking)}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("absolute", [False, True], ids=["relative", "absolute"])
def test_names_of_files(lacking: Path, here: Path, name: str | bytes, absolute: bool) -> None:
    path = here / os.fsdecode(name)
    shutil.copy(lacking, path)
    given = path if absolute else path.relative_to(here)
    done = subprocess.run(
        [OMPTOOL, "verify", "--sarif", "--select", "OMP105", given, f"{given}.absent"],
        capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    found = run_of(done.stdout.decode())
    places = [at["physicalLocation"]["artifactLocation"] for at in locations(found)]
    assert [target(found, place) for place in places] == [
        os.fsencode(path), os.fsencode(path), os.fsencode(f"{path}.absent")
    ]  # fmt: skip
    assert target(found, found["artifacts"][0]["location"]) == os.fsencode(path)
    assert all(("uriBaseId" in place) != absolute for place in places)


def test_several_files(bench: Bench, lacking: Path, here: Path) -> None:
    (here / "none.o").write_bytes(b"")
    (here / "bad").write_bytes(lacking.read_bytes()[:1000])
    sound = bench.object("sound-too")
    options = ("--ignore", "OMP116")
    found = verified(*options, sound, "none.o", lacking, "bad", here, "absent", exit_code=2)
    notes = found["invocations"][0]["toolExecutionNotifications"]
    assert [note["level"] for note in notes] == ["error"] * 4
    assert [note["message"]["text"] for note in notes][::3] == [
        "is empty",
        "No such file or directory",
    ]
    assert [result["ruleId"] for result in found["results"]] == ["OMP105"]
    assert len(found["artifacts"]) == 2


@pytest.mark.parametrize("form", ["rc", "rcT"], ids=["archive", "thin-archive"])
def test_members_of_archives(lacking: Path, here: Path, form: str) -> None:
    shutil.copy(lacking, "member.o")
    run("ar", form, "all.a", "member.o")
    found = verified("--select", "OMP105", "all.a", exit_code=1)
    (result,) = found["results"]
    (at,) = result["locations"]
    assert at["logicalLocations"][0]["fullyQualifiedName"] == "all.a(member.o)"
    file = Path(os.fsdecode(target(found, at["physicalLocation"]["artifactLocation"])))
    assert file.name == ("member.o" if "T" in form else "all.a")
    (loaded,) = (loaded.binary for loaded in load_all(Path("all.a")))
    entry = loaded.entries[result["properties"]["entry"]]
    plain = load(lacking).entries[result["properties"]["entry"]]
    region = at["physicalLocation"]["region"]
    assert region["byteOffset"] == entry.offset
    assert plain.offset is not None
    record = lacking.read_bytes()[plain.offset :][:24]
    assert file.read_bytes()[region["byteOffset"] :].startswith(record)


def test_standard_input(lacking: Path) -> None:
    command = [OMPTOOL, "verify", "--sarif", "--select", "OMP105", "-"]
    done = subprocess.run(command, input=lacking.read_bytes(), capture_output=True, check=False)
    assert done.returncode == 1
    found = run_of(done.stdout.decode())
    (result,) = found["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"description": {"text": "standard input"}}
    assert place["region"]["byteLength"] == 24


def test_several_tables_number_their_entries_on(lacking: Path) -> None:
    binary = load(lacking)
    (table,) = binary.tables
    twice = FatBinary(
        binary.path, "x86_64", "object", "interface", binary.images, (table, table), ()
    )
    count = len(table.entries)
    findings = [Finding("OMP105", "error", "m", "h", number) for number in (0, count, 2 * count)]
    found = run_of("".join(sarif.log([(twice, findings)], ["OMP105"], [], 1)))
    regions = [at["physicalLocation"].get("region") for at in locations(found)]
    assert regions[0] == regions[1] == {"byteOffset": table.offset, "byteLength": 24}
    assert regions[2] is None  # which no check says
