# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Unpack Debian's packages for another machine into a folder, with lists of their own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from machine import lacks, output

SETTINGS = """
APT::Architecture "{machine}";
APT::Architectures {{"{machine}";}};
Dir::State::lists "{folder}/lists";
Dir::State::status "/dev/null";
Dir::Cache "{folder}/cache";
APT::Sandbox::User "root";
"""


def unpacked(root: Path, machine: str, *packages: str) -> None:
    """Unpack packages into `root`; a test without them ends."""
    apt = root.with_name(f"{root.name}-apt")
    for name in ("lists/partial", "cache/archives/partial"):
        (apt / name).mkdir(parents=True)
    settings = apt / "settings"
    settings.write_text(SETTINGS.format(machine=machine, folder=apt))
    own = os.environ | {"APT_CONFIG": str(settings)}
    for words in (["update"], ["download", *packages]):
        done = subprocess.run(
            ["apt-get", "-qq", *words],
            cwd=apt,
            env=own,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            lacks(f"apt-get {words[0]} has no {packages[0]} for {machine}: {done.stderr}")
    for package in apt.glob("*.deb"):
        output("dpkg-deb", "--extract", package, root)
