# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Folders that other users may write to: any file or symbolic link there may be theirs."""

from __future__ import annotations

import os
from pathlib import Path

OTHERS_MAY_WRITE = 0o022
ROOT = 0


def is_private(folder: Path) -> bool:
    """Return whether nobody but this user, and root, can make files in `folder`.

    Systems without users' numbers (Windows) do not say: every folder counts as private there.
    Raises OSError when there is no such folder.
    """
    if not hasattr(os, "geteuid"):
        return True
    status = folder.stat()
    return status.st_uid in (os.geteuid(), ROOT) and not status.st_mode & OTHERS_MAY_WRITE
