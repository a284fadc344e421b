# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Slim one file that is no package."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from packager.slimming.elf.shrink import Shrunk, shrink
from packager.slimming.plan import FilePlan, plan
from packager.slimming.request import Request
from packager.slimming.slimmed import Share, Slimmed, merged


def slim_file(source: Path, out: Path | None, name: str, request: Request) -> Slimmed | None:
    """Write to `out`, which may be `source`, the file without the code that no kept GPU loads.

    Return what was done, or would be where there is no `out`; None where the file has no device
    code. Nothing is written where nothing is to be removed, or a kept GPU would be left without
    kernels. Raises FormatError where the file is malformed, FindingError where the result would
    have other kernels for a kept GPU.
    """
    planned = plan(source, request.keeps, keep_ptx=request.keep_ptx)
    if not (planned.kept or planned.removed or planned.left_alone):
        return None
    size = source.stat().st_size
    stays = bool(planned.lacking) or not planned.removed
    shrunk = (
        Shrunk(size, size, is_changed=False)
        if stays
        else shrink(source, planned.rewrites, out, zero=request.zero)
    )
    shares, notes = merged(_shares(planned, stays=stays)), tuple(_notes(planned, shrunk))
    return Slimmed(name, size, shrunk.after, shares, notes, planned.lacking)


def _shares(planned: FilePlan, *, stays: bool) -> Iterator[Share]:
    for one in planned.kept:
        yield Share(one.target, one.size, one.size)
    for one in planned.removed:
        yield Share(one.target, one.size, one.size if stays else 0)


def _notes(planned: FilePlan, shrunk: Shrunk) -> Iterator[str]:
    for left in planned.left_alone:
        yield f"{left.what} is left alone: {left.reason}"
    for zeroed in shrunk.zeroed:
        section = f"section {zeroed.section}" if zeroed.section else "the file"
        yield f"zeros take the place of what goes from {section}: {zeroed.reason}"
