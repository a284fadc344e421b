# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files that are no ELF executables or libraries for this machine, and damaged ones."""

from __future__ import annotations

import re
import shutil
import struct
from pathlib import Path

import aarch64
import cuda
import pytest
import shortened
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from machine import output
from products import Products
from shortened import IMAGE, expected, kept, printed, program, segments, shrunk

from packager.elf import headers
from packager.errors import FormatError, PackagerError
from packager.files.reader import open_reader
from packager.slimming.elf.shrink import shrink
from packager.slimming.pieces import Piece, Rewritten

pytestmark = pytest.mark.slow
REMOVED = 2 * (IMAGE + 64)


def objects(folder: Path, source: str, *options: str) -> Path:
    """Compile an object of a C source."""
    (folder / "source.c").write_text(source)
    out = folder / "object.o"
    output("gcc", "-c", *options, folder / "source.c", "-o", out)
    return out


def one_fatbin(products: Products, folder: Path) -> Path:
    """Compile an object with one fat binary, like a compiler's for one source."""
    blob = program(products, "pie").with_name("0")
    return objects(folder, FATBIN.format(blob=blob), "-g")


FATBIN = """
__asm__(".section .nv_fatbin,\\"a\\"\\n.balign 8\\nfatbinData: .incbin \\"{blob}\\"\\n"
        ".size fatbinData, . - fatbinData\\n.text\\n");
extern const unsigned char fatbinData[] __attribute__((visibility("hidden")));
__attribute__((section(".nvFatBinSegment"))) struct {{ unsigned magic, version;
  const void *data; void *other; }} wrapper = {{0x466243b1, 1, fatbinData, 0}};
#include <stdio.h>
int main(void) {{ printf("%d %x\\n", fatbinData[9] * 256 + fatbinData[8], fatbinData[100]); }}
"""


def test_an_object_becomes_shorter(products: Products, tmp_path: Path) -> None:
    compiled = one_fatbin(products, tmp_path)
    out = tmp_path / "slim.o"
    done = shrunk(compiled, {70}, out)
    assert done.after == out.stat().st_size <= done.before - REMOVED + 16
    assert done.zeroed == ()
    for path in (compiled, out):
        output("gcc", "-fPIE", path, "-o", path.with_suffix(".app"))
    whole, slim = (output(path.with_suffix(".app")).split() for path in (compiled, out))
    assert int(whole[0]) == 3 * (IMAGE + 64) & 0xFFFF
    assert int(slim[0]) == IMAGE + 64
    assert whole[1] == slim[1]
    assert output("readelf", "-aW", out)
    assert f"{IMAGE + 64 + 16} NOTYPE" in " ".join(output("readelf", "-sW", out).split())
    assert not shrunk(out, {70}, out).is_changed


def test_several_containers_of_an_object_move(products: Products, tmp_path: Path) -> None:
    """Addends of relocations lead to the containers: a link of objects left one section symbol."""
    blobs = program(products, "pie").parent
    compiled, out = tmp_path / "three.o", tmp_path / "slim.o"
    output("gcc", "-c", "-O1", "-fPIE", f"-DBLOBS={blobs}", shortened.SOURCE, "-o", compiled)
    for number, path in enumerate((compiled, tmp_path / "strip.o")):
        if number:
            output("strip", "-x", compiled, "-o", path)
        done = shrunk(path, {90}, out)
        assert done.zeroed == ()
        assert done.after == out.stat().st_size <= done.before - 3 * REMOVED + 16
        app = tmp_path / "app"
        output("gcc", out, "-o", app)
        assert printed(app) == expected(printed(program(products, "pie")), {90})
        assert not shrunk(out, {90}, out).is_changed


def test_a_section_of_an_object_has_no_zeros_behind(products: Products, tmp_path: Path) -> None:
    """Readers of OffloadBinaries mistake zeros for another one."""
    compiled, out = one_fatbin(products, tmp_path), tmp_path / "slim.o"
    (whole,) = kept(compiled, set(shortened.ARCHS))
    *pieces, last = whole.pieces
    fewer = (*pieces, last._replace(size=last.size - 8))
    done = shrink(compiled, [whole._replace(pieces=fewer)], out)
    assert (done.after, done.zeroed, done.is_changed) == (done.before, (), True)
    with open_reader(out) as data:
        (section,) = headers.read(data).named(".nv_fatbin")
        assert section.size == whole.size - 8


