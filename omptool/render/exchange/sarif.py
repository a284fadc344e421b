# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Findings as SARIF 2.1.0, for tools that collect those of many checkers.

A place is a file and, where the finding is about an entry or an image, their bytes in it. Names of
files are relative to where the command ran, as they were given, or absolute.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from omptool import __version__
from omptool.console import portable
from omptool.reading import Unread
from omptool.render.json_stream import pieces
from packager import checks
from packager.files.reader import STANDARD_INPUT
from packager.gates import codes as gates
from packager.machine.explained import explain
from packager.model import FatBinary, Finding, SourcePlace
from packager.questions.source_places import place_of

Results = Sequence[tuple[FatBinary, Sequence[Finding]]]
Json = dict[str, Any]
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
# SARIF's levels by severity.
LEVELS = {"error": "error", "warning": "warning", "info": "note"}
EXITS = {0: "no finding is an error", 1: "a finding is an error", 2: "a file was not read whole"}
# Base of relative file names, which viewers map to the root of the sources.
BASE = "%SRCROOT%"


def log(
    results: Results, codes: Sequence[str], errors: Sequence[Unread], exit_code: int
) -> Iterator[str]:
    """Yield the log of one run of `verify`, in pieces."""
    names = dict.fromkeys(_file(binary) for binary, _ in results)
    rules = [rule(code, _name(code), explain(code)) for code in codes]
    found = _results(results, list(codes))
    return whole(names, rules, _invocation(errors, exit_code), found)


def _name(code: str) -> str:
    return gates.name(code) if code in gates.CODES else checks.CHECKS[code].__name__


def whole(
    files: Iterable[str], rules: Sequence[Json], invocation: Json, results: Iterable[Json]
) -> Iterator[str]:
    """Yield the log of one run about these files, in pieces."""
    driver = {"name": "omptool", "version": __version__, "semanticVersion": __version__}
    run = {
        "tool": {"driver": {**driver, "rules": rules}},
        "invocations": [invocation],
        "originalUriBaseIds": {BASE: {"uri": _file_uri(f"{Path.cwd()}/")}},
        "artifacts": [{"location": artifact(n), "roles": ["analysisTarget"]} for n in files],
        "results": results,
    }
    return pieces({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


def rule(code: str, name: str, explanation: str) -> Json:
    """Return a code's rule for viewers: a line, the cause, and the cure as help."""
    cause, _, _ = explanation.partition("\n\nCure: ")
    return {
        "id": code,
        "name": name,
        "shortDescription": {"text": explanation.partition("\n")[0]},
        "fullDescription": {"text": cause},
        "help": {"text": explanation},
    }


def _invocation(errors: Iterable[Unread], exit_code: int) -> Json:
    return {
        "executionSuccessful": exit_code != 2,
        "exitCode": exit_code,
        "exitCodeDescription": EXITS[exit_code],
        "toolExecutionNotifications": [
            {
                "level": "error",
                "message": {"text": error.message},
                "locations": [{"physicalLocation": {"artifactLocation": artifact(error.file)}}],
            }
            for error in errors
        ],
    }


def _results(results: Results, codes: Sequence[str]) -> Iterator[Json]:
    rules = {code: number for number, code in enumerate(codes)}
    for binary, findings in results:
        for finding in findings:
            yield {
                "ruleId": finding.code,
                "ruleIndex": rules[finding.code],
                "level": LEVELS[finding.severity],
                "message": {"text": _message(finding)},
                **_places(binary, finding),
                "properties": {"entry": finding.entry, "image": finding.image},
            }


def _message(finding: Finding) -> str:
    """Return all that `verify` prints of a finding, escaped: C++ names may look like links."""
    lines = (f"{finding.message} ({finding.hint})", *finding.detail)
    return plain("\n".join(lines))


def plain(words: str) -> str:
    """Escape the text that a viewer would show as a link."""
    return words.replace("](", "\\](")


def _places(binary: FatBinary, finding: Finding) -> Json:
    """Return the location of a finding: the region's source, else the entry, image or file.

    A source is accompanied by its entry, and an entry by its image.
    """
    image = None if finding.image is None else _image(binary, finding.image)
    if finding.entry is None:
        return {"locations": [_location(binary, image)]}
    others: list[tuple[str, Json]] = []
    place = _location(binary, _entry(binary, finding.entry))
    if source := place_of(binary, finding):
        others.append((f"entry {finding.entry}", place))
        place = _source(source)
    if image and finding.image is not None:
        name = f"image {finding.image} ({binary.images[finding.image].target})"
        others.append((name, _location(binary, image)))
    related = [
        {"id": number, **other, "message": {"text": name}}
        for number, (name, other) in enumerate(others)
    ]
    return {"locations": [place]} | ({"relatedLocations": related} if related else {})


def _source(source: SourcePlace) -> Json:
    place: Json = {"artifactLocation": artifact(portable(source.file))}
    if source.line:
        place["region"] = {"startLine": source.line}
    return {"physicalLocation": place}


def _location(binary: FatBinary, region: Json | None) -> Json:
    place: Json = {"artifactLocation": artifact(_file(binary))}
    if region:
        place["region"] = region
    location: Json = {"physicalLocation": place}
    if _file(binary) != binary.path:
        member = {"fullyQualifiedName": portable(binary.path), "kind": "module"}
        location["logicalLocations"] = [member]
    return location


def _entry(binary: FatBinary, number: int) -> Json | None:
    """Return the region of an entry's record; entries are numbered across all tables."""
    for table in binary.tables:
        if number < len(table.entries):
            offset = table.entries[number].offset
            return None if offset is None else _region(offset, table.record_size)
        number -= len(table.entries)
    return None


def _image(binary: FatBinary, index: int) -> Json:
    image = binary.images[index]
    return _region(image.offset, image.size if image.stored_size is None else image.stored_size)


def _region(offset: int, length: int) -> Json:
    return {"byteOffset": offset, "byteLength": length}


def _file(binary: FatBinary) -> str:
    """Return the file that offsets refer to."""
    return binary.file or binary.path


def artifact(name: str) -> Json:
    """Return the location of a file, as it was given."""
    if name == str(STANDARD_INPUT):
        return {"description": {"text": "standard input"}}
    if name.startswith("/"):
        return {"uri": _file_uri(name)}
    return {"uri": quote(os.fsencode(name)), "uriBaseId": BASE}


def _file_uri(path: str) -> str:
    return f"file://{quote(os.fsencode(path))}"
