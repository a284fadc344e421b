# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The source files of kernels, from the debug information of every compiler."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import Any

import gccs
import pytest
from builds import some_clangs
from clangs import INSTALLED, compiler
from documents import document
from fatbins import entry, fatbin
from places import DATA, TESTS
from toolchain import HOST, MAIN, OPENMP, X86_64, bundled, compile_c, omptool, run

from packager.dwarf import declared
from packager.dwarf.cursor import Cursor
from packager.dwarf.declared import places
from packager.dwarf.place import Place
from packager.elf import headers
from packager.errors import FormatError, LimitError
from packager.files.reader import Reader

pytestmark = pytest.mark.slow

FORMS = {
    "5": ("-gdwarf-5",),
    "4": ("-gdwarf-4",),
    "3": ("-gdwarf-3",),
    "wide": ("-gdwarf-5", "-gdwarf64"),
    "compressed": ("-g", "-gz=zlib"),
    "lines-alone": ("-gline-tables-only", "-O2"),
    "lines-alone-4": ("-gline-tables-only", "-gdwarf-4"),
    "apart": ("-g", "-gsplit-dwarf"),
}


def program(version: str, folder: Path, *flags: str) -> Path:
    """Compile an OpenMP program whose source is in a folder of its own."""
    source = folder / "kernels" / "regions.c"
    source.parent.mkdir(exist_ok=True)
    source.write_text(OPENMP)
    out = folder / "program"
    run(*compiler(version, source), *flags, source, "-o", out)
    return out


def dumped(path: Path) -> dict[str, Any]:
    result = omptool("dump", "--json", path)
    assert result.exit_code == 0, result.output
    return dict(document("dump", result.stdout)["files"][0])


def sources(path: Path) -> set[tuple[str | None, int | None]]:
    """Return file and line of the kernels among the entries, which must equal the image's."""
    file = dumped(path)
    kernels = [entry for entry in file["entries"] if entry["kind"] == "kernel"]
    found = {(entry["file"], entry["line"]) for entry in kernels}
    (image, *_) = file["images"]
    assert {(kernel["file"], kernel["line"]) for kernel in image["sources"]} == found - {
        (None, None)
    }
    return found


@pytest.mark.parametrize("version", some_clangs(0))
def test_programs_of_every_clang(tmp_path: Path, version: str) -> None:
    path = program(version, tmp_path, "-g")
    source = str(tmp_path / "kernels" / "regions.c")
    assert sources(path) == {(source, 6), (source, 8)}
    for options in (("--kernels",), ("--entries",), ("--wide",)):
        assert omptool("dump", *options, path).stdout.count(source) == 2
    assert source not in omptool("dump", path).stdout  # debug information takes time to read


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_debug_information(tmp_path: Path, form: str) -> None:
    source = str(tmp_path / "kernels" / "regions.c")
    assert sources(program(INSTALLED, tmp_path, *FORMS[form])) == {(source, 6), (source, 8)}


@pytest.mark.parametrize("form", ["zlib-gnu", "zlib"])
def test_sections_that_binutils_compressed(tmp_path: Path, image: bytes, form: str) -> None:
    path = tmp_path / "image.so"
    path.write_bytes(image)
    run("objcopy", f"--compress-debug-sections={form}", path)
    assert section(path.read_bytes(), ".zdebug_info" if form == "zlib-gnu" else UNITS)
    assert functions(path.read_bytes()) == 2


@pytest.mark.parametrize("version", some_clangs(1))
def test_objects_and_archives(tmp_path: Path, version: str) -> None:
    """The linker relocates references in the debug information."""
    path = program(version, tmp_path, "-c", "-g" if version == "22" else "-gdwarf-4")
    expected = {(str(tmp_path / "kernels" / "regions.c"), line) for line in (6, 8)}
    assert sources(path) == expected
    run("ar", "rcs", tmp_path / "library.a", path)
    assert sources(tmp_path / "library.a") == expected


def test_a_host_without_debug_information_and_the_other_way_round(tmp_path: Path) -> None:
    path = program(INSTALLED, tmp_path, "-g")
    expected = sources(path)
    run("strip", "-g", path, "-o", tmp_path / "stripped")
    assert sources(tmp_path / "stripped") == expected
    plain = program(INSTALLED, tmp_path)
    assert sources(plain) == {(None, None)}


