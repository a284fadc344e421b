"""File names on the command line."""

from __future__ import annotations

from pathlib import Path

import click

from packager.errors import UsageError


def file_path(_ctx: click.Context, _param: click.Parameter, value: str | None) -> Path | None:
    """A path that can name a file: "" and "folder/" cannot, and pathlib would forgive both."""
    if value is None:
        return None
    if not value or value.endswith("/"):
        raise click.BadParameter(f"{value!r} is not the name of a file")
    return Path(value)


def check_distinct(outputs: list[Path], inputs: list[Path]) -> None:
    """Raise UsageError when an output would replace an input or another output."""
    seen: dict[Path, Path] = {path.absolute(): path for path in inputs}
    identities = {_identity(path) for path in inputs} - {None}
    for path in outputs:
        if path.absolute() in seen or _identity(path) in identities:
            raise UsageError(f"{path} would be written over another file of this command")
        seen[path.absolute()] = path
        if _identity(path):
            identities.add(_identity(path))


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
