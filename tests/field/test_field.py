# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files that others shipped: they are read, none has an error, and the peers count the same.

`make test` tries the quick ones of files.tsv, `make test-field` all.
"""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from documents import document
from field_damage import copies
from field_files import FETCHED, Package, Shipped, listed, unpacked
from field_peers import compare
from field_slim import slim
from toolchain import omptool
from twins import KINDS, both

pytestmark = pytest.mark.slow

# Largest file that is damaged and read again.
MAX_DAMAGED = 64 << 20
# Bytes of the disk that stay free.
ROOM = 1 << 30
RESULTS = FETCHED / "results.tsv"
# Checks that must still find damage in a copy of these files, after they were relaxed for the files
# themselves.
STILL_FOUND = {
    ("librocrand1==5.3.3-4", "librocrand.so.1.1"): "OMP114",  # memory of teams that nothing uses
    ("bitsandbytes==0.50.2", "libbitsandbytes_cuda130.so"): "OMP114",  # names of NVIDIA's own
    ("bitsandbytes==0.50.2", "libbitsandbytes_cuda118.so"): "OMP110",  # sections without bytes
    ("nvidia-cuda-runtime-cu12==12.9.79", "libcudadevrt.a"): "OMP108",  # declared, then defined
    ("nvidia-cuda-runtime==13.5.37", "libcudadevrt.a"): "OMP108",
}
# Codes of damage. In SYCL's libraries, such as dpnp's, images lie end to end, so each damage is in
# its own image.
UNSOUND = {"OMP110", "OMP111", "unread"}


def ran(*words: object, codes: tuple[int, ...] = (0,)) -> str:
    """Run a command of omptool's; check its exit code, and return its stdout."""
    result = omptool(*words)
    assert result.exit_code in codes, (words[0], result.exit_code, result.stderr[-2000:])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return str(result.stdout)


def check(file: Shipped, path: Path, folder: Path) -> str:
    """Check one file with every command; return the counts, and the peers that agree."""
    dumped = document("dump", ran("dump", "--json", path))
    images = [image for one in dumped["files"] for image in one["images"]]
    assert images, "no image is found"
    assert ran("dump", path)
    found = document("verify", ran("verify", "--json", path))
    findings = [finding for one in found["files"] for finding in one["findings"]]
    assert [finding for finding in findings if finding["severity"] == "error"] == []
    if said := ran("doctor", "--json", path, codes=(0, 1, 2, 3)):
        document("doctor", said)
    else:
        assert path.suffix != ".so", "doctor reads libraries"
    peers = extracted(file, path, images)
    damaged(path, images, folder)
    times = slim(path, folder)
    kernels = sum(len(image["kernels"]) for image in images)
    asked = ", ".join([*peers, f"slimmed {times} times"])
    return f"{len(images)}\t{kernels}\t{len(findings)}\t{asked}"


def extracted(file: Shipped, path: Path, images: list[dict[str, Any]]) -> list[str]:
    """Extract the images and compare them with the peers' counts."""
    needed = sum(image["size"] for image in images) + 2 * path.stat().st_size
    with TemporaryDirectory(dir=FETCHED) as folder:
        free = shutil.disk_usage(folder).free
        assert free > needed + ROOM, f"{needed:,} bytes are needed on the disk, {free:,} are free"
        out = Path(folder)
        written = document("extract", ran("extract", "--all", "--json", path, "-o", out))["images"]
        assert [image["arch"] for image in written] == [image["arch"] for image in images]
        files = [Path(image["path"]) for image in written]
        assert [out.stat().st_size for out in files] == [image["size"] for image in images]
        agree(images, files)
        peers = compare(path, images, files)
        found = []
        for what, code, copy in copies(path, images, files, out):
            assert code in errors_in(copy), f"{what}: {code} does not find it"
            found.append(code)
        wanted = STILL_FOUND.get((file.package, path.name))
        assert wanted is None or wanted in found, f"no damage was done for {wanted}"
        return [*peers, *found]


def agree(images: list[dict[str, Any]], files: list[Path]) -> None:
    """Check that the compiled helper agrees with its twins in Python about each image."""
    for image, file in zip(images, files, strict=True):
        inspect = KINDS.get(image["kind"])
        if inspect and image["size"] <= MAX_DAMAGED:
            helped, alone = both(inspect, file.read_bytes())
            assert helped == alone, f"image {image['index']}"


def damaged(path: Path, images: list[dict[str, Any]], folder: Path) -> None:
    """Check that `verify` reports a damaged image and a truncated archive."""
    places = sorted(image["offset"] for image in images if image["offset"])
    if not places or path.stat().st_size > MAX_DAMAGED:
        return
    for place in dict.fromkeys((places[0], places[len(places) // 2], places[-1])):
        copy = folder / "damaged"
        shutil.copyfile(path, copy)
        with copy.open("r+b") as file:
            if path.suffix == ".a":  # members are what they like to be
                file.truncate(place + 64)
            else:
                file.seek(place)
                file.write(bytes(64))
        assert errors_in(copy) & UNSOUND, f"the damage at {place:#x} is not seen"
        copy.unlink()


def errors_in(path: Path) -> set[str]:
    """Return the codes of errors that `verify` finds, and "unread" if it cannot read a part."""
    said = json.loads(ran("verify", "--json", path, codes=(0, 1, 2)))
    findings = (finding for one in said["files"] for finding in one["findings"])
    codes = {finding["code"] for finding in findings if finding["severity"] == "error"}
    return codes | ({"unread"} if said["errors"] else set())


def checked(package: Package, folder: Path) -> None:
    """Check every file of a package, and add a line for each to build/field/results.tsv."""
    faults = []
    for file, path in unpacked(package):
        start, size = time.monotonic(), path.stat().st_size
        try:
            result = "\t".join(("ok", check(file, path, folder)))
        except (AssertionError, OSError, ValueError) as error:
            faults.append(f"{file.package}: {file.path}: {error}")
            result = f"FAIL\t{str(error)[:300]!r}"
        seconds = f"{time.monotonic() - start:.1f}"
        line = "\t".join((file.producer, file.package, file.path, str(size), seconds, result))
        with RESULTS.open("a") as results:
            results.write(f"{line}\n")
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("package", listed(quick=True), ids=str)
def test_small_files(package: Package, tmp_path: Path) -> None:
    checked(package, tmp_path)


@pytest.mark.field
@pytest.mark.parametrize("package", listed(quick=False), ids=str)
def test_all_files(package: Package, tmp_path: Path) -> None:
    checked(package, tmp_path)
