"""What this machine lacks for a test."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import NoReturn

import pytest


def lacks(what: str) -> NoReturn:
    """End the test: skipped, for a developer's machine; in CI a test that cannot run has failed."""
    if os.environ.get("CI"):
        pytest.fail(what)
    pytest.skip(what)


# Where what is in /tmp is found under `with_tmp`.
OLD_TMP = Path("/mnt")


def with_tmp(option: str) -> list[str]:
    """A command that runs another where /tmp is empty and mounted so: "ro", "noexec"."""
    mounted = f"mount --bind /tmp {OLD_TMP} && mount -t tmpfs -o {option} none /tmp"
    inside = ["unshare", "--mount", "sh", "-c", f'{mounted} && exec "$@"', "sh"]
    if subprocess.run([*inside, "true"], capture_output=True, check=False).returncode != 0:
        lacks("this process may not mount")
    return inside


def moved(path: Path) -> Path:
    """Where a path is there."""
    return OLD_TMP / path.relative_to("/tmp") if path.is_relative_to("/tmp") else path
