# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Folders: the files that are slimmed, those that stay, and the RECORDs of what pip installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from made_wheels import LIBRARY, made_wheel

from packager.errors import UsageError
from packager.slimming.packages.installed import Records, files
from packager.slimming.packages.record import hashed


def test_links_and_small_files_are_left_out(tmp_path: Path) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "folder"
    outside.mkdir()
    (folder / "b").mkdir(parents=True)
    (outside / "out.so").write_bytes(LIBRARY)
    (folder / "b" / "one.so").write_bytes(LIBRARY)
    (folder / "a.so").write_bytes(LIBRARY)
    (folder / "text").write_text("text" * 99)
    (folder / "short").write_bytes(LIBRARY[:4])
    (folder / "leads-out").symlink_to(outside)
    (folder / "link.so").symlink_to(outside / "out.so")
    os.mkfifo(folder / "pipe")
    assert [(one.path, one.reason) for one in files(folder)] == [
        (folder / "a.so", ""),
        (folder / "b" / "one.so", ""),
    ]


def test_hard_links_and_running_programs_stay(tmp_path: Path) -> None:
    (tmp_path / "one.so").write_bytes(LIBRARY)
    (tmp_path / "two.so").hardlink_to(tmp_path / "one.so")
    sleeping = tmp_path / "sleeping"
    shutil.copy("/bin/sleep", sleeping)
    with subprocess.Popen([sleeping, "60"]) as process:
        found = {one.path.name: one.reason for one in files(tmp_path)}
        process.kill()
    linked = "has 2 names (hard links), and would be stored twice"
    assert found == {"one.so": linked, "two.so": linked, "sleeping": "is a program that runs"}


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read .*missing"):
        list(files(tmp_path / "missing"))


@pytest.mark.slow
def test_records_of_what_pip_installed_are_right(tmp_path: Path) -> None:
    site = tmp_path / "lib" / "site-packages"
    pip = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--target"]
    subprocess.run([*pip, site, made_wheel(tmp_path)], check=True, capture_output=True)
    changed = site / "made" / "stored.so"
    records = Records(site / "made")  # the RECORD lies beside the folder
    changed.write_bytes(LIBRARY[:999])
    records.change(changed)
    records.change(tmp_path / "of no distribution")
    records.write()
    rows = (site / "made-1.dist-info" / "RECORD").read_text().splitlines()
    assert f"made/stored.so,{hashed(changed).digest},999" in rows
    assert len(rows) == len(set(rows))
