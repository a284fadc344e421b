# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Static archives of several forms: their members get shorter, and linkers find their symbols."""

from __future__ import annotations

import subprocess
from functools import partial
from pathlib import Path

import fatbins
import pytest
from linking import LLD_FOLDER
from shortened import ARCHS, image
from toolchain import run

from packager.errors import FormatError
from packager.slimming.file import slim_file
from packager.slimming.keeps import named
from packager.slimming.request import Request

SLIM = partial(slim_file, request=Request(named(["sm_90"])))
AR, LLVM_AR = "ar", "llvm-ar-19"
REGISTERS = r"""
__asm__(".section .nv_fatbin,\"a\"\n.balign 8\n.local fat\nfat: .incbin \"fatbin\"\n.text\n");
extern const long fat[] __attribute__((visibility("hidden")));
__attribute__((section(".nvFatBinSegment"), used)) static struct {
  int magic, version;
  const void *data, *other;
} wrapper = {0x466243b1, 1, fat, 0};
long registers(void) { return ((const long *)wrapper.data)[1]; }
"""
MAIN = r"""
#include <stdio.h>
int first(void), last(void);
long registers(void);
int main(void) { printf("%ld\n", registers()); return first() + last() - 2; }
"""
LONG = "a_member_whose_name_is_longer_than_sixteen.o"


@pytest.fixture
def objects(tmp_path: Path) -> list[str]:
    """Provide objects with a fat binary, with code alone, and one that is text of an odd size."""
    (tmp_path / "fatbin").write_bytes(fatbins.fatbin(*(image(arch, arch) for arch in ARCHS)))
    (tmp_path / "registers.c").write_text(REGISTERS)
    run("gcc", "-c", f"-Wa,-I{tmp_path}", tmp_path / "registers.c", "-o", tmp_path / LONG)
    for name in ("first", "last"):
        (tmp_path / f"{name}.c").write_text(f"int {name}(void) {{ return 1; }}\n")
        run("gcc", "-c", tmp_path / f"{name}.c", "-o", tmp_path / f"{name}.o")
    (tmp_path / "odd").write_text("odd")
    return ["first.o", LONG, "odd", "last.o"]


@pytest.mark.parametrize(
    "words",
    [
        pytest.param([AR, "rcs"], id="gnu"),
        pytest.param([LLVM_AR, "--format=gnu", "rcs"], id="gnu-by-llvm"),
        pytest.param([LLVM_AR, "--format=bsd", "rcs"], id="bsd"),
        pytest.param([LLVM_AR, "--format=darwin", "rcs"], id="darwin"),
        pytest.param(["env", "SYM64_THRESHOLD=0", LLVM_AR, "--format=gnu", "rcs"], id="gnu-64"),
    ],
)
def test_linkers_find_what_members_define(
    words: list[str], objects: list[str], tmp_path: Path
) -> None:
    made, out = tmp_path / "made.a", tmp_path / "out.a"
    subprocess.run([*words, made, *objects], cwd=tmp_path, check=True)
    found = SLIM(made, out, "made.a")
    assert found
    assert [(share.arch, share.after > 0) for share in found.shares] == [
        ("sm_70", False), ("sm_80", False), ("sm_90", True),
    ]  # fmt: skip
    assert out.stat().st_size == found.after < made.stat().st_size / 2
    assert index(out) == index(made) != []
    assert [line.split()[-1] for line in listing(out)] == [
        line.split()[-1] for line in listing(made)
    ]
    (tmp_path / "main.c").write_text(MAIN)
    app = tmp_path / "app"
    run("gcc", f"-B{LLD_FOLDER}", "-fuse-ld=lld", tmp_path / "main.c", out, "-o", app)
    assert int(run(app)) == len(image(90, 90))
    assert SLIM(out, tmp_path / "again.a", "out.a")
    assert not (tmp_path / "again.a").exists()


def test_a_dry_run_gives_the_size(objects: list[str], tmp_path: Path) -> None:
    subprocess.run([AR, "rcs", "made.a", *objects], cwd=tmp_path, check=True)
    dry = SLIM(tmp_path / "made.a", None, "made.a")
    assert dry == SLIM(tmp_path / "made.a", tmp_path / "out.a", "made.a")


def test_members_left_without_code_are_named(objects: list[str], tmp_path: Path) -> None:
    subprocess.run([AR, "rcs", "made.a", *objects], cwd=tmp_path, check=True)
    request = Request(named(["sm_52"]))
    found = slim_file(tmp_path / "made.a", tmp_path / "out.a", "made.a", request)
    assert found
    assert [line.split(":")[0] for line in found.lacking] == [LONG]
    assert not (tmp_path / "out.a").exists()


def test_unfit_archives_are_refused(objects: list[str], tmp_path: Path) -> None:
    subprocess.run([AR, "rcsT", "thin.a", *objects], cwd=tmp_path, check=True)
    with pytest.raises(FormatError, match="is a thin archive: slim the files that it names"):
        SLIM(tmp_path / "thin.a", tmp_path / "out.a", "thin.a")
    subprocess.run([AR, "rcs", "made.a", *objects], cwd=tmp_path, check=True)
    content = bytearray((tmp_path / "made.a").read_bytes())
    content[72:76] = b"\0\0\0\1"  # the first symbol's place, behind the header and the count
    (tmp_path / "made.a").write_bytes(content)
    with pytest.raises(FormatError, match="has no member's place at its byte 0x4"):
        SLIM(tmp_path / "made.a", tmp_path / "out.a", "made.a")


@pytest.mark.parametrize(("depth", "fits"), [(4, True), (5, False), (999, False)])
def test_archives_in_archives(depth: int, fits: bool, tmp_path: Path) -> None:
    content = fatbins.fatbin(*(image(arch, arch) for arch in ARCHS))
    for _ in range(depth):
        head = b"a.a/".ljust(48) + str(len(content)).encode().ljust(10) + b"`\n"
        content = b"!<arch>\n" + head + content
    (tmp_path / "made.a").write_bytes(content)
    if fits:
        found = SLIM(tmp_path / "made.a", tmp_path / "out.a", "made.a")
        assert found
        assert found.after < found.before / 2
        return
    with pytest.raises(FormatError, match="archives are nested more than 4 deep"):
        SLIM(tmp_path / "made.a", tmp_path / "out.a", "made.a")


def test_a_table_of_64_bits_of_darwin_is_named(objects: list[str], tmp_path: Path) -> None:
    subprocess.run(
        [LLVM_AR, "--format=darwin", "rcs", "made.a", *objects], cwd=tmp_path, check=True
    )
    content = (tmp_path / "made.a").read_bytes()
    (tmp_path / "made.a").write_bytes(content.replace(b"__.SYMDEF\0\0\0", b"__.SYMDEF_64"))
    with pytest.raises(FormatError, match="archive at 0x8 has a table of symbols of an unknown"):
        SLIM(tmp_path / "made.a", tmp_path / "out.a", "made.a")


def index(path: Path) -> list[str]:
    """Return the lines of the archive's table of symbols."""
    text = run("llvm-nm-19", "-M", path)
    return text.partition("Archive map\n")[2].partition("\n\n")[0].splitlines()


def listing(path: Path) -> list[str]:
    """Return the lines of ar's listing."""
    return run(AR, "tv", path).splitlines()