@pytest.mark.parametrize(
    ("option", "reason"),
    [("-DINSIDE", "inside a container"), ("-DBETWEEN", "behind the last container")],
)
def test_containers_that_must_not_move_stay_in_an_object(
    products: Products, tmp_path: Path, option: str, reason: str
) -> None:
    blobs = program(products, "pie").parent
    compiled = tmp_path / "three.o"
    output("gcc", "-c", option, f"-DBLOBS={blobs}", shortened.SOURCE, "-o", compiled)
    output("strip", "-x", compiled)
    done = shrunk(compiled, {90}, tmp_path / "slim.o")
    assert done.after == done.before
    assert reason in done.zeroed[0].reason


def test_less_than_a_page_stays(products: Products, tmp_path: Path) -> None:
    app = program(products, "pie")
    first, *others = kept(app, set(shortened.ARCHS))
    *pieces, last = first.pieces
    fewer = (*pieces, last._replace(size=last.size - 8))
    done = shrink(app, [first._replace(pieces=fewer), *others], tmp_path / "app")
    assert done.zeroed == ((".nv_fatbin", "less than a page is free"),)
    assert (done.is_changed, done.after) == (True, done.before)


def test_bytes_behind_a_file_stay(products: Products, tmp_path: Path) -> None:
    """A note reports that an appended signature is void. Offsets beyond 2 GiB are copied."""
    app, out = Path(shutil.copy(program(products, "pie"), tmp_path / "app")), tmp_path / "out"
    size = app.stat().st_size
    with app.open("r+b") as file:
        file.truncate(3 << 30)
        file.seek(0, 2)
        file.write(b"signature")
    done = shrunk(app, {90}, out)
    assert done.after == out.stat().st_size == app.stat().st_size - done.holes[0].size
    with out.open("rb") as file:
        file.seek(-9, 2)
        assert file.read() == b"signature"
    assert f"{app.stat().st_size - size} bytes are kept behind the ELF file" in done.notes[-1]
    assert out.stat().st_blocks < app.stat().st_size // 512
    assert printed(out) == expected(printed(app), {90})


def test_bytes_outside_elf_become_zeros(tmp_path: Path) -> None:
    path, out = tmp_path / "library.dll", tmp_path / "out.dll"
    path.write_bytes(b"MZ" + bytes(range(256)) * 64)
    container = Rewritten(0x100, 0x2000, 8, (Piece(-1, 4, b"head"), Piece(0x1000, 16)))
    done = shrink(path, [container], out)
    before, after = path.read_bytes(), out.read_bytes()
    assert after[0x100:0x104] == b"head"
    assert after[0x104:0x114] == before[0x1000:0x1010]
    assert after[0x114:0x2100] == bytes(0x2100 - 0x114)
    assert (after[:0x100], after[0x2100:]) == (before[:0x100], before[0x2100:])
    assert done.zeroed == (("", "the container at 0x100 is in no section of ELF"),)
    assert not shrink(out, [container._replace(pieces=(Piece(0x100, 20),))], out).is_changed


def test_without_section_headers_bytes_become_zeros(products: Products, tmp_path: Path) -> None:
    app = program(products, "pie")
    bare, out = tmp_path / "bare", tmp_path / "out"
    output("llvm-objcopy-19", "--strip-sections", app, bare)
    with open_reader(app) as data, open_reader(bare) as stripped:
        (section,) = headers.read(data).named(".nv_fatbin")
        at = headers.read(stripped).offset(section.address)
        assert at is not None
        rows = [r for s in [at] for r in shortened.of_range(stripped, s, s + section.size, {90})]
    done = shrink(bare, rows, out)
    assert done.after == done.before
    assert done.zeroed[0].reason.endswith("is in no section of ELF")
    assert printed(out) == expected(printed(app), {90})


