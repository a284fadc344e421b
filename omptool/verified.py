"""What `omptool verify` says: findings as text for people, as JSON and as SARIF for programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from omptool.console import portable, shown
from omptool.documents import document
from omptool.tables import counted
from packager.model import FatBinary, Finding


def verify_text(binary: FatBinary, findings: Sequence[Finding], codes: Sequence[str]) -> str:
    """A file's findings, or that there are none, and what was looked at."""
    path = shown(binary.path)
    if binary.is_empty:
        return f"{path}: no offload code"
    if not binary.has_parts and not findings:
        return f"{path}: nothing in a form that is checked"
    lines = []
    for finding in findings:
        lines.append(f"{path}: {finding.code} {finding.severity}: {finding.message}")
        lines += (f"    {line}" for line in (finding.hint, *finding.detail))
    if not findings:
        images = counted(len(binary.images), "image", "images")
        entries = counted(len(binary.entries), "entry", "entries")
        lines.append(f"{path}: no findings ({images}, {entries}; checked {_checked(codes)})")
    for image in binary.images:
        if image.contents.is_opaque and not image.contents.problem:
            what = f"image {image.index} is {image.kind} whose symbols are not read"
            lines.append(f"{path}: {what}: entries were not looked for in it")
    return "\n".join(lines)


def _checked(codes: Sequence[str]) -> str:
    from packager.checks import CHECKS

    return (
        f"all {len(codes)} codes" if list(codes) == list(CHECKS) else ", ".join(codes) or "nothing"
    )


def verify_json(
    results: Iterable[tuple[FatBinary, Sequence[Finding]]],
    codes: Sequence[str],
    errors: Sequence[dict[str, str]],
) -> Iterator[str]:
    """The document of schemas/verify.json, in pieces."""
    return document(
        [
            {
                "path": portable(binary.path),
                "checked": codes,
                "findings": [
                    {
                        "code": finding.code,
                        "severity": finding.severity,
                        "message": finding.message,
                        "hint": finding.hint,
                        "entry": finding.entry,
                        "image": finding.image,
                        "detail": finding.detail,
                    }
                    for finding in findings
                ],
            }
            for binary, findings in results
        ],
        errors,
    )


# SARIF's words for severities.
LEVELS = {"error": "error", "warning": "warning", "info": "note"}
SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def verify_sarif(
    results: Iterable[tuple[FatBinary, Sequence[Finding]]],
    codes: Sequence[str],
    errors: Sequence[dict[str, str]],
) -> str:
    """SARIF 2.1.0, for tools that collect findings of many checkers."""
    import json

    from omptool import __version__
    from packager import checks

    rules = [
        {"id": code, "shortDescription": {"text": checks.explain(code).split("\n")[0]},
         "fullDescription": {"text": checks.explain(code)}}
        for code in codes
    ]  # fmt: skip
    found = [
        _result(binary, finding, codes.index(finding.code))
        for binary, findings in results
        for finding in findings
    ]
    run = {
        "tool": {"driver": {"name": "omptool", "version": __version__, "rules": rules}},
        "results": found,
        "invocations": [
            {
                "executionSuccessful": not errors,
                "toolExecutionNotifications": [_notification(error) for error in errors],
            }
        ],
    }
    return json.dumps({"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _result(binary: FatBinary, finding: Finding, rule: int) -> dict[str, Any]:
    return {
        "ruleId": finding.code,
        "ruleIndex": rule,
        "level": LEVELS[finding.severity],
        "message": {"text": f"{finding.message} ({finding.hint})"},
        "locations": [_location(binary.path)],
        "properties": {"entry": finding.entry, "image": finding.image},
    }


def _notification(error: dict[str, str]) -> dict[str, Any]:
    return {
        "level": "error",
        "message": {"text": error["message"]},
        "locations": [_location(error["path"])],
    }


def _location(path: str) -> dict[str, Any]:
    from urllib.parse import quote

    return {"physicalLocation": {"artifactLocation": {"uri": quote(portable(path))}}}