def test_debug_information_is_read_for_what_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = program(INSTALLED, tmp_path, "-g")
    of: list[int] = []

    def counted(elf: headers.Elf, names: Collection[str]) -> dict[str, Place]:
        of.append(len(names))
        return places(elf, names)

    monkeypatch.setattr(declared, "places", counted)
    assert "regions.c" in omptool("dump", "--entries", path).stdout
    read = len(of)
    assert read
    for options in (
        ["--no-source", "--kernels", "--entries", "--wide", "--json"],
        ["--images", "--descriptors", "--wide"],
        ["--summary"],
        [],
    ):
        assert omptool("dump", *options, path).exit_code == 0
    assert omptool("dump", "--kernels", "--kernel", "no such kernel", path).exit_code == 1
    assert len(of) == read
    assert "regions.c" in omptool("dump", "--json", path).stdout
    assert len(of) > read


def test_alternatives_are_of_one_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Images of one container share their sources, which are read once."""
    of: list[int] = []

    def counted(elf: headers.Elf, names: Collection[str]) -> dict[str, Place]:
        of.append(len(names))
        return places(elf, names)

    monkeypatch.setattr(declared, "places", counted)
    image = entry(2, (DATA / "debug.cubin").read_bytes())
    path = tmp_path / "two.fatbin"
    path.write_bytes(fatbin(image, image) + fatbin(image))
    one, two, other = dumped(path)["images"]
    assert one["sources"]
    assert one["sources"] == two["sources"] == other["sources"]
    assert len(of) == 2


def test_an_address_is_told_with_its_source(tmp_path: Path) -> None:
    path = program(INSTALLED, tmp_path, "-g")
    (entry, *_) = [entry for entry in dumped(path)["entries"] if entry["kind"] == "kernel"]
    result = omptool("dump", "--address", hex(entry["address"]), path)
    assert f", from {tmp_path}/kernels/regions.c:6\n" in result.stdout


def test_paths_relative_to_where_it_was_compiled(tmp_path: Path) -> None:
    (tmp_path / "near.c").write_text(OPENMP)
    flags = ("-g", "-fopenmp", f"-fopenmp-targets={X86_64}")
    run("env", "-C", tmp_path, "clang-19", *flags, "near.c", "-o", "near")
    assert {file for file, _ in sources(tmp_path / "near")} == {str(tmp_path / "near.c")}


@pytest.mark.parametrize("flags", [("-gdwarf-5",), ("-gdwarf-4",), ("-gdwarf-2", "-gstrict-dwarf")])
def test_functions_of_gcc(tmp_path: Path, flags: tuple[str, ...]) -> None:
    """The interface documents' hosts are compiled by any compiler."""
    host = compile_c(HOST + MAIN, tmp_path / "host.o", "-c", "-fPIC")
    image = compile_c(HOST, tmp_path / "image.so", "-shared", "-fPIC", *flags)
    out = bundled(host, tmp_path / "bundled.o", {X86_64: image})
    assert {file for file, _ in sources(out)} == {str(tmp_path / "image.so.c")}
    assert {line for _, line in sources(out)} == {4, 5}


@pytest.mark.parametrize(("triple", "dot"), [(gccs.NVPTX, r"\$"), (gccs.GCN, r"\.")])
def test_gcc_offload_programs(tmp_path: Path, triple: str, dot: str) -> None:
    """GCC's kernels are nested in the functions that they are from."""
    path = gccs.compiled(OPENMP, tmp_path / "program", "-g", targets=[triple])
    source = str(tmp_path / "program.c")
    assert sources(path) == {(source, None)}
    shown = omptool("dump", "--kernels", path).stdout
    name = dot.join(("main", "_omp_fn", r"\d+"))
    assert len(re.findall(rf"{name} +{re.escape(source)}", shown)) == 2


@pytest.mark.parametrize("kind", ["amdgcn", "ptx"])
def test_images_of_gpus(tmp_path: Path, kind: str) -> None:
    source, out = TESTS / "packager" / "dwarf" / "kernels.cl", tmp_path / f"image.{kind}"
    clang = ("clang-19", "-g", "-nogpulib", "-x", "cl", source, "-o", out)
    if kind == "amdgcn":
        run(*clang, "--target=amdgcn-amd-amdhsa", "-mcpu=gfx90a")
    else:
        run(*clang, "--target=nvptx64-nvidia-cuda", "-march=sm_80", "-S")
    (image,) = dumped(out)["images"]
    assert image["sources"] == [
        {"kernel": "first", "file": str(source), "line": 2},
        {"kernel": "second", "file": str(source), "line": 4},
    ]


def test_a_cubin() -> None:
    """A cubin of ptxas 13 (`-g -arch=sm_80`), of the PTX of that source in /source."""
    (image,) = dumped(DATA / "debug.cubin")["images"]
    assert image["sources"] == [
        {"kernel": "first", "file": "/source/kernels.cl", "line": 2},
        {"kernel": "second", "file": "/source/kernels.cl", "line": 4},
    ]


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return compile_image(tmp_path_factory.mktemp("debug"))


