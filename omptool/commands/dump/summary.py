# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool dump --summary`: sums of each file, and which GPUs it is for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from omptool.console import echo, echo_pieces
from omptool.reading import Files
from omptool.render.dump import headline
from omptool.render.summary import summary_json, summary_text
from packager.files.portable import is_file
from packager.model import DeviceImage, FatBinary
from packager.questions.summary import summary
from packager.questions.wanted import Wanted
from packager.slimming.estimate import Estimate, estimates
from packager.wording import counted

Read = Sequence[tuple[FatBinary, Sequence[DeviceImage]]]


def show(found: Files, wanted: Wanted, as_json: bool) -> None:
    """Show the sums of the matching images."""

    def pairs(binaries: Iterable[FatBinary]) -> list[tuple[FatBinary, list[DeviceImage]]]:
        return [(binary, list(wanted.images(binary))) for binary in binaries]

    if as_json:
        rows = (
            (str(path), _size(path), summary(read := pairs(binaries)), _estimates(path, read))
            for path, binaries in found.by_path()
        )
        echo_pieces(summary_json(rows, found.errors))
        return
    for number, (path, binaries) in enumerate(found.by_path()):
        read = pairs(binaries)
        if read:
            first, *others = (binary for binary, _ in read)
            is_alone = not others and first.path == str(path)
            what = headline(first) if is_alone else f"archive, {counted(len(read), 'member')}"
            has_shares = _has_shares(path, read)
            left = _estimates(path, read)
            text = summary_text(
                str(path), _size(path), what, summary(read), left, has_shares=has_shares
            )
            echo(("\n" if number else "") + text)


def _has_shares(path: Path, read: Read) -> bool:
    """Return whether shares of the file are known: not inside a compressed package."""
    return all(binary.path == str(path) or binary.file for binary, _ in read)


def _estimates(path: Path, read: Read) -> list[Estimate]:
    """Return the sizes after `omptool slim`, for the whole file, whichever images are shown."""
    size = _size(path)
    is_known = size is not None and _has_shares(path, read)
    return estimates([binary for binary, _ in read], size) if size and is_known else []


def _size(path: Path) -> int | None:
    """Return the bytes of a file; None of a pipe."""
    return path.stat().st_size if is_file(path) else None
