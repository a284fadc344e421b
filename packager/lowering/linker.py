# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Link a kernel's object file to an image with a linker of this machine."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from packager.errors import MissingToolError, UsageError
from packager.processes.programs import search_folders, tool_environment, which

if TYPE_CHECKING:
    from packager.lowering.request import Answer

_SECONDS = 600
_OPTIONS = ("--build-id=none", "--as-needed", "-Bsymbolic")
# Report undefined names at the link, not when the image is loaded.
_ALL_DEFINED = ("-z", "defs")
_UNDEFINED = re.compile(r"undefined (?:reference to|symbol:?) [`'\"]?([^\s`'\"]+)")
_NO_LINKER = re.compile(r"cannot find 'ld'|unable to execute command|invalid linker name")


def link_shared(
    object_file: Path, output: Path, answer: Answer, arch: str, *, libraries: Sequence[str] = ()
) -> tuple[str, ...]:
    """Link `object_file` to `output`, exporting only the symbols of `answer`; return warnings.

    libm, libc and `libraries` ("-lstdc++") become NEEDED if used. Raises MissingToolError without a
    linker, and UsageError with the undefined symbols.
    """
    script = object_file.with_suffix(".exports")
    names = " ".join(("global:", *(f"{name};" for name in answer.exports)))
    script.write_text(f"{{ {names if answer.exports else ''} local: *; }};\n")
    options = [*_OPTIONS, f"--version-script={script}", "-z", "noexecstack"]
    if not answer.calls_process:
        options += _ALL_DEFINED
    # Compilers' code may use __dso_handle, which their start files define.
    more = [*libraries] if answer.calls_process else ["-nostartfiles", *libraries]
    return _linked(_command(object_file, output, options, arch, more))


def link_code_object(object_file: Path, output: Path) -> None:
    """Make AMD's code object `output` of `object_file`. Raises MissingToolError without ld.lld."""
    linker = lld()
    if not linker:
        raise MissingToolError("linking a code object needs LLVM's linker: no ld.lld is on PATH")
    _linked([linker, "-shared", "--build-id=none", str(object_file), "-o", str(output)])


def _linked(command: Sequence[str]) -> tuple[str, ...]:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="backslashreplace",
            env=tool_environment(LC_ALL="C"),
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise UsageError(f"{command[0]} took more than {_SECONDS} s to link the image") from error
    if done.returncode != 0:
        raise _failure(Path(command[0]).name, done.stderr)
    return tuple(line for line in done.stderr.splitlines() if line.strip())


def lld() -> str | None:
    """Return the path of ld.lld; if PATH has only versioned ones, of the latest release."""
    plain = which("ld.lld")
    if plain:
        return plain
    numbered = (
        path
        for folder in search_folders()
        for path in Path(folder).glob("ld.lld-*")
        if path.name.removeprefix("ld.lld-").isdigit() and os.access(path, os.X_OK)
    )
    latest = max(numbered, key=lambda path: int(path.name.removeprefix("ld.lld-")), default=None)
    return str(latest) if latest else None


def _command(
    object_file: Path, output: Path, options: Sequence[str], arch: str, more: Sequence[str]
) -> list[str]:
    files = [str(object_file), "-o", str(output)]
    is_own = os.uname().machine == arch
    driver = which("cc" if is_own else f"{arch}-linux-gnu-gcc")
    if driver:
        passed = [f"-Wl,{','.join(options)}"]
        return [driver, "-shared", *passed, *files, *more, "-lm"]
    linker = which("ld") if is_own else None
    if linker:
        return [linker, "-shared", *options, *files, "-l:libm.so.6", "-l:libc.so.6"]
    if is_own:
        raise MissingToolError("linking an image needs a linker: neither cc nor ld is on PATH")
    llvms = lld()
    if llvms:  # used by kernels that need no library
        return [llvms, "-shared", *options, *files]
    raise MissingToolError(
        f"linking an image for {arch} needs {arch}-linux-gnu-gcc, or ld.lld: neither is on PATH"
    )


def _failure(tool: str, stderr: str) -> MissingToolError | UsageError:
    if _NO_LINKER.search(stderr):
        return MissingToolError(f"{tool} finds no linker (ld) to link the image with")
    missing = sorted(set(_UNDEFINED.findall(stderr)))
    if missing and tool.startswith("ld.lld"):
        return MissingToolError(
            f"it calls {', '.join(missing)}: a link with the C library of another machine needs "
            "its gcc on PATH, such as aarch64-linux-gnu-gcc"
        )
    if missing:
        return UsageError(
            f"it calls functions that neither it nor libc or libm defines: {', '.join(missing)}"
        )
    lines = stderr.strip().splitlines() or ["no reason given"]
    return UsageError(f"{tool} cannot link the image: {lines[0]}")
