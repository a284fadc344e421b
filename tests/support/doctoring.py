# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program for `omptool doctor`, its diagnosis, and its actual outcome."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import running
from clangs import program_of
from documents import document
from places import SCHEMAS, TESTS
from toolchain import omptool

from packager.hosts.load import load

SCHEMA = SCHEMAS / "doctor.json"
PROGRAM = (TESTS / "support" / "sources" / "two_regions.c").read_text()


def program(version: str, folder: Path) -> Path:
    return program_of(version, PROGRAM, folder / "program.c")


def diagnosis(path: Path, **environment: str) -> dict[str, Any]:
    done = omptool("doctor", "--json", path, environment=environment)
    said = document("doctor", done.stdout)
    errors = [f for f in said["findings"] if f["severity"] == "error"]
    away = [entry["reason"] for entry in said["entries"] if entry["reason"]]
    assert done.exit_code == (1 if away or errors or said["runtime"]["obstacle"] else 0)
    return said


def predicted(said: dict[str, Any]) -> str:
    """Return the program's output as the diagnosis predicts it."""
    kernels = [entry for entry in said["entries"] if entry["kind"] == "kernel"]
    return "".join("1" if kernel["runs_on"] == "host" else "0" for kernel in kernels) + "\n"


def output(path: Path, **environment: str) -> str:
    return started(path, **environment).stdout


def started(path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return running.run(path, **environment)


def changed(path: Path, out: Path, change: Callable[[bytearray], None]) -> Path:
    """Copy the program with its image changed."""
    (image,) = load(path).images
    data = bytearray(path.read_bytes())
    content = data[image.offset : image.offset + image.size]
    change(content)
    assert len(content) == image.size
    data[image.offset : image.offset + image.size] = content
    out.write_bytes(data)
    out.chmod(0o755)
    return out


def for_another_machine(image: bytearray) -> None:
    image[18:20] = (183).to_bytes(2, "little")  # e_machine of aarch64


def without_the_second_kernel(image: bytearray) -> None:
    image[:] = image.replace(b"_second_l", b"_sekond_l")


def without_a_library(image: bytearray) -> None:
    image[:] = image.replace(b"libc.so.6\0", b"libq.so.6\0")


def without_its_end(part: float) -> Callable[[bytearray], None]:
    """Return a function that zeroes an image from this part on, like a hole in a file."""

    def change(image: bytearray) -> None:
        start = int(len(image) * part)
        image[start:] = bytes(len(image) - start)

    return change


def codes(document: dict[str, Any]) -> set[str]:
    return {finding["code"] for finding in document["findings"]}
