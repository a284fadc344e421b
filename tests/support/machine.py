# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Name what this machine lacks for a test."""

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


# Output of build steps on distributions that lack a part of clang 19, and the name of the part.
LACKING = {
    # Debian 13: glibc 2.41's <stdlib.h>, compiled for NVIDIA's GPUs.
    "unsupported machine mode '__TC__'": "a clang 19 that compiles this glibc's headers for GPUs",
    # Debian sid: its libomp-19-dev has libomp alone.
    "unable to find library -lomptarget": "LLVM 19's libomptarget",
}


def output(*command: object) -> str:
    """Return the output of a build step; show it if the step fails."""
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    for message, part in LACKING.items():
        if message in done.stderr:
            lacks(f"{part} is not here")
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout}{done.stderr}"
    return done.stdout


# Folder in which files of /tmp appear under `with_tmp`.
OLD_TMP = Path("/mnt")


def with_tmp(option: str) -> list[str]:
    """Return a prefix for commands that mounts an empty /tmp as "ro" or "noexec"."""
    mounted = f"mount --bind /tmp {OLD_TMP} && mount -t tmpfs -o {option} none /tmp"
    inside = ["unshare", "--mount", "sh", "-c", f'{mounted} && exec "$@"', "sh"]
    if subprocess.run([*inside, "true"], capture_output=True, check=False).returncode != 0:
        lacks("this process may not mount")
    return inside


def with_nothing_to_write() -> list[str]:
    """Return a command that runs another where every file system is read-only."""
    folders = "/tmp /var/tmp /dev/shm /run"
    script = f"""
        mount -o remount,bind,ro / || mount --bind -o ro / / || exit 125
        for folder in {folders}; do
            [ -d "$folder" ] || continue
            mount --bind "$folder" "$folder" && mount -o remount,bind,ro "$folder" || exit 125
        done
        cd / && exec "$@"
    """
    inside = ["unshare", "--mount", "sh", "-c", script, "sh"]
    if subprocess.run([*inside, "true"], capture_output=True, check=False).returncode != 0:
        lacks("this process may not mount")
    writes = subprocess.run([*inside, "touch", "/tmp/x", "/x"], capture_output=True, check=False)
    assert writes.returncode != 0
    return inside


def moved(path: Path) -> Path:
    """Return where a path is there."""
    return OLD_TMP / path.relative_to("/tmp") if path.is_relative_to("/tmp") else path
