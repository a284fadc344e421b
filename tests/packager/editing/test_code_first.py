# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files that begin with code, as newer linkers lay them out: no program header can be added."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import edited
import pytest
import running
from click.testing import Result
from next_tools import COPYING, apply
from places import TESTS
from toolchain import X86_64, compile_c, omptool, run

from packager.hosts.load import load

pytestmark = pytest.mark.slow
SOURCES = TESTS / "packager" / "editing" / "sources"
PLAIN = (SOURCES / "plain.c").read_text()
MANY = "char zeros[17 << 20];"


def script(path: Path, *kind: str) -> Path:
    """Write the linker's own script, with code moved in front of the tables."""
    done = subprocess.run(["ld", *kind, "--verbose"], capture_output=True, text=True, check=True)
    text = re.split("={20,}", done.stdout)[1]
    tables, code, rest = (text.index(f"  {name} ") for name in (".hash", ".init", ".rodata"))
    path.write_text(text[:tables] + text[code:rest] + text[tables:code] + text[rest:])
    return path


def linked(folder: Path, *kind: str, more: str = "") -> Path:
    """Link the program or library of plain.c with this script."""
    flags = [f"-Wl,-T,{script(folder / 'script', *kind)}", "-fuse-ld=bfd", "-fPIC", *kind]
    return compile_c(PLAIN + more, folder / "plain", "-Wl,--build-id=none", *flags)


def given(path: Path, out: Path) -> Result:
    """Return the outcome of `bundle` when it adds an image."""
    image = compile_c("int counter; void first(void *p) {}", out.with_name("image.so"), "-shared")
    names = out.with_name("names")
    names.write_text("first\ncounter\n")
    options = ("--image", f"{X86_64}={image}", "--entries", names, "-o", out)
    return omptool("bundle", path, *options)


@pytest.mark.parametrize("kind", ["-pie", "-no-pie"])
def test_segments_that_are_there_become_longer(tmp_path: Path, kind: str) -> None:
    """Strip finds nothing unusual, and the next edit makes the last one as short as it was."""
    app, out = linked(tmp_path, kind), tmp_path / "out"
    assert given(app, out).output == ""
    assert len(load(out).images) == 1
    large = tmp_path / "large.so"
    large.write_bytes((tmp_path / "image.so").read_bytes() + bytes(50_000))
    stripped = edited.stripped(out, "strip")
    again = edited.edited(stripped, tmp_path / "again", "--replace", f"0={large}")
    assert [data for _, data in edited.images(again)] == [large.read_bytes()]
    back = edited.edited(again, tmp_path / "back", "--replace", f"0={tmp_path / 'image.so'}")
    assert back.stat().st_size < stripped.stat().st_size + 1000
    for changed in (out, stripped, again, edited.stripped(again, "strip"), back):
        done = running.run(changed, "argument")
        assert (done.returncode, done.stderr) == (0, ""), changed
        assert done.stdout == "constructed with 2, argument, destroyed\n"


@pytest.mark.parametrize("kind", ["-shared", "-pie", "-no-pie"])
def test_what_ends_in_many_zeros_is_refused(tmp_path: Path, kind: str) -> None:
    """The zeros would be bytes of the file, and strip breaks program headers that are elsewhere."""
    refused = given(linked(tmp_path, kind, more=MANY), tmp_path / "none")
    assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
    assert "has no room for another program header, and none can be made" in refused.stderr
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("kind", ["-static", "-static-pie"])
def test_a_static_program_finds_its_relocations(tmp_path: Path, kind: str) -> None:
    """The program's start code reads some relocations where the linker put them."""
    image = compile_c("void kernel(void) {}", tmp_path / "image.so", "-shared", "-fPIC")
    wrapper, app = tmp_path / "wrapper.o", tmp_path / "app"
    done = omptool("emit", "--image", f"{X86_64}={image}", "--abi", "llvm-19", "-o", wrapper)
    assert done.exit_code == 0, done.output
    compile_c((SOURCES / "static.c").read_text(), tmp_path / "host.o", "-c", "-fPIE")
    run("gcc", kind, tmp_path / "host.o", wrapper, "-o", app)
    out = edited.edited(app, tmp_path / "out", "--add", f"{edited.GPU}={image}")
    assert run(app) == f"1 of {image.stat().st_size} bytes\n"
    for tool in COPYING:  # patchelf refuses static programs
        if kind == "-static" and tool.startswith("llvm"):  # they refuse it, also without an edit
            continue
        apply(tool, out, tmp_path / "changed")
        for changed in (out, tmp_path / "changed"):
            assert run(changed) == f"2 of {image.stat().st_size} bytes\n"
