# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The members of static archives, of packages, of archives in them too, and of thin ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from packager.errors import FormatError
from packager.files.reader import Reader, open_reader
from packager.formats import packages
from packager.formats.containers import archive
from packager.formats.containers.payload import Damage
from packager.look import Look
from packager.records import NamedTuple

# Deepest nesting of archives. Linkers ignore nested ones, but users make them.
MAX_DEPTH = 4
# Most damaged members that are read past in one archive.
MAX_DAMAGE = 64


class Member(NamedTuple):
    """A member that is no archive itself, or why one could not be read."""

    name: str  # "k.o", "inner.a(k.o)"; "" for the archive itself
    data: Reader | Damage
    file: Path | None  # file that holds it, perhaps a thin archive's member; None: inflated


class _Place(NamedTuple):
    """The place of the archive that is being read."""

    file: Path | None  # file that holds it; a thin archive's members are beside it
    parents: tuple[str, ...]  # names of the archives around it, without the outermost
    open_files: tuple[tuple[int, int], ...]  # device and inode
    is_packed: bool = False  # whether it is in a package

    def name(self, *member: str) -> str:
        """Return the full name of a member, or of the archive if `member` is empty."""
        names = (*self.parents, *member)
        return "(".join(names) + ")" * (len(names) - 1)

    def inside(self, name: str) -> _Place:
        """Return the place of a member that is an archive."""
        return self._replace(parents=(*self.parents, name))


def probe(data: Reader) -> bool:
    """Return whether `data` is an archive or a package."""
    return archive.probe(data) or packages.probe(data)


def members(path: Path, data: Reader) -> Iterator[Member]:
    """Yield the members of the archive or package in `data`; `path` names it."""
    damaged = 0
    for member in _members(_Place(path, (), (_identity(path),)), data):
        damaged += isinstance(member.data, Damage)
        if damaged > MAX_DAMAGE:
            message = f"archive has more than {MAX_DAMAGE} members that are damaged"
            yield Member("", Damage(message), path)
            return
        yield member


def _members(place: _Place, data: Reader) -> Iterator[Member]:
    try:
        if packages.probe(data):
            yield from _packed(place, data)
            return
        for member in archive.members(data):
            yield from _member(place, member, data.context.look)
    except FormatError as error:
        yield Member(place.name(), Damage(str(error)), place.file)


def _packed(place: _Place, data: Reader) -> Iterator[Member]:
    """Yield the files of a package that may hold offload code."""
    # Imported for packages only, to keep start-up fast.
    from packager.hosts.packages import files, opened

    place = place._replace(is_packed=True)
    for one in files(data):
        inside = place.inside(one.name)
        try:
            if isinstance(one.data, Reader):
                yield from _leaf(inside, one.data)
            elif isinstance(one.data, Damage):
                yield Member(inside.name(), one.data, place.file)
            else:
                # The package reports the progress: offsets in its inflated files mean nothing.
                seen = data.context.look._replace(seen=partial(_seen, data.context.look, one.at))
                with data.context.looking(seen), opened(data, one.data) as inflated:
                    if inflated is not None:
                        yield from _leaf(inside._replace(file=None), inflated)
        except FormatError as error:
            yield Member(inside.name(), Damage(str(error)), place.file)


def _seen(look: Look, at: int, _: int) -> None:
    look.seen(at)


def _member(place: _Place, member: archive.Member, look: Look) -> Iterator[Member]:
    if member.data is not None:
        yield from _leaf(place.inside(member.name), member.data)
        return
    try:
        with _opened(place, member.name, look) as (inside, data):
            if member.inside is None:
                yield from _leaf(inside, data)
            else:
                one = archive.member_at(data, member.inside)
                yield from _leaf(inside.inside(one.name), one.data or Reader(b""))
    except FormatError as error:
        damage = Damage(f"member {member.name}: {error}")
        yield Member(place.name(member.name), damage, place.file)


@contextmanager
def _opened(place: _Place, name: str, look: Look) -> Iterator[tuple[_Place, Reader]]:
    """Open a file that a thin archive names."""
    if place.file is None or place.is_packed:
        raise FormatError("is outside the package: its thin archive in the package only names it")
    path = place.file.parent / name
    with open_reader(path, look) as data:
        identity = _identity(path)
        if identity in place.open_files:
            raise FormatError("is an archive that is a member of itself")
        parents, open_files = (*place.parents, name), (*place.open_files, identity)
        yield place._replace(file=path, parents=parents, open_files=open_files), data


def _leaf(place: _Place, data: Reader) -> Iterator[Member]:
    """Yield the member at `place`, or its members if it is an archive.

    A package inside another one counts only by its file name: other zip files are data.
    """
    is_package = place.parents[-1].endswith(packages.NAMES) and packages.probe(data)
    if not (archive.probe(data) or is_package):
        yield Member(place.name(), data, place.file)
    elif len(place.parents) == MAX_DEPTH:
        damage = Damage(f"archives are nested more than {MAX_DEPTH} deep")
        yield Member(place.name(), damage, place.file)
    else:
        yield from _members(place, data)


def _identity(path: Path) -> tuple[int, int]:
    try:
        info = path.stat()
    except OSError:
        return (0, 0)  # standard input, or it has gone
    return info.st_dev, info.st_ino
