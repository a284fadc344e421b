# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Slim one file that is no package."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from packager.errors import FindingError, FormatError, UsageError
from packager.files.reader import open_reader
from packager.files.replacing import replacing
from packager.formats.containers import archive
from packager.hosts.members import MAX_DEPTH
from packager.slimming.containers.found import Left
from packager.slimming.elf.shrink import Shrunk, shrink
from packager.slimming.packages.rewriting import rewritten
from packager.slimming.plan import HEADERS, FilePlan, plan, with_openmp
from packager.slimming.proof import Proof
from packager.slimming.request import Request
from packager.slimming.slimmed import Share, Slimmed, merged
from packager.slimming.tables.registered import NOTHING, OpenMP, registers


def slim_file(
    source: Path, out: Path | None, name: str, request: Request, depth: int = 0
) -> Slimmed | None:
    """Write to `out`, which may be `source`, the file without code that no kept GPU loads.

    Return the outcome, or the planned one without `out`; None if the file has no device code.
    Nothing is written if nothing can be removed, or a kept GPU would lose all kernels. Raises
    FormatError if the file is malformed, FindingError if the result would have other kernels for a
    kept GPU. `depth` is the number of archives around the file.
    """
    if _is_archive(source):
        return _archive(source, out, name, request, depth)
    found = _openmp(source, request)
    if not found.rounds:
        return _slimmed(source, source, out, name, request, found)
    planned = with_openmp(plan(source, request.keeps, keep_ptx=request.keep_ptx), found)
    if planned.lacking:  # an edit would be for nothing
        return _slimmed(source, source, out, name, request, found)
    from tempfile import TemporaryDirectory  # slow to load, and rarely needed

    from packager.slimming.tables import openmp

    with TemporaryDirectory(prefix=".omptool-", dir=None if out is None else out.parent) as folder:
        edited = Path(folder) / "edited"
        try:
            openmp.take_out(source, edited, found, Path(folder))
        except (FindingError, UsageError) as error:
            left = Left("OpenMP's device images", str(error))
            stays = NOTHING._replace(left=(left,))
            return _slimmed(source, source, out, name, request, stays)
        freed = found._replace(free=openmp.freed(edited))
        return _slimmed(source, edited, out, name, request, freed)


def _openmp(source: Path, request: Request) -> OpenMP:
    if not registers(source):
        return NOTHING
    from packager.slimming.tables import openmp  # slow to load

    return openmp.found(source, request)


def _slimmed(
    source: Path, edited: Path, out: Path | None, name: str, request: Request, found: OpenMP
) -> Slimmed | None:
    """Slim the result of an edit, or the file itself if no edit was needed."""
    planned = with_openmp(plan(edited, request.keeps, keep_ptx=request.keep_ptx), found)
    if not (planned.kept or planned.removed or planned.left_alone):
        return None
    size = source.stat().st_size
    stays = bool(planned.lacking) or not planned.removed

    with open_reader(source, HEADERS) as data:
        proof = Proof(data, request.keeps)

        def check(result: Path) -> None:
            proof.prove(result)
            if found.images:
                from packager.slimming.tables import openmp

                openmp.prove(source, result, request)

        shrunk = (
            Shrunk(size, size, is_changed=False)
            if stays
            else shrink(edited, planned.rewrites, out, zero=request.zero, check=check,
                        meanwhile=proof.read_ahead)
        )  # fmt: skip
        if edited != source and not stays and not shrunk.is_changed:
            shrunk = _taken_over(edited, out, check)  # the edit has left nothing to shorten
    shares, notes = merged(_shares(planned, stays=stays)), tuple(_notes(planned, shrunk))
    return Slimmed(name, size, shrunk.after, shares, notes, planned.lacking)


def _taken_over(edited: Path, out: Path | None, check: Callable[[Path], None]) -> Shrunk:
    """Write the result of an edit to `out`, if `check` accepts it."""
    size = edited.stat().st_size
    if out is not None:
        from shutil import copyfile  # slow to load

        check(edited)
        with replacing(out, stat.S_IMODE(edited.stat().st_mode)) as beside:
            copyfile(edited, beside)
    return Shrunk(size, size)


def _is_archive(path: Path) -> bool:
    with open_reader(path) as data:
        return archive.probe(data)


def _archive(
    source: Path, out: Path | None, name: str, request: Request, depth: int
) -> Slimmed | None:
    if depth == MAX_DEPTH:
        raise FormatError(f"archives are nested more than {MAX_DEPTH} deep")
    from packager.slimming.archives import slim_archive

    slimmer = partial(slim_file, request=request, depth=depth + 1)
    before = source.stat().st_size
    done, after = rewritten(source, out, partial(slim_archive, slim=slimmer, name=name))
    if not done:
        return None
    shares = merged(share for one in done for share in one.shares)
    notes = tuple(f"{_member(one, name)}: {note}" for one in done for note in one.notes)
    lacking = tuple(f"{_member(one, name)}: {what}" for one in done for what in one.lacking)
    return Slimmed(name, before, after, shares, notes, lacking)


def _member(one: Slimmed, name: str) -> str:
    return one.path.removeprefix(f"{name}:")


def _shares(planned: FilePlan, *, stays: bool) -> Iterator[Share]:
    for one in planned.kept:
        yield Share(one.target, one.before, one.before if stays else one.size)
    for one in planned.removed:
        yield Share(one.target, one.size, one.size if stays else 0)


def _notes(planned: FilePlan, shrunk: Shrunk) -> Iterator[str]:
    if planned.removed and not planned.kept:
        yield "no kept device has code here, so all device code goes"
    for left in planned.left_alone:
        yield f"{left.what} is left alone: {left.reason}"
    yield from planned.partly
    yield from (zeroed.note for zeroed in shrunk.zeroed)
    yield from shrunk.notes
