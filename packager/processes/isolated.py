# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Start a Python process that imports no file of the current folder."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def python_command(module: str) -> list[str]:
    """Return the command that calls `main` of `module` with the words appended to the command.

    The interpreter's own library comes first, then the folder of this installation, then the other
    folders of `sys.path`: the site packages of a user or of a virtual environment are among them.

    With -I, Python ignores PYTHONPATH, PYTHONHOME and its other variables, and does not insert the
    current folder, which `-c` and `-m` do (-P does the same since Python 3.11 only). Without the
    module site (-S), no sitecustomize runs, and the process starts faster.
    """
    code = f"import sys; sys.path += {_folders()!r}; from {module} import main; main(*sys.argv[1:])"
    return [sys.executable, "-I", "-S", *_bytecode_options(), "-c", code]


def _folders() -> list[str]:
    """Return the folders to import from; the current folder only if it has this installation."""
    own = str(Path(__file__).resolve().parents[2])
    others = (
        folder for folder in sys.path if Path(folder).is_absolute() and not _is_current(folder)
    )
    return list(dict.fromkeys((own, *others)))


def _is_current(folder: str) -> bool:
    try:
        return Path(folder).samefile(os.curdir)
    except OSError:  # a missing folder has no modules
        return True


def _bytecode_options() -> list[str]:
    """Return the options that keep compiled modules in the user's folder for them, if any."""
    prefix = sys.pycache_prefix
    return [
        *(["-B"] if sys.dont_write_bytecode else []),
        *([f"-Xpycache_prefix={prefix}"] if prefix else []),
    ]
