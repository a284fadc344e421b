# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Render `omptool dump --summary`, as text for people and as JSON for programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from omptool.console import portable, shown
from omptool.reading import Unread
from omptool.render.json_stream import document
from omptool.render.names import terminal_width
from omptool.render.tables import Row, hexadecimal, table
from packager.model import DeviceImage
from packager.questions.summary import Container, Sum, Summary
from packager.slimming.estimate import Estimate
from packager.wording import counted


def summary_text(
    path: str,
    size: int | None,
    what: str,
    found: Summary,
    estimates: Sequence[Estimate] = (),
    *,
    has_shares: bool = True,
) -> str:
    """Return the tables of a file, without a trailing newline."""
    length = "" if size is None else f", {size} bytes"
    if not found.total.images:
        return f"{shown(path)}: no device images{length}"
    width = terminal_width()
    blocks = [
        f"{shown(path)}: {what}{length}",
        table("targets", _targets(found, size if has_shares else None), width, ["triple"]),
    ]
    if len(found.containers) > 1:
        rows = [_container(one) for one in found.containers]
        blocks.append(table("containers", rows, width, ["container", "member", "for"]))
    if found.coverage:
        blocks.append(table("GPUs", _gpus(found), width, ["GPUs"]))
    if size and has_shares and any(one.left < size for one in estimates):
        blocks.append(table("omptool slim", _slim(estimates, size), width, ["--keep"]))
    return "\n".join(blocks)


def _targets(found: Summary, size: int | None) -> list[Row]:
    rows: list[Row] = [
        {"triple": target.triple or "-", "arch": target.arch, "kind": target.kind, **_sum(sums)}
        for target, sums in found.targets.items()
    ]
    rows.append({"triple": "total", "arch": None, "kind": None, **_sum(found.total)})
    for row in rows:
        row["share"] = f"{100 * row['stored'] / size:.1f} %" if size else None
    return rows


def _sum(sums: Sum) -> Row:
    return {
        "images": sums.images,
        "kernels": sums.kernels,
        "stored": sums.stored,
        "inflated": sums.inflated,
    }


def _container(container: Container) -> Row:
    return {
        "container": levels(container.images),
        "member": container.member,
        "offset": hexadecimal(container.offset),
        **_sum(container.sum),
        "for": container.architectures,
    }


def levels(images: Sequence[DeviceImage]) -> str:
    """Return the container's name, with the containers inside it around the images."""
    inner = dict.fromkeys(image.within[0].split("(")[0] for image in images if image.within)
    return "/".join((images[0].container, ",".join(inner))) if inner else images[0].container


def _gpus(found: Summary) -> list[Row]:
    return [
        {
            "vendor": row.vendor,
            "generation": row.generation,
            "GPUs": ", ".join(row.gpus),
            "run it": row.reach,
            "containers": f"{row.covered} of {row.containers}" if row.reach == "in part" else None,
        }
        for row in found.coverage
    ]


def _slim(estimates: Sequence[Estimate], size: int) -> list[Row]:
    return [
        {
            "--keep": one.keep,
            "would leave": one.left,
            "of this file": _share(one, size),
            "has no code in": (
                f"{one.without} of {counted(one.containers, 'container')}" if one.without else None
            ),
        }
        for one in estimates
    ]


def _share(one: Estimate, size: int) -> str:
    share = f"{100 * one.left / size:.1f} %"
    return f"at least {share}" if one.is_at_least else share


def summary_json(
    files: Iterable[tuple[str, int | None, Summary, Sequence[Estimate]]], errors: Sequence[Unread]
) -> Iterator[str]:
    """Yield the document of schemas/dump-summary.json, in pieces."""
    rows = (_summarised(*file) for file in files)
    return document(rows, map(Unread.row, errors))


def _summarised(path: str, size: int | None, found: Summary, estimates: Sequence[Estimate]) -> Row:
    return {
        "path": portable(path),
        "size": size,
        "targets": [
            {
                "triple": target.triple or None,
                "arch": target.arch or None,
                "kind": target.kind,
                **_sum(sums),
            }
            for target, sums in found.targets.items()
        ],
        "total": _sum(found.total),
        "containers": [
            {
                "container": one.name,
                "member": one.member,
                "offset": one.offset,
                **_sum(one.sum),
                "indices": [image.index for image in one.images],
            }
            for one in found.containers
        ],
        "gpus": [
            {
                "vendor": row.vendor,
                "generation": row.generation,
                "gpus": row.gpus,
                "runs": row.reach,
                "covered": row.covered,
                "containers": row.containers,
            }
            for row in found.coverage
        ],
        "slim": [
            {
                "keep": one.keep,
                "left": one.left,
                "at_least": one.is_at_least,
                "without": one.without,
                "containers": one.containers,
            }
            for one in estimates
        ],
    }
