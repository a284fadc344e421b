# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The runtime under the name of an LLVM that came after it (DECISIONS 43)."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from omptool.installation import LIBRARY
from packager.errors import PackagerError, UsageError
from packager.files.replacing import is_private, replacing
from packager.generations import NEWEST

CACHE, HOME_CACHE = "OMPTOOL_CACHE_DIR", ".cache/omptool"
_NAME = re.compile(r"libomptarget\.so\.(\d+)\.(\d+)")


def is_newer_name(name: str) -> bool:
    """Return whether a library's name is that of a runtime of a later LLVM than any known one."""
    found, known = _NAME.fullmatch(name), _NAME.fullmatch(NEWEST.soname)
    assert known is not None
    return found is not None and _numbers(found) > _numbers(known)


def _numbers(name: re.Match[str]) -> tuple[int, int]:
    return int(name[1]), int(name[2])


def made(name: str, libraries: Path) -> Path:
    """Return a library with the SONAME `name` that needs the runtime in `libraries`.

    It is the stub of the newest known name with another DT_SONAME: the loader takes a preloaded
    library for a needed one by its SONAME. It stays in a folder of this user, because the program
    outlives this process. Raises PackagerError if no such folder can be made.
    """
    stub = (libraries / NEWEST.soname).read_bytes()
    old, new = (f"\0{each}\0".encode() for each in (NEWEST.soname, name))
    if len(old) != len(new) or stub.count(old) != 1:
        raise PackagerError(f"needs {name}, which this version of the runtime cannot replace")
    folder = _folder()
    library = folder / name
    content = stub.replace(old, new)
    try:
        if not library.is_file() or library.read_bytes() != content:
            with replacing(library) as temporary:
                temporary.write_bytes(content)
        # The alias finds the library in its own folder by DT_RUNPATH.
        _link(folder / LIBRARY, libraries / LIBRARY)
    except (OSError, UsageError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise PackagerError(f"needs {name}, and no alias can be made in {folder}: {why}") from error
    return library


def _link(link: Path, target: Path) -> None:
    """Make `link` a symlink to `target`, whatever it was before."""
    with suppress(OSError):
        if link.readlink() == target:
            return
    fresh = link.with_name(f"{link.name}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(target)
    fresh.replace(link)


def _folder() -> Path:
    """Return a folder that only this user can write to: in the cache, else a temporary one."""
    named = os.environ.get(CACHE)
    with suppress(OSError, RuntimeError):  # no home folder, or no space in it
        cache = Path(named) if named else Path.home() / HOME_CACHE
        folder = cache.absolute() / "aliases"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        is_ours = folder.stat().st_uid == os.geteuid() and is_private(folder)
        if is_ours and os.access(folder, os.W_OK) and not set(" \t\n:;") & set(str(folder)):
            return folder
    import tempfile  # slow to load

    return Path(tempfile.mkdtemp(prefix="omptool-alias-"))
