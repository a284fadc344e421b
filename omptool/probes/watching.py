# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run a program to its end, with reports beside it.

To other processes, this process is the program: it passes signals on to the program, and stops and
continues with it.
"""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from omptool.probes.launching import SHELL, Start, is_text, through_shell

STDOUT, STDERR = 1, 2
FROM_KERNEL = 0x80  # SI_KERNEL: of the terminal, which sends its signals to the program as well
AWAITED = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}
TURN = 0.2  # seconds; where there are threads, SIGCHLD may go to another one, and is lost
# Signals by which the terminal stops a program. A process that sends SIGSTOP also continues it.
STOPS = (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)
# Signals that Python ignores; exec would keep them ignored.
IGNORED = (signal.SIGPIPE, signal.SIGXFSZ)


def watched(start: Start, *, is_output_moved: bool = False) -> int:
    """Run a program to its end; return its exit code, or minus the signal that ended it.

    It inherits this process's files, limits and terminal. With `is_output_moved` its output goes to
    stderr. Raises OSError if it cannot be started.
    """
    moved = [(os.POSIX_SPAWN_DUP2, STDERR, STDOUT)] if is_output_moved else []

    def started(file: str, words: Sequence[str]) -> int:
        return os.posix_spawn(
            file,
            tuple(words),
            start.environment,
            file_actions=moved,
            setsigmask=mask,
            setsigdef=IGNORED,
        )

    with _blocked() as mask:
        try:
            child = started(str(start.file), start.words)
        except OSError as error:
            if error.errno != errno.ENOEXEC or not is_text(start.file):
                raise
            child = started(SHELL, through_shell(start.file, start.words))
        return _ended(child)


@contextmanager
def _blocked() -> Iterator[set[int]]:
    """Block signals in the block, which polls for them; drop pending ones for the program."""
    if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:  # nobody would learn how it ended
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, AWAITED)
    try:
        yield {int(number) for number in mask}
    finally:
        while signal.sigtimedwait(AWAITED, 0):
            pass
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _ended(child: int) -> int:
    """Wait for the end of a child, and pass on signals that arrive until then."""
    while True:
        found, status = os.waitpid(child, os.WNOHANG | os.WUNTRACED)
        if found and not os.WIFSTOPPED(status):
            return os.waitstatus_to_exitcode(status)
        if found and os.WSTOPSIG(status) in STOPS:
            os.kill(os.getpid(), signal.SIGSTOP)  # SIGCONT wakes this process, and is passed on
        got = signal.sigtimedwait(AWAITED, TURN)
        if got and got.si_signo != signal.SIGCHLD and got.si_code != FROM_KERNEL:
            with suppress(ProcessLookupError, PermissionError):  # a program of another user
                os.kill(child, got.si_signo)
