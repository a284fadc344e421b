# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write device images to separate files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from packager.errors import FindingError, UsageError
from packager.files.reader import Reader
from packager.files.replacing import replacing
from packager.hosts.load import load_all
from packager.model import DeviceImage, FatBinary, ImageKind
from packager.patterns import pattern
from packager.questions.offered import Offered
from packager.questions.wanted import Wanted
from packager.records import NamedTuple

ENDINGS: dict[ImageKind, str] = {
    "ptx": "ptx", "cubin": "cubin", "fatbin": "fatbin", "bitcode": "bc", "spirv": "spv",
    "amdgcn": "co", "zebin": "zebin", "tileir": "tilebc",
}  # fmt: skip
_UNSAFE = pattern(r"[^A-Za-z0-9._+-]")
LONGEST = 200


class Extracted(NamedTuple):
    """An image that was chosen, and where it was written; None: it was only looked at."""

    number: int  # through all members of an archive
    binary: FatBinary  # file of the image
    image: DeviceImage
    path: Path | None


class Outcome(NamedTuple):
    """The extracted images, and the faults of files and members that could not be read."""

    done: list[Extracted]
    faults: list[tuple[str, str]]  # the file or member, and the fault


def extract(source: Path, wanted: Wanted, folder: Path | None) -> Outcome:
    """Write the images of `source` that are `wanted` into `folder`; with None, only choose.

    Each file appears whole or not at all. Raises FormatError for an unreadable source, UsageError
    if the choice among several images is ambiguous or a file cannot be written, FindingError if no
    image meets the conditions.
    """
    faults: dict[tuple[str, str], None] = {}
    if wanted.is_open and (count := sum(1 for _ in _images(source, faults))) > 1:
        raise UsageError(f"holds {count} images; choose with --image, --triple, … or --all")
    done = []
    offered = Offered(wanted)
    names: set[str] = set()
    for index, binary, image, data in _images(source, faults):
        offered.see_image(index, binary, image)
        if not wanted(index, binary, image):
            continue
        path = folder / _distinct(file_name(source, index, image), names) if folder else None
        if path:
            _write(data, path)
        done.append(Extracted(index, binary, image, path))
    if not done:
        raise FindingError("; ".join(offered.lacks()) or "has no device image")
    return Outcome(done, list(faults))


def _images(
    source: Path, faults: dict[tuple[str, str], None]
) -> Iterator[tuple[int, FatBinary, DeviceImage, Reader]]:
    """Yield the images in order; add parts that cannot be read to `faults`."""
    index = 0
    for loaded in load_all(source):
        unread = (*loaded.binary.faults, *loaded.binary.limits)
        faults |= {(loaded.binary.path, fault): None for fault in unread}
        for image, data in zip(loaded.binary.images, loaded.data, strict=True):
            yield index, loaded.binary, image, data
            index += 1


def file_name(source: Path, index: int, image: DeviceImage) -> str:
    """Return the file name of an image, made safe: no text in a container can leave the folder."""
    ending = ENDINGS.get(image.kind)
    if image.kind == "elf":
        ending = "o" if image.contents.form == "relocatable object" else "so"
    member = Path(image.member).name if image.member else ""
    parts = [source.name, member, str(index), image.triple, image.processor]
    name = "-".join(_UNSAFE.sub("_", part) for part in parts if part)
    return f"{name[:LONGEST].lstrip('.-') or 'image'}.{ending or 'img'}"


def _distinct(name: str, names: set[str]) -> str:
    """Return a file name that is not in `names` yet, and add it.

    Truncation may make two long names equal, and some file systems ignore case.
    """
    stem, dot, ending = name.rpartition(".")
    number = 1
    while name.casefold() in names:
        number += 1
        name = f"{stem}-{number}{dot}{ending}"
    names.add(name.casefold())
    return name


def _write(data: Reader, path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise UsageError(f"cannot write to {path.parent}: it is not a folder") from error
    except OSError as error:
        raise UsageError(f"cannot make the folder {path.parent}: {error.strerror}") from error
    with replacing(path) as temporary, temporary.open("wb") as file:
        file.writelines(data.pieces())
