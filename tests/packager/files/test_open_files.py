# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files that stay open until a command ends."""

from __future__ import annotations

import os
from pathlib import Path
from resource import RLIMIT_NOFILE, getrlimit, setrlimit

import pytest

from packager.errors import FormatError
from packager.files.reader import FEW_FILES, OpenFiles

MORE = 100


def test_a_file_that_was_replaced_is_the_one_that_was_opened(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"first")
    with OpenFiles() as files:
        first = files.data(path)
        (tmp_path / "other").write_bytes(b"other")
        (tmp_path / "other").replace(path)
        again = files.data(path)
        assert first.bytes() == again.bytes() == b"first"
        assert first.fileno() == again.fileno()
        assert first.context is not again.context
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(first.fileno())


def test_what_cannot_be_opened_is_told_each_time(tmp_path: Path) -> None:
    with OpenFiles() as files:
        for _ in range(2):
            with pytest.raises(FormatError, match="No such file"):
                files.data(tmp_path / "none")


def test_more_files_than_most_processes_may_open(tmp_path: Path) -> None:
    paths = [tmp_path / str(number) for number in range(FEW_FILES + 2 * MORE)]
    for path in paths:
        path.write_bytes(path.name.encode())
    before = getrlimit(RLIMIT_NOFILE)
    setrlimit(RLIMIT_NOFILE, (FEW_FILES + MORE, before[1]))
    try:
        with OpenFiles() as files:
            assert [files.data(path).bytes().decode() for path in paths] == [p.name for p in paths]
    finally:
        setrlimit(RLIMIT_NOFILE, before)
