# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Output that takes the place of a file, and what stays of that one."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from packager.files.replacing import replacing

NOBODY = 65534


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize(("given", "expected"), [(None, 0o444), (0o555, 0o555)])
def test_a_file_that_nobody_may_write_is_replaced(
    tmp_path: Path, given: int | None, expected: int
) -> None:
    """Its new bytes can be written all the same; then it is what it was."""
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(0o444)
    with replacing(path, given) as temporary:
        assert mode(temporary) & 0o600 == 0o600
        temporary.write_text("new")
    assert (path.read_text(), mode(path)) == ("new", expected)


@pytest.mark.skipif(os.geteuid() != 0, reason="files are given away by root alone")
def test_a_file_keeps_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()
    os.chown(path, NOBODY, NOBODY)
    with replacing(path):
        pass
    assert (path.stat().st_uid, path.stat().st_gid) == (NOBODY, NOBODY)