@pytest.mark.parametrize(
    ("container", "message"),
    [
        (Rewritten(1 << 40, 8, 8, ()), "container at 0x10000000000..0x10000000008 runs past"),
        (Rewritten(64, 8, 3, ()), "container at 0x40 has the alignment 3"),
        (Rewritten(64, 8, 8, (Piece(-1, 8, b""),)), "a piece of 8 bytes without them"),
        (Rewritten(64, 8, 8, (Piece(0, 9),)), "container at 0x40 of 8 bytes would grow to 9"),
        (Rewritten(64, 8, 8, (Piece(1 << 40, 8),)), "piece of a container at 0x10000000000"),
        (Rewritten(64, 80, 8, ()), "containers at 0x40 and 0x80 overlap"),
    ],
)
def test_an_unsound_container_is_one_line(
    products: Products, tmp_path: Path, container: Rewritten, message: str
) -> None:
    rows = [container, Rewritten(0x80, 8, 8, ())]
    with pytest.raises(FormatError, match=re.escape(message)):
        shrink(program(products, "pie"), rows, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("linker", aarch64.LINKERS)
def test_holes_have_the_largest_page_of_aarch64(
    products: Products, tmp_path: Path, linker: str
) -> None:
    blobs = program(products, "pie").parent
    for more in ((), ("-shared",)):
        app, out = tmp_path / "app", tmp_path / "out"
        options = ("-O1", "-fPIC", f"-DBLOBS={blobs}", *more)
        aarch64.needs_tools()
        output(*aarch64.driver(linker), *options, shortened.SOURCE, "-o", app)
        done = shrunk(app, {90}, out)
        assert [hole.size % 0x10000 for hole in done.holes] == [0]
        assert done.zeroed == ()
        if more:
            continue
        for page in aarch64.PAGES:
            before, after = (output(*aarch64.QEMU, "-p", page, path) for path in (app, out))
            assert after == expected(before, {90})


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_damaged_file_is_an_error_or_shortened(
    products: Products, tmp_path: Path, data: st.DataObject
) -> None:
    """Damage yields one of our errors or a result, and no other file."""
    link = data.draw(st.sampled_from(("pie", "no-pie", "lld-relr", "mold-library")))
    app = program(products, link)
    content = bytearray(app.read_bytes())
    (at,) = struct.unpack_from("<Q", content, 0x28)
    dynamic = next(s for s in segments(app) if s.type == headers.PT_DYNAMIC)
    places = [(0, 0x40 + 14 * 56), (at, len(content)), (0x300, 0x1000)]
    places.append((dynamic.offset, dynamic.end))
    containers = kept(app, {90})
    for _ in range(data.draw(st.integers(1, 3))):
        begin, end = data.draw(st.sampled_from(places))
        place = data.draw(st.integers(begin, end - 1))
        new = data.draw(st.binary(min_size=1, max_size=8) | st.just(b"\xff" * 8))
        content[place : place + len(new)] = new
    damaged, out = tmp_path / "damaged", tmp_path / "out"
    damaged.write_bytes(content)
    try:
        done = shrink(damaged, containers, out)
        assert done.after == out.stat().st_size
    except PackagerError:
        assert not out.exists()
    out.unlink(missing_ok=True)
    assert {path.name for path in tmp_path.iterdir()} == {"damaged"}


@pytest.mark.parametrize("options", [(), ("-rdc=true",)])
def test_objects_of_nvcc_have_what_is_kept(tmp_path: Path, options: tuple[str, ...]) -> None:
    archs = ("sm_80", "sm_90", "sm_120")
    made, out = tmp_path / "whole.o", tmp_path / "slim.o"
    cuda.compiled(tmp_path / "kernel.cu", made, "-c", *options, *cuda.code_for(*archs))
    done = shrunk(made, {90}, out)
    assert (done.zeroed, done.is_changed) == ((), True)
    assert done.after < done.before
    before, after = (cuda.extracted(p, tmp_path / p.stem) for p in (made, out))
    assert after.keys() == {digest for digest, name in before.items() if "sm_90" in name}
    assert not shrunk(out, {90}, out).is_changed
