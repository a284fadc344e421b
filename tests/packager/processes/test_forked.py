# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A function's result comes from a child process, or from this one where the child has none."""

from __future__ import annotations

import errno
import os
import threading
import time
from typing import NoReturn

import pytest

from packager.errors import FormatError
from packager.processes import forked as module
from packager.processes.forked import forked


@pytest.fixture(autouse=True)
def _fork(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fork in spite of other threads, which pytest's workers have."""
    monkeypatch.setattr(module, "_can_fork", lambda: True)


def test_result_of_a_child() -> None:
    with forked(lambda: {os.getpid(): ["x" * 100_000, None, (1, 2.5)]}) as result:
        ((process, found),) = result().items()
    assert process != os.getpid()
    assert found == ["x" * 100_000, None, (1, 2.5)]


def test_error_is_raised_here() -> None:
    def fail() -> NoReturn:
        raise FormatError(f"in {os.getpid()}")

    with forked(fail) as result, pytest.raises(FormatError, match=f"in {os.getpid()}"):
        result()


@pytest.mark.parametrize("lacking", ["os.fork", "os.pipe"])
def test_without_a_child(monkeypatch: pytest.MonkeyPatch, lacking: str) -> None:
    def refuse() -> NoReturn:
        raise OSError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(lacking, refuse)
    with forked(os.getpid) as result:
        assert result() == os.getpid()


def test_child_that_dies_is_replaced() -> None:
    own = os.getpid()

    def die() -> int:
        if os.getpid() != own:
            os.kill(os.getpid(), 9)
        return os.getpid()

    with forked(die) as result:
        assert result() == own


def test_child_that_nobody_waits_for_is_ended() -> None:
    before = time.monotonic()
    with pytest.raises(ZeroDivisionError), forked(lambda: time.sleep(60)):
        raise ZeroDivisionError
    assert time.monotonic() - before < 30
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_no_child_beside_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread could hold a lock, which the child would wait for."""
    monkeypatch.undo()
    ended = threading.Event()
    thread = threading.Thread(target=ended.wait)
    thread.start()
    try:
        with forked(os.getpid) as result:
            assert result() == os.getpid()
    finally:
        ended.set()
        thread.join()
