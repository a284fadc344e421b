# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs on PATH: compilers, linkers and other tools that commands start."""

from __future__ import annotations

import os
from collections.abc import Iterable

# Put the heap of commands into huge pages, if the kernel allows it: binutils' ld spends a fifth of
# its time on page faults, and needs no more memory with them. Other programs ignore the variable.
HEAP = "glibc.malloc.hugetlb=1"


def search_folders() -> list[str]:
    """Return the absolute folders of PATH.

    An empty or relative element refers to the current folder, whose files no command runs.
    """
    return [folder for folder in _folders() if os.path.isabs(folder)]  # noqa: PTH117 - quick


def _folders() -> list[str]:
    # os.get_exec_path() loads a module of Python.
    return os.environ.get("PATH", os.defpath).split(os.pathsep)


def which(name: str) -> str | None:
    """Return the path of a program on PATH; None if there is none, or `name` is a path."""
    if os.path.dirname(name) or name in ("", ".", ".."):  # noqa: PTH120 - quick
        return None
    return found_in(search_folders(), name)


def anywhere(word: str) -> str | None:
    """Return the path of a program as a shell finds it: a path, or a name in any folder of PATH."""
    if os.path.dirname(word):  # noqa: PTH120 - quick
        return found_in(("",), word)
    return found_in(_folders(), word)


def found_in(folders: Iterable[str], name: str) -> str | None:
    """Return the path of a program in the first of the folders that has it."""
    if os.name != "posix":
        from shutil import which as searched  # slow to load

        found = searched(name, path=os.pathsep.join(folders))
        return found if found and os.path.isabs(found) else None  # noqa: PTH117 - Windows looks here first
    paths = (os.path.join(folder, name) for folder in folders)  # noqa: PTH118 - quick
    return next((path for path in paths if _is_program(path)), None)


def _is_program(path: str) -> bool:
    return os.access(path, os.X_OK) and not os.path.isdir(path)  # noqa: PTH112 - quick


def tool_environment(**more: str) -> dict[str, str]:
    """Return the environment of a tool: it looks for programs in the same folders."""
    path = os.pathsep.join(search_folders()) or os.defpath  # an empty PATH is the current folder
    return {**os.environ, "PATH": path, **more}


def linker_environment(**more: str) -> dict[str, str]:
    """Return the environment of linkers and compilers; the user's settings of heaps come first."""
    return {"GLIBC_TUNABLES": HEAP, **tool_environment(**more)}
