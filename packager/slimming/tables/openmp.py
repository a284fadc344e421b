# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Remove OpenMP's images: an edit drops them from their descriptor, and frees their bytes."""

from __future__ import annotations

from pathlib import Path

from packager.editing.described import Held, described
from packager.editing.linked import REMOVED_SECTION, LinkedFile
from packager.elf import headers
from packager.errors import FindingError, FormatError, PackagerError
from packager.files.checksums import Checksums
from packager.files.reader import OpenFiles
from packager.hosts.host_file import HostFile, open_host
from packager.slimming.containers.found import Left
from packager.slimming.elf.zeros import is_zero
from packager.slimming.pieces import Rewritten
from packager.slimming.request import Request
from packager.slimming.selection import choose
from packager.slimming.tables.found import candidate
from packager.slimming.tables.registered import NOTHING, OpenMP

MOST_DESCRIPTORS = 64


def found(path: Path, request: Request) -> OpenMP:
    """Return the outcome of the images of the linked file at `path`. Raises FormatError."""
    with open_host(path) as host:
        try:
            return _found(host, request)
        except PackagerError as error:
            return NOTHING._replace(left=(Left("OpenMP's device images", str(error)),))


def _found(host: HostFile, request: Request) -> OpenMP:
    file, binary = LinkedFile(host), host.binary
    if len(binary.descriptors) > MOST_DESCRIPTORS:
        raise FormatError(f"it has {len(binary.descriptors)} descriptors")
    numbers = [n for n, one in enumerate(binary.descriptors) if one.images]
    listed = [(n, described(file, binary, n).images) for n in numbers]
    held = [(n, one) for n, images in listed for one in images]
    candidates = tuple(candidate(one.image)._replace(stored=one.size) for _, one in held)
    choice = choose(candidates, request.keeps, keep_ptx=request.keep_ptx, is_best=False)
    gone = [pair for at, pair in enumerate(held) if at not in choice.stay]
    rounds = {n: tuple(_name(one) for m, one in gone if m == n) for n, _ in gone}
    return OpenMP(candidates, choice, tuple(rounds.items()))


def _name(one: Held) -> str:
    return str(one.image.index)


def freed(path: Path) -> tuple[Rewritten, ...]:
    """Return the sections that an edit has left without an image: their bytes are free."""
    with open_host(path) as host:
        data = host.data
        sections = headers.read(data).sections
        return tuple(
            Rewritten(data.at + section.offset, section.size, 1, ())
            for section in sections
            if section.name.startswith(REMOVED_SECTION) and section.has_bytes and section.size
            if is_zero(data, section.offset, section.offset + section.size)
        )


def take_out(path: Path, out: Path, found: OpenMP, folder: Path) -> None:
    """Write to `out` the file at `path` without the removed images.

    Raises FindingError or UsageError where an edit cannot.
    """
    from packager.editing.edit import edit
    from packager.editing.request import Change, Named

    source = path
    # Images are numbered through all descriptors, so the last descriptor is edited first.
    for step, (number, names) in enumerate(sorted(found.rounds, reverse=True)):
        target = out if step == len(found.rounds) - 1 else folder / f"edited-{step}"
        removed = tuple(Named(name, int(name)) for name in names)
        change = Change(removed=removed, descriptor=number)
        with open_host(source) as host, OpenFiles() as files, Checksums(files, []) as sums:
            edit(host, change, target, files, sums)
        source = target


def prove(before: Path, after: Path, request: Request) -> None:
    """Raise FindingError if a kept device has other images of descriptors than before."""
    ours, theirs = (_kept(path, request) for path in (before, after))
    if ours != theirs:
        raise FindingError("a kept device would load other images of OpenMP's descriptors")


def _kept(path: Path, request: Request) -> list[tuple[str, str, bytes]]:
    import hashlib

    found: list[tuple[str, str, bytes]] = []
    with open_host(path) as host:
        if not host.is_linked:
            return found
        file, binary = LinkedFile(host), host.binary
        numbers = [n for n, one in enumerate(binary.descriptors) if one.images]
        held = [one for n in numbers for one in described(file, binary, n).images]
        candidates = [candidate(one.image) for one in held]
        choice = choose(candidates, request.keeps, keep_ptx=request.keep_ptx, is_best=False)
        for at in sorted(choice.stay):
            digest = hashlib.sha256()
            one = held[at]
            for piece in host.data.slice(one.offset, one.size, one.name).pieces():
                digest.update(piece)
            found.append((one.triple, one.image.processor, digest.digest()))
    return found
