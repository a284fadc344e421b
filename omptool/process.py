# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""End the process well when a signal stops it, or when its output cannot be written.

A signal becomes an exception, so that unfinished outputs are removed. Then the process dies of
that signal. Output that cannot be written gives one line and exit code 2. A reader that went away
(`omptool dump FILE | head`) ends the process by SIGPIPE, as it ends every other tool.
"""

from __future__ import annotations

# The built-in module: `signal` is Python code that makes enumerations, and is slow to load.
import _signal as signal  # type: ignore[import-not-found]
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType, TracebackType
from typing import NoReturn

import click

# Windows has only the first two signals, and no process ends by one.
HAS_SIGNALS = hasattr(signal, "SIGHUP")
STOPPING = (signal.SIGINT, signal.SIGTERM, *((signal.SIGHUP,) if HAS_SIGNALS else ()))
SIGPIPE = 13
CANNOT_WRITE = 2


class StoppedError(BaseException):
    """The process is to end by a signal: it got it, or its program ended so."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def ending_well() -> Iterator[None]:
    """Run the command line in the block; click's own handling of errors is off there."""
    _open_standard_streams()
    sys.excepthook, sys.unraisablehook = _uncaught, _unraisable
    stopping = [one for one in STOPPING if signal.getsignal(one) != signal.SIG_IGN]  # nohup
    for number in stopping:
        signal.signal(number, _stop)
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except click.ClickException as error:
        click.echo(f"Error: {in_a_line(error)}", err=True)
        sys.exit(error.exit_code)
    except click.Abort:
        _die_of(signal.SIGINT)
    except StoppedError as stopped:
        _die_of(stopped.number)
    except BrokenPipeError:
        _die_of(SIGPIPE)
    except OSError as error:
        _cannot_write(error)
    finally:
        for number in stopping:  # no outputs are left to remove
            signal.signal(number, signal.SIG_DFL)


def in_a_line(error: click.ClickException) -> str:
    """Return the fault of the command line, and where to read about its options."""
    message = " ".join(error.format_message().split())
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is None:
        return message
    ended = message if message.endswith((".", "?", ")")) else f"{message}."
    return f"{ended} Try '{context.command_path} --help'."


def _stop(number: int, _frame: FrameType | None) -> NoReturn:
    """Raise StoppedError once: a second signal must not interrupt the removal of outputs."""
    for one in STOPPING:
        signal.signal(one, signal.SIG_IGN)
    raise StoppedError(number)


def _uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """End by the signal if a StoppedError reached the top level."""
    if isinstance(error, StoppedError):
        _die_of(error.number)
    sys.__excepthook__(kind, error, trace)


def _unraisable(fault: sys.UnraisableHookArgs) -> None:
    """End by the signal if it arrived where Python ignores exceptions, e.g. in a destructor."""
    if isinstance(fault.exc_value, StoppedError):
        _die_of(fault.exc_value.number)
    sys.__unraisablehook__(fault)


def _die_of(number: int) -> NoReturn:
    if HAS_SIGNALS:
        with suppress(OSError):  # SIGKILL cannot be handled
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    raise SystemExit(128 + number)  # the signal is blocked, or there are none


def _open_standard_streams() -> None:
    """Open /dev/null for closed standard streams.

    Otherwise the next file opened would get the number of a closed stream.
    """
    if sys.stdin is None:
        os.open(os.devnull, os.O_RDONLY)
    if sys.stdout is None:  # printing fails as on an unwritable stream
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")


def _cannot_write(error: OSError) -> NoReturn:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the rest has nowhere to go
    click.echo(f"Error: standard output: {error.strerror or error}", err=True)
    raise SystemExit(CANNOT_WRITE)
