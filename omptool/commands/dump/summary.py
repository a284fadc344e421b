# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool dump --summary`: sums of each file, and which GPUs it is for."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from omptool.console import echo, echo_pieces
from omptool.reading import Files
from omptool.render.dump import headline
from omptool.render.summary import summary_json, summary_text
from packager.files.portable import is_file
from packager.model import DeviceImage, FatBinary
from packager.questions.summary import summary
from packager.questions.wanted import Wanted
from packager.wording import counted


def show(found: Files, wanted: Wanted, as_json: bool) -> None:
    """Show the sums of the images that are meant."""

    def pairs(binaries: Iterable[FatBinary]) -> list[tuple[FatBinary, list[DeviceImage]]]:
        return [(binary, list(wanted.images(binary))) for binary in binaries]

    if as_json:
        rows = ((str(p), _size(p), summary(pairs(binaries))) for p, binaries in found.by_path())
        echo_pieces(summary_json(rows, found.errors))
        return
    for number, (path, binaries) in enumerate(found.by_path()):
        read = pairs(binaries)
        if read:
            first, *others = (binary for binary, _ in read)
            is_file = not others and first.path == str(path)
            what = headline(first) if is_file else f"archive, {counted(len(read), 'member')}"
            # Of what a package has compressed, no share is known.
            has_shares = all(one.path == str(path) or one.file for one in (first, *others))
            text = summary_text(str(path), _size(path), what, summary(read), has_shares=has_shares)
            echo(("\n" if number else "") + text)


def _size(path: Path) -> int | None:
    """Return the bytes of a file; None of a pipe."""
    return path.stat().st_size if is_file(path) else None
