"""Files of our own in the folder for temporary files, which may be small or full."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from packager.errors import UsageError


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder that is gone at the end of the block. Raises UsageError when none can be made."""
    try:
        folder = tempfile.TemporaryDirectory(prefix="omptool-")
    except OSError as error:
        raise UsageError(f"cannot make a temporary folder: {error.strerror}") from error
    with folder as name:
        yield Path(name)


def store(path: Path, pieces: Iterable[bytes]) -> None:
    """Write `pieces` to `path`, in a temporary folder. Raises UsageError when it has no room."""
    try:
        with path.open("wb") as file:
            file.writelines(pieces)
    except OSError as error:
        folder = tempfile.gettempdir()
        raise UsageError(f"cannot write to {folder} (see TMPDIR): {error.strerror}") from error
