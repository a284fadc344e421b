# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shipped files, slimmed to one, two and all of their architectures."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from documents import document
from field_peers import compare
from toolchain import omptool

from packager.errors import UsageError
from packager.slimming.keeps import named

NATIVE = ("cubin", "amdgcn")
OVERHEAD = 64 << 10  # of headers, page ends and tables that move
LARGEST = 64 << 20  # of files that peers read once more
_WARNING = re.compile(r"^readelf: Warning: .*", re.MULTILINE)


def slim(path: Path, folder: Path) -> int:
    """Slim a file to some of its architectures; return the number of written results.

    Kept images are unchanged, no kept architecture loses one, no check finds an error, and a second
    run changes nothing.
    """
    before = _images(path)
    out = folder / "slimmed" / path.name
    out.parent.mkdir(exist_ok=True)
    written = 0
    for keep in _choices(before):
        out.unlink(missing_ok=True)
        words = ("--keep", ",".join(keep), "--json")
        found = document("slim", _ran("slim", path, *words, "-o", out, codes=(0, 1)))
        if not out.exists():
            assert [line for one in found["files"][0]["members"] for line in one["lacking"]]
            continue
        written += 1
        _check(path, out, before, keep, found)
        again = document("slim", _ran("slim", out, *words, "--dry-run"))
        assert [one["after"] for one in again["files"]] == [out.stat().st_size]
        assert all(share["before"] == share["after"] for share in again["device_code"])
    out.unlink(missing_ok=True)
    return written


def _check(
    path: Path, out: Path, before: Counter[tuple[str, ...]], keep: Sequence[str], found: Any
) -> None:
    after = _images(out)
    assert after <= before, list((after - before).elements())[:5]
    kept = {row: n for row, n in before.items() if row[0] in keep and row[1] in NATIVE}
    lost = {row: n for row, n in kept.items() if after[row] < n}
    assert not lost, f"images of a kept architecture are gone: {list(lost)[:5]}"
    verified = document("verify", _ran("verify", "--json", out))
    errors = [f for one in verified["files"] for f in one["findings"] if f["severity"] == "error"]
    assert errors == []
    notes = [note for one in found["files"][0]["members"] for note in one["notes"]]
    if not any("zeros" in note for note in notes) and path.suffix == ".so":
        gone = sum(share["before"] - share["after"] for share in found["device_code"])
        assert out.stat().st_size <= path.stat().st_size - gone + OVERHEAD
    assert _warnings(out) <= _warnings(path)
    if out.stat().st_size <= LARGEST:
        _ask_peers(out)


def _ask_peers(path: Path) -> None:
    dumped = document("dump", _ran("dump", "--json", path))
    images = [image for one in dumped["files"] for image in one["images"]]
    if not images:
        return
    folder = path.parent / "images"
    folder.mkdir(exist_ok=True)
    rows = document("extract", _ran("extract", "--all", "--json", path, "-o", folder))["images"]
    compare(path, images, [Path(row["path"]) for row in rows])
    for file in folder.iterdir():
        file.unlink()


def _warnings(path: Path) -> Counter[str]:
    done = subprocess.run(
        ["readelf", "-aW", path], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False
    )
    return Counter(_WARNING.findall(done.stderr.decode(errors="replace")))


def _choices(images: Counter[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    archs = sorted({row[0] for row in images if row[1] in NATIVE and _is_known(row[0])})
    if archs:
        yield from dict.fromkeys(((archs[0],), (archs[0], archs[-1]), tuple(archs)))


def _is_known(arch: str) -> bool:
    try:
        return bool(named([arch]))
    except UsageError:
        return False


def _images(path: Path) -> Counter[tuple[str, ...]]:
    dumped = json.loads(_ran("dump", "--json", "--hash", path))
    images = [image for one in dumped["files"] for image in one["images"]]
    return Counter((i["arch"] or "", i["kind"], i["sha256"]) for i in images)


def _ran(*words: object, codes: tuple[int, ...] = (0,)) -> str:
    result = omptool(*words)
    assert result.exit_code in codes, (words[0], result.exit_code, result.stderr[-2000:])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return str(result.stdout)
