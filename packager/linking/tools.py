# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The commands that a link starts: run, shown, or only shown."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packager.errors import MissingToolError, PackagerError
from packager.files.temporary import store
from packager.linking.linker_lines import linker_line
from packager.processes.programs import linker_environment

if TYPE_CHECKING:
    from packager.lowering.child import Child


class LinkError(PackagerError):
    """A command failed: `said` is its output, and its exit code becomes the link's."""

    def __init__(self, message: str, said: str, exit_code: int) -> None:
        super().__init__(message)
        self.said = said
        self.exit_code = exit_code


# Longest command in characters. Kernels accept some 2 MiB, environment included.
LONGEST = 1 << 17
STDERR = 2


def unheard(_line: str) -> None:
    """Ignore the line of a command."""


@dataclass
class Tools:
    """The folder in which commands work, and the output that shows them."""

    folder: Path  # folder of intermediate files
    show: Callable[[str], None] = unheard  # is told of each command
    is_dry: bool = False  # run no command
    in_memory: bool = False  # small inputs of commands need not be files in the folder
    options_at: int = 1  # first argument of a long command to put into a response file
    names: dict[str, str] = field(default_factory=dict)  # names of the folder's files for messages
    passed_on: list[Sequence[str]] = field(default_factory=list)  # commands of `pass_on`
    _workers: list[Child] = field(default_factory=list)
    _awaited: list[str] = field(default_factory=list)  # modules

    @contextmanager
    def with_worker(self, is_needed: bool) -> Iterator[None]:
        """Start LLVM's process early if it is needed, and end it after the block."""
        if is_needed and not self.is_dry:
            from packager.lowering.joining.child import started

            self._workers.append(started())
        try:
            yield
        finally:
            for worker in self._workers:
                worker.close()

    def worker(self) -> Child | None:
        """Return the process that was started early; None at later calls."""
        return self._workers.pop() if self._workers else None

    def run(self, command: Sequence[str], what: str, printed: Path | None = None) -> str:
        """Run a command that links `what`, and return its stderr.

        Its stdout goes to the file `printed`, if given. Raises LinkError with stderr if the command
        fails, MissingToolError if it is missing.
        """
        self.show(shlex.join(command))
        if self.is_dry:
            return ""
        pipe, environment = subprocess.PIPE, linker_environment(LC_ALL="C")
        for words in (*self._without_driver(command, environment), command):
            with self._running(words, env=environment, stdout=pipe, stderr=pipe) as process:
                out, err = process.communicate()
            if process.returncode == 0:
                break  # else the driver prints the error
        said = self.named(err.decode(errors="surrogateescape")).strip()
        if process.returncode:
            killed = f": signal {-process.returncode} ended {command[0]}"
            why = killed if process.returncode < 0 else ""
            raise LinkError(f"linking for {what} failed{why}", said, exit_code(process.returncode))
        if printed is not None:
            store(printed, [out])
        return said

    def answer(self, command: Sequence[str]) -> str:
        """Return the stdout of a command without side effects; "" if it fails."""
        self.show(shlex.join(command))
        if self.is_dry:
            return ""
        try:
            done = subprocess.run(
                command, env=linker_environment(LC_ALL="C"), capture_output=True, check=False
            )
        except OSError:
            return ""  # who is to link says why
        return "" if done.returncode else done.stdout.decode(errors="surrogateescape")

    def link(self, command: Sequence[str]) -> int:
        """Run a command that links, as `pass_on` does, without its driver where that is possible.

        The linker's stderr is passed on if it succeeds. Otherwise the driver runs, which prints the
        errors and adds its own.
        """
        self.show(shlex.join(command))
        if self.is_dry:
            return 0
        environment = linker_environment()
        for words in self._without_driver(command, environment):
            if _is_coloured(words[0]):
                break
            with self._running(words, env=environment, stderr=subprocess.PIPE) as process:
                _, err = process.communicate()
            if process.returncode == 0:
                with os.fdopen(os.dup(STDERR), "wb") as file:
                    file.write(err)
                return 0
        return self._passed_on(command)

    def pass_on(self, command: Sequence[str]) -> int:
        """Run a command that prints its own errors; return its exit code.

        Raises LinkError if a signal killed it before it could print.
        """
        self.show(shlex.join(command))
        self.passed_on.append(command)
        return 0 if self.is_dry else self._passed_on(command)

    def _passed_on(self, command: Sequence[str]) -> int:
        with self._running(command, env=linker_environment()) as process:
            process.wait()
        if process.returncode >= 0:
            return process.returncode
        killed = f"signal {-process.returncode} ended {command[0]}"
        raise LinkError(killed, "", exit_code(process.returncode))

    def _without_driver(
        self, command: Sequence[str], environment: dict[str, str]
    ) -> Iterator[Sequence[str]]:
        """Yield the linker's command that a driver would run, if it does nothing else."""
        line = linker_line(command, self.folder, environment) if _is_short(command) else None
        if line is not None and _is_short(line):
            yield line

    def load_beside(self, *modules: str) -> None:
        """Import modules that are needed later, while the next command runs."""
        self._awaited += modules

    @contextmanager
    def _running(self, command: Sequence[str], **how: Any) -> Iterator[subprocess.Popen[bytes]]:
        """Start a command for the block, and wait for its end."""
        with _startable(command), subprocess.Popen(self._fitting(command), **how) as process:
            try:
                while self._awaited:
                    import_module(self._awaited.pop())
                yield process
            except BaseException:  # who ends us alone does not want its output either
                process.terminate()
                process.wait()
                raise

    def _fitting(self, command: Sequence[str]) -> Sequence[str]:
        """Return the command, with a response file if it is too long for the kernel."""
        if _is_short(command):
            return command
        words = self.folder / "words"
        begin, rest = command[: self.options_at], command[self.options_at :]
        store(words, (os.fsencode(shlex.quote(word)) + b"\n" for word in rest))
        return [*begin, f"@{words}"]

    def named(self, text: str) -> str:
        """Return `text` with files of the folder under the user's names for them."""
        for path, name in reversed(self.names.items()):  # a later one may be of an earlier one
            text = text.replace(path, name)
        return text


def _is_coloured(linker: str) -> bool:
    """Return whether a linker may colour its messages, as all but GNU ld do on a terminal."""
    return os.isatty(STDERR) and not os.path.realpath(linker).endswith("ld.bfd")


def _is_short(command: Sequence[str]) -> bool:
    return sum(len(word) + 1 for word in command) <= LONGEST


def exit_code(returncode: int) -> int:
    """Return an exit code like a shell's: 128 plus the number of a signal."""
    return returncode if returncode >= 0 else 128 - returncode


@contextmanager
def _startable(command: Sequence[str]) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise MissingToolError(f"{command[0]} cannot be started: {error.strerror}") from error
