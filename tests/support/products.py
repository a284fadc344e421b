# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products that a run of the tests makes once, by whichever worker needs them first."""

from __future__ import annotations

import fcntl
import hashlib
import pickle
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

Product = TypeVar("Product")


class Products:
    """Products made under a lock in a folder that all workers see, each by its first user."""

    def __init__(self, root: Path) -> None:
        self._root = root
        root.mkdir(exist_ok=True)

    def made(self, name: str, make: Callable[[Path], Product]) -> Product:
        """Return the result of `make` for the folder of this name, usually paths.

        An exception of `make` is raised, and the next call tries again.
        """
        folder = self._root / name
        record = self._root / f"{name}.made"
        with (self._root / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not record.exists():
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                content = pickle.dumps(make(folder))
                record.write_bytes(content)
        product: Product = pickle.loads(record.read_bytes())
        return product

    def folder(self, name: str, fill: Callable[[Path], object]) -> Path:
        """Return the folder of this name; `fill` fills it once."""

        def make(folder: Path) -> Path:
            fill(folder)
            return folder

        return self.made(name, make)

    def copied(self, out: Path, words: Sequence[str], make: Callable[[Path], object]) -> Path:
        """Return `out`, a copy of the file that `make` writes to its argument.

        Callers with the same words share the file, as long as files among the words are unchanged.
        """
        digest = hashlib.sha256()
        for word in words:
            digest.update(word.encode() + b"\0")
            if Path(word).is_file():
                digest.update(Path(word).read_bytes())
        name = f"{out.name}-{digest.hexdigest()[:16]}"
        folder = self.folder(name, lambda folder: make(folder / out.name))
        return Path(shutil.copy(folder / out.name, out))


# Products of the test run that this process is part of, if any.
of_this_run: list[Products] = []
