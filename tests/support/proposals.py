# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of the interface of 2013, libtarget.so: how the tests make and start them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

from fixture_programs import OMPTOOL
from linking import LINKERS, link
from places import TESTS
from toolchain import (
    X86_64,
    compile_c,
    device_image,
    omptool,
)
from verifying import findings

from omptool.installation import libdir

# With mold 1.10 a versioned reference finds no default version, so it needs the other library, too.
RUNTIMES = dict.fromkeys(LINKERS, ("-ltarget",)) | {"mold": ("-ltarget", "-lomptarget")}
SOURCE = (TESTS / "support" / "sources" / "proposal_host.c").read_text()
ENTRIES = (TESTS / "support" / "sources" / "proposal_entries.c").read_text()
MAIN = (TESTS / "support" / "sources" / "proposal_main.c").read_text()
BY_HAND = (TESTS / "support" / "sources" / "proposal_by_hand.c").read_text()


def host(folder: Path, source: str = SOURCE + ENTRIES + MAIN) -> Path:
    """Compile the object to bundle."""
    return compile_c(source, folder / "host.o", "-c", "-fPIC")


def bundled(folder: Path, *images: object, force: bool = True, source: str | None = None) -> Path:
    """Bundle the host with images (files for the CPU, or target=file), for --abi proposal."""
    plain = host(folder) if source is None else host(folder, source)
    words = [word if "=" in str(word) else f"{X86_64}={word}" for word in images]
    options = [part for word in words for part in ("--image", word)]
    out = folder / "bundled.o"
    more = ["--force"] if force else []
    done = omptool("bundle", plain, "--abi", "proposal", *options, *more, "-o", out)
    assert done.exit_code == 0, done.output
    return out


def program(folder: Path, *images: object, linker: str = "bfd", source: str | None = None) -> Path:
    """Link the bundled host with libtarget.so."""
    flags = (f"-L{libdir()}", *RUNTIMES[linker])
    inputs = bundled(folder, *images, source=source)
    return link(folder / f"app-{linker}", inputs, linker=linker, flags=flags)


# Rows of a correct program.
SOUND = [
    ("global", None, "table", 32, ["present"]),
    ("kernel", None, "first", 0, ["present"]),
    ("kernel", None, "second", 0, ["present"]),
]


def rows(file: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Return the compared fields of entries in a document of dump."""
    keys = ("kind", "name", "symbol", "size", "images")
    return [tuple(entry[key] for key in keys) for entry in file["entries"]]


def started(path: Path, *command: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program, or a command with it as its last word, and return how it ended."""
    words = [str(word) for word in (*command, path)]
    return subprocess.run(
        words, capture_output=True, text=True, check=False, timeout=60, env=os.environ | environment
    )


def under_run(path: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Start a program under `omptool run`."""
    return started(path, OMPTOOL, "run", *options, **environment)


def foreign_runtime(folder: Path) -> Path:
    """Build a libtarget.so without symbol versions, as the document describes it."""
    names = ("__tgt_register_lib", "__tgt_unregister_lib", "__tgt_target")
    source = "\n".join(f"int {name}(void) {{ return 1; }}" for name in names)
    flags = ("-shared", "-fPIC", "-Wl,-soname,libtarget.so")
    return compile_c(source, folder / "libtarget.so", *flags)


def by_hand(folder: Path, image: Path, *flags: str, section: str = "libtarget_entries") -> Path:
    """Build a program that uses at most omptool's library, no other part of it."""
    words = (f'-DIMAGE="{image}"', f'-DSECTION="{section}"', "-Wno-attributes", *flags)
    return compile_c(BY_HAND + MAIN, folder / "hand", *words)


def only(path: Path, code: str) -> list[str]:
    """Return the messages of a file's errors, which must all have one code."""
    errors = [finding for finding in findings(path) if finding["severity"] == "error"]
    assert {finding["code"] for finding in errors} == {code}
    return [str(finding["message"]) for finding in errors]


def device(folder: Path, entries: str, source: str = SOURCE) -> Path:
    """Make another image for the CPU, with these entries."""
    return device_image(source + entries, folder / "other.so")
