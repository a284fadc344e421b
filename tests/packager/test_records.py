# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Our named tuples behave as those of the standard library."""

from __future__ import annotations

import copy
import pickle
import typing
from collections.abc import Callable
from typing import Any

import pytest

from packager.records import NamedTuple


class Place(NamedTuple):
    """A place."""

    file: str
    offset: int
    size: int = 8
    note: str = ""

    @property
    def end(self) -> int:
        """Return the end."""
        return self.offset + self.size


class Standard(typing.NamedTuple):
    file: str
    offset: int
    size: int = 8
    note: str = ""


class Empty(NamedTuple):
    """A record without fields."""


@pytest.mark.parametrize(
    "use",
    [
        lambda kind: kind("a", 1)._asdict(),
        lambda kind: tuple(kind("a", offset=1, note="n")),
        lambda kind: kind(note="n", file="a", offset=1, size=2)._replace(size=3)._asdict(),
        lambda kind: kind._make(["a", 1, 2, "n"]).note,
        lambda kind: (kind._fields, kind._field_defaults, kind.__match_args__),
        lambda kind: repr(kind("a", 1)).partition("(")[2],
        lambda kind: kind("a", 1) == ("a", 1, 8, ""),
        lambda kind: copy.copy(kind("a", 1)).offset,
        lambda kind: hasattr(kind("a", 1), "__dict__"),
    ],
)
def test_use_gives_the_same(use: Callable[[Any], object]) -> None:
    assert use(Place) == use(Standard)


@pytest.mark.parametrize(
    "misuse",
    [
        lambda kind: kind("a"),
        lambda kind: kind("a", 1, 2, "n", 5),
        lambda kind: kind("a", 1, other=2),
        lambda kind: kind._make(["a"]),
        lambda kind: kind("a", 1)._replace(other=2),
        lambda kind: setattr(kind("a", 1), "other", 1),
        lambda kind: setattr(kind("a", 1), "offset", 1),
    ],
)
def test_misuse_raises_the_same(misuse: Callable[[Any], object]) -> None:
    with pytest.raises((TypeError, ValueError, AttributeError)) as ours:
        misuse(Place)
    with pytest.raises((TypeError, ValueError, AttributeError)) as theirs:
        misuse(Standard)
    assert ours.type is theirs.type
    assert str(ours.value) == str(theirs.value).replace("Standard", "Place")


def test_record_is_pickled_and_has_its_methods() -> None:
    place = pickle.loads(pickle.dumps(Place("a", 1)))
    assert type(place) is Place
    assert (place.end, Place.__doc__, Place.__module__) == (9, "A place.", __name__)
    assert repr(place) == "Place(file='a', offset=1, size=8, note='')"


def test_record_without_fields_and_one_with_many() -> None:
    assert Empty() == ()
    names = {f"field{n}": "int" for n in range(40)}
    many: Any = type(NamedTuple)("Many", (NamedTuple,), {"__annotations__": names})  # type: ignore[misc]
    assert many(*range(40)).field39 == 39
