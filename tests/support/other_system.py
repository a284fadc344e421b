# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run omptool like Python on macOS or Windows: all that Python lacks there is hidden.

Usage: python -S other_system.py darwin|win32 FOLDER -c CODE | ARGUMENTS... FOLDER holds omptool and
packager. The standard library stays Linux's: other differences of such systems (text in streams,
names of files) are not covered.
"""

from __future__ import annotations

import mmap
import os
import signal
import sys
from typing import Any

LINUX_ALONE = (
    "copy_file_range", "eventfd", "memfd_create", "posix_fadvise", "posix_fallocate", "preadv",
    "pwritev", "sched_getaffinity", "sched_setaffinity", "splice",
)  # fmt: skip
UNIX_ALONE = (
    "chown", "fchmod", "fchown", "fork", "forkpty", "fstatvfs", "getegid", "geteuid", "getgid",
    "getgroups", "getloadavg", "getpgid", "getuid", "killpg", "lchown", "mkfifo", "mknod", "nice",
    "openpty", "posix_spawn", "posix_spawnp", "pread", "pwrite", "readv", "sendfile", "setsid",
    "statvfs", "sysconf", "uname", "waitid", "writev",
    "O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "SEEK_DATA", "SEEK_HOLE",
)  # fmt: skip
UNIX_MODULES = (
    "fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty",
    "_posixsubprocess",
)  # fmt: skip
SIGNALS_OF_WINDOWS = {
    "SIGABRT", "SIGFPE", "SIGILL", "SIGINT", "SIGSEGV", "SIGTERM", "SIG_DFL", "SIG_IGN",
}  # fmt: skip
FUNCTIONS_OF_WINDOWS = {"signal", "getsignal", "raise_signal", "strsignal", "valid_signals"}
# Modules that choose their implementation by the system at import, so they are imported first.
BEFORE = (
    "asyncio", "click", "ctypes", "importlib.metadata", "json", "lzma", "pathlib", "platform",
    "shlex", "shutil", "subprocess", "tempfile", "zipfile",
)  # fmt: skip


def hide(system: str) -> None:
    """Take away what `system` lacks, and every compiled library."""
    for name in BEFORE:
        __import__(name)
    if system == "linux":
        return
    _remove(os, LINUX_ALONE)
    if system == "win32":
        _remove(os, UNIX_ALONE)
        _remove(mmap, [name for name in vars(mmap) if name.startswith(("MAP_", "PROT_"))])
        _remove(signal, [name for name in vars(signal) if _is_of_unix(name)])
        for module in UNIX_MODULES:
            vars(sys)["modules"][module] = None
    import ctypes

    vars(ctypes)["CDLL"] = _no_library
    sys.platform = system


def _remove(module: Any, names: Any) -> None:
    for name in names:
        if hasattr(module, name):
            delattr(module, name)


def _is_of_unix(name: str) -> bool:
    if name.startswith("SIG"):
        return name not in SIGNALS_OF_WINDOWS
    return name.islower() and not name.startswith("_") and callable(getattr(signal, name)) \
        and name not in FUNCTIONS_OF_WINDOWS  # fmt: skip


def _no_library(name: str | None, *_: object) -> None:
    raise OSError(f"{name} is for another system")


def main() -> None:
    """Run code, or omptool with arguments."""
    system, folder, *words = sys.argv[1:]
    sys.path.insert(0, folder)
    hide(system)
    if words[:1] == ["-c"]:
        exec(compile(words[1], "code", "exec"), {"__name__": "__main__"})
        return
    sys.argv = ["omptool", *words]
    from omptool.__main__ import main as run

    run()


if __name__ == "__main__":
    main()