def compile_image(folder: Path, *flags: str) -> bytes:
    flags = ("-shared", "-fPIC", "-gdwarf-5", "-nostdlib", *flags)
    return compile_c(HOST, folder / "image.so", *flags, compiler="clang-19").read_bytes()


def section(data: bytes, name: str) -> headers.Section:
    (found,) = headers.read(Reader(data)).named(name)
    return found


UNITS, CODES, LINES = ".debug_info", ".debug_abbrev", ".debug_line"


@pytest.mark.parametrize(
    ("name", "at", "patch", "message"),
    [
        pytest.param(UNITS, 0, b"\xf0\xff\xff\x7f", "unit at 0x0 runs past the end", id="length"),
        pytest.param(UNITS, 0, b"\xff" * 12, "unit at 0x0 runs past the end", id="wide-length"),
        pytest.param(UNITS, 4, b"\x09", "of version 9 is not read", id="version"),
        pytest.param(UNITS, 8, b"\xff\xff\xff\x7f", "ends inside the value that", id="table"),
        pytest.param(UNITS, 12, b"\x7f", "entry at 0xd has code 127, unknown", id="code"),
        pytest.param(CODES, 4, b"\x7e", "values of the unknown form 0x7e", id="form"),
        pytest.param(LINES, 4, b"\x09", "line numbers of version 9 are not", id="line-version"),
        pytest.param(LINES, 0, b"\x10\0\0\0", "line ends inside the value", id="line-length"),
    ],
)
def test_one_wrong_field(
    tmp_path: Path, image: bytes, name: str, at: int, patch: bytes, message: str
) -> None:
    """The rest is shown all the same."""
    start = section(image, name).offset + at
    path = tmp_path / "image.so"
    path.write_bytes(image[:start] + patch + image[start + len(patch) :])
    file = dumped(path)
    assert file["images"][0]["kernels"] == ["first", "second"]
    (said,) = file["unsourced"]
    assert re.fullmatch(f"debug information of image 0: .*{message}.*", said)
    assert said in omptool("dump", "--kernels", path).stdout


def functions(data: bytes) -> int:
    return len(places(headers.read(Reader(data)), ["first", "second"]))


@pytest.mark.parametrize(
    ("flags", "name"),
    [
        *(((), name) for name in (UNITS, CODES, LINES, ".debug_str", ".debug_str_offsets")),
        (("-gline-tables-only",), LINES),
        (("-gline-tables-only", "-gdwarf-4"), LINES),
    ],
)
def test_every_byte_of_debug_information(tmp_path: Path, flags: list[str], name: str) -> None:
    """Each changed byte yields a FormatError, or a file that is not found."""
    image = compile_image(tmp_path, *flags)
    assert functions(image) == 2
    found = section(image, name)
    for at in range(found.offset, found.offset + min(found.size, 256)):
        for value in (0, 0x7F, 0xFF):
            data = image[:at] + bytes([value]) + image[at + 1 :]
            with suppress(FormatError):
                assert functions(data) <= 2


def test_what_is_larger_than_what_is_read(
    image: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("packager.dwarf.declared.MAX_SECTION", 100)
    with pytest.raises(LimitError, match=r"\.debug_info of \d+ bytes is larger than 100"):
        functions(image)
    monkeypatch.undo()
    monkeypatch.setattr("packager.dwarf.units.MAX_ENTRIES", 3)
    with pytest.raises(LimitError, match="of more than 3 entries is not read"):
        functions(image)
    monkeypatch.undo()
    monkeypatch.setattr("packager.dwarf.rows.MAX_INSTRUCTIONS", 3)
    with pytest.raises(LimitError, match="of more than 3 steps are not read"):
        functions(compile_image(tmp_path, "-gline-tables-only"))


def test_an_object_of_gcc(tmp_path: Path) -> None:
    data = compile_c(HOST, tmp_path / "host.o", "-c", "-g").read_bytes()
    assert functions(data) == 2
    table = section(data, ".rela.debug_info")
    start = headers.HEADER.unpack_from(data)[6]
    at = start + table.number * headers.SECTION_HEADER.size + 40  # sh_link of the table's header
    with pytest.raises(FormatError, match=r"rela\.debug_info: there is no section 255"):
        functions(data[:at] + b"\xff" + data[at + 1 :])


@pytest.mark.parametrize("read", [Cursor.leb, Cursor.string, lambda cursor: cursor.number(8)])
def test_a_cursor_stays_where_it_may(read: Callable[[Cursor], object]) -> None:
    with pytest.raises(FormatError, match="text"):
        read(Cursor(b"\xff" * 20, 16, "text", 17))
