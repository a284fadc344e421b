# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Slim one file that is no package."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from packager.files.reader import open_reader
from packager.formats.containers import archive
from packager.slimming.archives import slim_archive
from packager.slimming.elf.shrink import Shrunk, shrink
from packager.slimming.packages.rewriting import rewritten
from packager.slimming.plan import FilePlan, plan
from packager.slimming.proof import prove
from packager.slimming.request import Request
from packager.slimming.slimmed import Share, Slimmed, merged


def slim_file(source: Path, out: Path | None, name: str, request: Request) -> Slimmed | None:
    """Write to `out`, which may be `source`, the file without the code that no kept GPU loads.

    Return what was done, or would be where there is no `out`; None where the file has no device
    code. Nothing is written where nothing is to be removed, or a kept GPU would be left without
    kernels. Raises FormatError where the file is malformed, FindingError where the result would
    have other kernels for a kept GPU.
    """
    if _is_archive(source):
        return _archive(source, out, name, request)
    planned = plan(source, request.keeps, keep_ptx=request.keep_ptx)
    if not (planned.kept or planned.removed or planned.left_alone):
        return None
    size = source.stat().st_size
    stays = bool(planned.lacking) or not planned.removed
    proof = partial(prove, source, keeps=request.keeps)
    shrunk = (
        Shrunk(size, size, is_changed=False)
        if stays
        else shrink(source, planned.rewrites, out, zero=request.zero, check=proof)
    )
    shares, notes = merged(_shares(planned, stays=stays)), tuple(_notes(planned, shrunk))
    return Slimmed(name, size, shrunk.after, shares, notes, planned.lacking)


def _is_archive(path: Path) -> bool:
    with open_reader(path) as data:
        return archive.probe(data)


def _archive(source: Path, out: Path | None, name: str, request: Request) -> Slimmed | None:
    slimmer = partial(slim_file, request=request)
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
    for left in planned.left_alone:
        yield f"{left.what} is left alone: {left.reason}"
    yield from planned.partly
    yield from (zeroed.note for zeroed in shrunk.zeroed)
