# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Render the findings of `omptool verify`, as text for people and as JSON for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from omptool.console import SEVERITIES, coloured, portable, shown
from omptool.reading import Unread
from omptool.render.json_stream import document
from omptool.render.names import readable
from packager.model import FatBinary, Finding
from packager.wording import counted

MOST_NOTES = 3  # notes of one code: a program of templates may have hundreds


def verify_text(
    binary: FatBinary, findings: Sequence[Finding], codes: Sequence[str], *, is_wide: bool = False
) -> str:
    """Return a file's findings; without errors and warnings, a verdict and the checks that ran."""
    path = shown(binary.path)
    if binary.is_empty:
        nothing = "debug information alone" if binary.is_debug_only else "no offload code"
        return "\n".join([f"{path}: {nothing}", *_lines(path, findings, is_wide)])
    if not binary.has_parts and not findings:
        return f"{path}: offload code in forms that verify does not read"
    lines = list(_lines(path, findings, is_wide))
    if all(finding.severity == "info" for finding in findings):
        verdict = coloured("no errors, no warnings" if findings else "no findings", "green")
        images = counted(len(binary.images), "image")
        entries = counted(len(binary.entries), "entry")
        lines.append(f"{path}: {verdict} ({images}, {entries}; checked {_checked(codes)})")
    for image in binary.images:
        if image.contents.is_opaque and not image.contents.problem:
            what = f"image {image.index} is {image.kind}, whose symbols verify does not read"
            lines.append(f"{path}: {what}: its entries are not checked")
    return "\n".join(lines)


def _lines(path: str, findings: Sequence[Finding], is_wide: bool) -> Iterator[str]:
    named = str if is_wide else readable
    notes: Counter[str] = Counter()
    for finding in findings:
        notes[finding.code] += finding.severity == "info"
        if finding.severity == "info" and notes[finding.code] > MOST_NOTES and not is_wide:
            continue
        severity = coloured(finding.severity, SEVERITIES[finding.severity])
        yield f"{path}: {finding.code} {severity}: {named(finding.message)}"
        yield from (f"    {named(line)}" for line in (finding.hint, *finding.detail))
    for code, count in notes.items():
        if count > MOST_NOTES and not is_wide:
            more = counted(count - MOST_NOTES, "more finding")
            yield f"{path}: {code} info: {more} (--wide shows all)"


def _checked(codes: Sequence[str]) -> str:
    from packager.checks import CHECKS

    return (
        f"all {len(codes)} codes" if list(codes) == list(CHECKS) else ", ".join(codes) or "nothing"
    )


def verify_json(
    results: Iterable[tuple[FatBinary, Sequence[Finding]]],
    codes: Sequence[str],
    errors: Sequence[Unread],
) -> Iterator[str]:
    """Yield the document of schemas/verify.json, in pieces."""
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
        map(Unread.row, errors),
    )
