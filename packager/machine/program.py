# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Predict whether the dynamic loader lets omptool's runtime replace that of a program."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from packager.elf import headers
from packager.elf.headers import DT_NEEDED
from packager.elf.imports import Dynamic
from packager.files.reader import Reader
from packager.records import NamedTuple

LIBTARGET = "libtarget.so"
# Dynamic strings, one of which a program of the 2013 proposal has.
NAMES_2013 = (b"\0__tgt_", b"\0LIBTARGET_2013\0")


# Marks of clang's and GCC's regions, and of calls of an offload runtime.
MARKS = (b"__omp_offloading_", b"GOMP_target")
CALLS = b"\0__tgt_"

# Prefixes of variables that the loader and omptool's runtime ignore in a setuid program.
IGNORED = ("LD_LIBRARY_PATH", "LD_PRELOAD", "LD_AUDIT", "OMPTOOL_", "LIBOMPTARGET_", "OMP_TOOL")


INTERPRETED = b"#!"
UNDER_RUN = "the loader ignores the runtime that is put before its own"


class Program(NamedTuple):
    """A program in ELF form."""

    is_static: bool
    needed: tuple[str, ...]  # DT_NEEDED, in order
    # True if a needed libtarget.so is the offload runtime, not another library of that name.
    calls_2013: bool = False
    has_offload_code: bool = False  # set for static programs; libraries show it for others

    @property
    def offload_libraries(self) -> tuple[str, ...]:
        """Return the SONAMEs of the runtime that the program needs, in order."""
        return tuple(
            name
            for name in self.needed
            if name.startswith("libomptarget.so") or (name == LIBTARGET and self.calls_2013)
        )

    @property
    def has_namesake(self) -> bool:
        """Return whether the program needs a libtarget.so that does not offload."""
        return LIBTARGET in self.needed and not self.calls_2013


def raised_rights(path: Path) -> str:
    """Return why the program at `path` has more rights than this process; "" if it has not.

    The kernel then sets AT_SECURE: the loader ignores LD_LIBRARY_PATH and LD_PRELOAD.
    """
    status = path.stat()
    if os.statvfs(path).f_flag & os.ST_NOSUID or _has_no_new_privileges():
        return ""
    if status.st_mode & stat.S_ISUID and status.st_uid != os.getuid():
        return "it is setuid"
    is_setgid = status.st_mode & stat.S_ISGID and status.st_mode & stat.S_IXGRP
    if is_setgid and status.st_gid != os.getgid():
        return "it is setgid"
    if os.getuid() != 0 and _has_capabilities(path):
        return "it has file capabilities"
    return ""


def is_script(data: Reader) -> bool:
    """Return whether the kernel starts an interpreter for a file."""
    return data.starts_with(INTERPRETED)


def _has_capabilities(path: Path) -> bool:
    try:
        return "security.capability" in os.listxattr(path)
    except OSError:  # the file system has none
        return False


def _has_no_new_privileges() -> bool:
    try:
        return "NoNewPrivs:\t1" in Path("/proc/self/status").read_text()
    except OSError:
        return False


def secured(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without variables that a program with raised rights ignores."""
    return {name: value for name, value in environment.items() if not name.startswith(IGNORED)}


def inspect_program(path: Path, data: Reader) -> Program | None:
    """Return the ELF program at `path`, which is open; None for a script or another format.

    Raises FormatError when it is malformed.
    """
    if not headers.probe(data):
        return None
    file = headers.read(data)
    is_static = not any(segment.type == headers.PT_INTERP for segment in file.segments)
    if not is_static:
        return _dynamic(file)
    # Imported here because few programs are static.
    from packager.hosts.load import read_file

    return Program(True, (), has_offload_code=not read_file(str(path), data).is_empty)


class Traces(NamedTuple):
    """Names in a file's symbols that indicate target constructs."""

    regions: bool = False  # clang's functions of regions, or the calls of GCC's
    calls: bool = False  # calls an offload runtime, so the compiler knew of devices


def traces(data: Reader) -> Traces:
    """Search an ELF file for such names; quick, but `host_only.found` shows more.

    Raises FormatError if the file is malformed.
    """
    if not headers.probe(data):
        return Traces()
    file = headers.read(data)
    texts = [file.string_table(table.link, "names of symbols") for table in file.symbol_tables()]
    has_regions = any(text.holds(mark) for text in texts for mark in MARKS)
    return Traces(has_regions, any(text.holds(CALLS) for text in texts))


def _dynamic(file: headers.Elf) -> Program:
    dynamic = Dynamic(file)
    needed = dynamic.texts(DT_NEEDED)
    names = dynamic.strings() if LIBTARGET in needed else b""
    return Program(False, needed, any(name in names for name in NAMES_2013))
