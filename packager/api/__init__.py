# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The Python API of `import packager`: the reading commands as functions (docs/python.md)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from packager import checks
from packager.dwarf.sources import with_sources
from packager.errors import FindingError, FormatError, PackagerError
from packager.files.names import text
from packager.hosts.load import load_all
from packager.look import Look
from packager.model import (
    Contents,
    Descriptor,
    DeviceImage,
    DeviceSymbol,
    EntryTable,
    FatBinary,
    Finding,
    OffloadEntry,
    Registration,
    Resources,
)
from packager.pairing import entry_states
from packager.questions.compare import Change, differences
from packager.questions.kernels import Kernel, merged
from packager.questions.summary import Summary
from packager.questions.summary import summary as _summary
from packager.questions.wanted import Wanted
from packager.records import NamedTuple
from packager.triples import normalise
from packager.writers.extract import Extracted
from packager.writers.extract import extract as _extract

__all__ = [
    "Change",
    "Contents",
    "Descriptor",
    "DeviceImage",
    "DeviceSymbol",
    "EntryTable",
    "Extracted",
    "FatBinary",
    "Finding",
    "FindingError",
    "FormatError",
    "Kernel",
    "OffloadEntry",
    "PackagerError",
    "Registration",
    "Resources",
    "Summary",
    "Verified",
    "compare",
    "entries",
    "entry_states",
    "extract",
    "image_bytes",
    "images",
    "kernels",
    "load",
    "summary",
    "verify",
]

Name = str | os.PathLike[str]
# A file by its name, or the records loaded from one.
Source = Name | FatBinary | Sequence[FatBinary]


def load(path: Name, *, hashed: bool = False, sourced: bool = False) -> list[FatBinary]:
    """Read the offload code of a file, or of each archive member that has some or lacks it.

    `hashed` adds the SHA-256 of each image. `sourced` adds the source files of kernels, from debug
    information. A file without offload code yields one FatBinary that `is_empty`. Its `faults` and
    `limits` name unreadable parts, and its `host_only` target regions that were compiled for the
    host alone. Raises FormatError if nothing can be read.
    """
    with _naming(path):
        found = load_all(Path(path), Look(hashed=hashed, code=True, host_only=True))
        if sourced:
            return [with_sources(one.binary, one.file, one.data) for one in found]
        return [loaded.binary for loaded in found]


def images(
    source: Source,
    *,
    triple: str | None = None,
    arch: str | None = None,
    kind: str | None = None,
    kernel: str | None = None,
) -> list[DeviceImage]:
    """Return the file's device images that meet every condition, in file order.

    `kernel` matches a part of a kernel's name, mangled or demangled; a star in it matches any
    characters.
    """
    wanted = _wanted(triple, arch, kind, kernel)
    return [image for binary in _loaded(source) for image in wanted.images(binary)]


def entries(source: Source) -> list[OffloadEntry]:
    """Return the entries of all entry tables of the host."""
    return [entry for binary in _loaded(source) for entry in binary.entries]


def kernels(
    source: Source,
    *,
    triple: str | None = None,
    arch: str | None = None,
    kind: str | None = None,
    kernel: str | None = None,
) -> list[Kernel]:
    """Return a file's kernels, once per file or archive member, with the images that have each."""
    wanted = _wanted(triple, arch, kind, kernel)
    return [
        one
        for binary in _loaded(source)
        for one in merged(binary, wanted.images(binary))
        if wanted.names(one.name)
    ]


def summary(source: Source) -> Summary:
    """Return the totals by target and container, and the GPU generations that can run the file."""
    return _summary((binary, binary.images) for binary in _loaded(source))


class Verified(NamedTuple):
    """The findings of the checks in a file or a member of an archive."""

    binary: FatBinary
    findings: list[Finding]

    @property
    def has_errors(self) -> bool:
        """Return whether a finding is an error."""
        return any(finding.severity == "error" for finding in self.findings)


def verify(
    *sources: Source, select: Sequence[str] = (), ignore: Sequence[str] = ()
) -> list[Verified]:
    """Check files, each by itself and with those before it, as objects of one program.

    `select` and `ignore` are codes of checks, such as OMP105. Raises UsageError for an unknown
    code.
    """
    codes = checks.selected(list(select), list(ignore))
    found: list[Verified] = []
    earlier = checks.Earlier()
    for binary in (binary for source in sources for binary in _loaded(source)):
        findings = checks.verify(binary, codes) if codes else []
        found.append(Verified(binary, [*findings, *checks.against(earlier, binary, codes)]))
        earlier.add(binary)
    return found


def extract(
    path: Name,
    folder: Name,
    *,
    triple: str | None = None,
    arch: str | None = None,
    kind: str | None = None,
    kernel: str | None = None,
) -> list[Extracted]:
    """Write device images, inflated, to separate files in `folder`.

    Raises FindingError if no image meets the conditions.
    """
    wanted = _wanted(triple, arch, kind, kernel, is_all=True)
    with _naming(path):
        return _extract(Path(path), wanted, Path(folder)).done


def image_bytes(path: Name) -> Iterator[tuple[DeviceImage, bytes]]:
    """Yield each device image of a file with its bytes, inflated."""
    with _naming(path):
        for loaded in load_all(Path(path)):
            for image, data in zip(loaded.binary.images, loaded.data, strict=True):
                yield image, data.bytes()


def compare(old: FatBinary, new: FatBinary) -> list[Change]:
    """Return the changes between two builds; bytes count if both were loaded with `hashed`."""
    return list(differences(old, new, Wanted()))


@contextmanager
def _naming(path: Name) -> Iterator[None]:
    """Put the file's name in front of the message of each error that the block raises."""
    try:
        yield
    except PackagerError as error:
        error.args = (f"{text(os.fsencode(path))}: {error}",)
        raise


def _loaded(source: Source) -> Iterable[FatBinary]:
    if isinstance(source, FatBinary):
        return (source,)
    if isinstance(source, (str, os.PathLike)):
        return load(source)
    return source


def _wanted(
    triple: str | None,
    arch: str | None,
    kind: str | None,
    kernel: str | None,
    *,
    is_all: bool = False,
) -> Wanted:
    def one(word: str | None) -> tuple[str, ...]:
        return () if word is None else (word,)

    triples = () if triple is None else (normalise(triple),)
    return Wanted((), triples, one(arch), one(kind), one(kernel), is_all=is_all)
