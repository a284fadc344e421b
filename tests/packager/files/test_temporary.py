# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Temporary folders are where TMPDIR says, and leave nothing."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from packager.errors import UsageError
from packager.files import temporary
from packager.files.temporary import temporary_folder


def test_the_first_place_that_is_there_has_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "absent"))
    monkeypatch.setenv("TEMP", str(tmp_path))
    monkeypatch.setenv("TMP", "/")
    with temporary_folder() as folder:
        assert folder.parent == tmp_path
        assert folder.name.startswith("omptool-")
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "file").touch()
        (folder / "below").mkdir()
        (folder / "below" / "file").touch()
    assert list(tmp_path.iterdir()) == []
    with temporary_folder() as folder:
        folder.rmdir()  # the block may have removed it
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TEMP", ".")
    with temporary_folder() as folder:
        assert folder.parent == tmp_path


def test_without_a_place_the_error_has_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in temporary.VARIABLES:
        monkeypatch.setenv(name, str(tmp_path / "absent"))
    monkeypatch.setattr(temporary, "PLACES", ())
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "absent"))
    with (
        pytest.raises(UsageError, match="cannot make a temporary folder: No such file"),
        temporary_folder(),
    ):
        pass
