"""Files that others shipped: they are read, none has an error, and the peers count the same.

`make test` tries the quick ones of files.tsv, `make test-field` all.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from documents import document
from field_files import Package, Shipped, listed, unpacked
from toolchain import omptool

pytestmark = pytest.mark.slow

# What is damaged and then looked at again is at most so large.
MAX_DAMAGED = 64 << 20
WRITTEN_BY_A_PEER = {"cubin": "-lelf", "ptx": "-lptx"}


def ran(*words: object, codes: tuple[int, ...] = (0,)) -> str:
    """What a command of omptool's says on stdout, when it ends as it may."""
    result = omptool(*words)
    assert result.exit_code in codes, (words[0], result.exit_code, result.stderr[-2000:])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return str(result.stdout)


def check(file: Shipped, path: Path, folder: Path) -> None:
    """All that is asked of one file."""
    dumped = document("dump", ran("dump", "--json", path))
    images = [image for one in dumped["files"] for image in one["images"]]
    assert images, "no image is found"
    assert ran("dump", path)
    found = document("verify", ran("verify", "--json", path))
    findings = [finding for one in found["files"] for finding in one["findings"]]
    assert [finding for finding in findings if finding["severity"] == "error"] == []
    out = folder / "extracted"
    document("extract", ran("extract", "--all", "--json", path, "-o", out))
    assert sum(1 for _ in out.iterdir()) >= 1
    shutil.rmtree(out)
    if said := ran("doctor", "--json", path, codes=(0, 1, 2, 3)):
        document("doctor", said)
    else:
        assert path.suffix != ".so", "doctor reads libraries"
    counted_by_peers(path, images)
    damaged(path, images, folder)


def counted_by_peers(path: Path, images: list[dict[str, object]]) -> None:
    """The numbers of images are those of cuobjdump, where it is, and of llvm-objdump."""
    kinds = [image["kind"] for image in images]
    cuobjdump = shutil.which("cuobjdump")
    if cuobjdump and {"cubin", "ptx"} & set(kinds):
        for kind, option in WRITTEN_BY_A_PEER.items():
            command = [cuobjdump, "-all", option, str(path)]
            done = subprocess.run(command, capture_output=True, text=True, errors="replace")
            if done.returncode == 0 and "removed" not in done.stderr:
                shown = re.findall(r"^(?:ELF|PTX) file", done.stdout, re.MULTILINE)
                assert len(shown) == kinds.count(kind), kind


def damaged(path: Path, images: list[dict[str, object]], folder: Path) -> None:
    """The beginning of an image is wiped out, or an archive is cut: the same checks say so."""
    places = [image["offset"] for image in images if image["offset"]]
    if not places or path.stat().st_size > MAX_DAMAGED:
        return
    copy = folder / "damaged"
    shutil.copyfile(path, copy)
    with copy.open("r+b") as file:
        if path.suffix == ".a":  # members are what they like to be
            file.truncate(int(str(places[0])) + 64)
        else:
            file.seek(int(str(places[0])))
            file.write(bytes(64))
    said = ran("verify", "--json", copy, codes=(0, 1, 2))
    findings = [finding for one in json.loads(said)["files"] for finding in one["findings"]]
    errors = [finding["code"] for finding in findings if finding["severity"] == "error"]
    assert errors or json.loads(said)["errors"], "the damage is not seen"
    copy.unlink()


@contextmanager
def named(file: Shipped) -> Iterator[None]:
    try:
        yield
    except AssertionError as error:
        raise AssertionError(f"{file.package}: {file.path}: {error}") from error


def checked(package: Package, folder: Path) -> None:
    with unpacked(package) as files:
        for file, path in files:
            with named(file):
                check(file, path, folder)


@pytest.mark.parametrize("package", listed(quick=True), ids=str)
def test_small_files(package: Package, tmp_path: Path) -> None:
    checked(package, tmp_path)


@pytest.mark.field
@pytest.mark.parametrize("package", listed(quick=False), ids=str)
def test_all_files(package: Package, tmp_path: Path) -> None:
    checked(package, tmp_path)
