# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A terminal shows tables that fit it, and colours where they are wanted."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from pathlib import Path

import pytest
from fixture_programs import OMPTOOL
from places import DATA, TESTS
from toolchain import HOST, MAIN, X86_64, bundled, compile_c, device_image, fake_runtime, linked

COLUMNS = 80
COLOUR = re.compile(r"\x1b\[\d*m")
CORPUS = TESTS / "packager" / "fuzz" / "corpus"


def on_terminal(*words: object, **environment: str) -> str:
    """Return a command's output on a terminal of 80 columns, errors included."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 24, COLUMNS, 0, 0))
    plain = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS")}
    process = subprocess.Popen(
        [OMPTOOL, *map(str, words)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**plain, "TERM": "xterm", **environment},
    )
    os.close(theirs)
    shown = b""
    while piece := _read(ours):
        shown += piece
    os.close(ours)
    process.wait(timeout=60)
    return shown.decode().replace("\r\n", "\n")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # all who write to it have ended
        return b""


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide an object with an entry that its image has, and one that it lacks."""
    folder = tmp_path_factory.mktemp("terminal")
    image = device_image(HOST.replace("second", "other"), folder / "image.so")
    compiled = compile_c(HOST + MAIN, folder / "host.o", "-c")
    return bundled(compiled, folder / "bundled.o", {X86_64: image})


def long_names(folder: Path) -> Path:
    """Write PTX whose kernels differ at the ends of their names."""
    kernels = (f"_Z{120 + 2}{'k' * 120}{number}IfEvPT_S0_i" for number in (12, 31))
    entries = "\n".join(f".visible .entry {name}() {{ ret; }}" for name in kernels)
    path = folder / "names.ptx"
    path.write_text(f".version 7.0\n.target sm_70\n.address_size 64\n{entries}\n")
    return path


@pytest.mark.parametrize(
    ("part", "name"),
    [
        ("--kernels", DATA / "none.fatbin"),
        ("--kernels", DATA / "debug.cubin"),
        ("--kernels", CORPUS / "seed-image.co"),
        ("--kernels", CORPUS / "seed-debug.so"),
        ("--kernels", None),
        ("--entries", CORPUS / "seed-program"),
        ("--entries", None),
    ],
)
def test_tables_of_names_fit_eighty_columns(tmp_path: Path, part: str, name: Path | None) -> None:
    path = name or long_names(tmp_path)
    lines = COLOUR.sub("", on_terminal("dump", part, path)).splitlines()
    below = lines[
        next(n for n, line in enumerate(lines) if line.endswith(":") and "/" not in line) :
    ]
    assert len(below) > 3
    assert max(map(len, below)) <= COLUMNS, "\n".join(below)


def test_names_that_differ_at_their_ends_are_told_apart(tmp_path: Path) -> None:
    lines = on_terminal("dump", "--kernels", long_names(tmp_path)).splitlines()
    rows = [line.split()[:3] for line in lines if "…" in line]
    assert len(rows) == 2
    assert rows[0] != rows[1]


def test_severities_and_states_have_colours_on_a_terminal(host: Path) -> None:
    assert ": OMP105 \x1b[31merror\x1b[0m: " in on_terminal("verify", host)
    shown = on_terminal("dump", "--entries", host)
    assert "\x1b[31mmissing\x1b[0m" in shown
    assert "\x1b[32mpresent\x1b[0m" in shown
    assert on_terminal("dump", "/absent").startswith("\x1b[31mError\x1b[0m: /absent: ")
    assert "\x1b[32mready\x1b[0m" in on_terminal("devices", OMPTOOL_PLUGINS="host")
    program = linked([host], host.with_name("program"), runtime=fake_runtime(host.parent))
    assert "\x1b[33mhost\x1b[0m" in on_terminal("doctor", program)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["dump", "verify"])
def test_colours_are_asked_for_and_refused(host: Path, command: str) -> None:
    def has_colours(shown: str) -> bool:
        return "\x1b[" in shown

    def piped(*words: object, **environment: str) -> str:
        call = [OMPTOOL, command, *map(str, words), str(host)]
        done = subprocess.run(
            call, capture_output=True, text=True, env=os.environ | environment, check=False
        )
        return done.stdout + done.stderr

    assert has_colours(on_terminal(command, host))
    assert has_colours(on_terminal(command, host, NO_COLOR=""))
    assert not has_colours(on_terminal(command, host, NO_COLOR="1"))
    assert not has_colours(on_terminal(command, host, TERM="dumb"))
    assert not has_colours(on_terminal(command, "--color=never", host))
    assert has_colours(on_terminal(command, "--color", "always", host, NO_COLOR="1"))
    assert not has_colours(piped())
    assert not has_colours(piped("--color=auto"))
    assert has_colours(piped("--color=always"))
    assert not has_colours(piped("--color=always", "--json"))


def test_a_table_has_the_same_width_in_colour(host: Path) -> None:
    shown = on_terminal("dump", "--entries", host)
    assert COLOUR.sub("", shown) == on_terminal("dump", "--entries", "--color=never", host)
