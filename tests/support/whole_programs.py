"""The programs of tests/openmp and tests/book."""

from __future__ import annotations

from pathlib import Path

from clangs import CLANG
from places import TESTS


def sources(folder: Path) -> list[Path]:
    """The programs of a folder."""
    return sorted(path for path in folder.iterdir() if path.suffix in CLANG)


def is_error(figure: Path) -> bool:
    """Whether a figure's program breaks a rule on purpose."""
    return figure.stem.endswith("_error")


SOURCES, BOOK = TESTS / "openmp", TESTS / "book"
# These break a rule of OpenMP; test_messages.py compares how they end.
FATAL = ("absent", "bad_device", "extension")
SOUND = [path for path in sources(SOURCES) if path.stem not in FATAL]

# What no clang accepts, in clang's words.
REFUSED = {
    "fig_6_12_stride": "expected ']'",
    "fig_6_51_sections": "multiple array elements associated with the same variable are not "
    "allowed in map clauses of the same construct",
    "fig_6_61_array": "expected pointer or reference to pointer in 'use_device_ptr' clause",
}


FIGURES = sources(BOOK)


def source(name: str) -> Path:
    """Where program `name` is."""
    (path,) = (path for path in SOURCES.glob(f"{name}.*"))
    return path
