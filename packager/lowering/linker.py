"""Links a kernel's object file to a shared object with whatever linker the machine has."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from packager.errors import MissingToolError, UsageError

_SECONDS = 600
# -z defs: what nothing here defines is found now, not when the image is loaded.
_OPTIONS = ("--build-id=none", "--as-needed", "-Bsymbolic")
_KEYWORDS = ("defs", "noexecstack")
_UNDEFINED = re.compile(r"undefined (?:reference to|symbol:?) [`'\"]?([^\s`'\"]+)")
_NO_LINKER = re.compile(r"cannot find 'ld'|unable to execute command|invalid linker name")


def link_shared(object_file: Path, output: Path, exports: Sequence[str]) -> tuple[str, ...]:
    """Make `output` of `object_file`, exporting `exports` and nothing else; returns warnings.

    libm and libc become NEEDED where they are used. Raises MissingToolError without a linker, and
    UsageError naming the symbols that nothing defines.
    """
    script = object_file.with_suffix(".exports")
    names = " ".join(f"{name};" for name in exports)
    script.write_text(f"{{ global: {names} local: *; }};\n")
    command = _command(object_file, output, script)
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="backslashreplace",
            env={**os.environ, "LC_ALL": "C"},
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise UsageError(f"{command[0]} took more than {_SECONDS} s to link the image") from error
    if done.returncode != 0:
        raise _failure(Path(command[0]).name, done.stderr)
    return tuple(line for line in done.stderr.splitlines() if line.strip())


def _command(object_file: Path, output: Path, script: Path) -> list[str]:
    files = [str(object_file), "-o", str(output)]
    driver = shutil.which("cc")
    if driver:
        options = [*_OPTIONS, f"--version-script={script}"]
        options += [word for keyword in _KEYWORDS for word in ("-z", keyword)]
        passed = [f"-Wl,{','.join(options)}"]
        return [driver, "-shared", "-nostartfiles", *passed, *files, "-lm"]
    linker = shutil.which("ld")
    if linker:
        keywords = [word for keyword in _KEYWORDS for word in ("-z", keyword)]
        libraries = ["-l:libm.so.6", "-l:libc.so.6"]
        options = [*_OPTIONS, f"--version-script={script}", *keywords]
        return [linker, "-shared", *options, *files, *libraries]
    raise MissingToolError("linking an image needs a linker: neither cc nor ld is on PATH")


def _failure(tool: str, stderr: str) -> MissingToolError | UsageError:
    if _NO_LINKER.search(stderr):
        return MissingToolError(f"{tool} finds no linker (ld) to link the image with")
    missing = sorted(set(_UNDEFINED.findall(stderr)))
    if missing:
        return UsageError(
            f"it calls what neither it nor libc or libm defines: {', '.join(missing)}"
        )
    lines = stderr.strip().splitlines() or ["no reason given"]
    return UsageError(f"{tool} cannot link the image: {lines[0]}")
