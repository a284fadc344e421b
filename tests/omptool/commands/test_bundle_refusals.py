# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool bundle` and `omptool emit`: bad inputs, and outputs that cannot be written."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from bundle_inputs import HOST, PTX, TRIPLE, compile_object, made
from places import INCLUDE
from toolchain import omptool


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("bundle"))


def test_a_relocation_of_no_symbol_is_named(work: Path, tmp_path: Path) -> None:
    from packager.elf.headers import RELA, SHT_RELA, read
    from packager.files.reader import Reader

    data = bytearray((work / "host.o").read_bytes())
    at = next(s.offset for s in read(Reader(bytes(data))).sections if s.type == SHT_RELA)
    place, kind, addend = RELA.unpack_from(data, at)
    RELA.pack_into(data, at, place, 0xFFFFFFFF << 32 | kind & 0xFFFFFFFF, addend)
    (tmp_path / "host.o").write_bytes(data)
    image = ("--image", f"{TRIPLE}={work}/image.so", "-o", tmp_path / "out.o")
    done = omptool("bundle", tmp_path / "host.o", *image)
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "symbol 4294967295" in done.stderr


def test_relocations_that_are_not_read_are_said(work: Path, tmp_path: Path) -> None:
    compact = "-Wa,--crel,--allow-experimental-crel"
    words = ["clang-19", f"-I{INCLUDE}", compact, "-c", f"{work}/host.c"]
    subprocess.run([*words, "-o", tmp_path / "host.o"], check=True)
    image = ("--image", f"{TRIPLE}={work}/image.so", "-o", tmp_path / "out.o")
    done = omptool("bundle", tmp_path / "host.o", *image)
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "section omptarget_entries has CREL relocations, which are not supported" in done.stderr


@pytest.mark.parametrize(("names", "fault"), [("gone", "is in no image"), ("f\nf", "twice")])
def test_emit_names_the_list_that_is_at_fault(
    work: Path, tmp_path: Path, names: str, fault: str
) -> None:
    from packager.hosts.load import load

    image = f"{TRIPLE}={work}/image.so"
    known = load(work / "image.so").images[0].symbols[0].name
    listed = tmp_path / "names.txt"
    listed.write_text(names.replace("f", known))
    done = omptool("emit", "--image", image, "--entries", listed, "-o", tmp_path / "out.o")
    assert done.exit_code == 2
    assert done.stderr.startswith(f"Error: {listed}: ")
    assert fault in done.stderr


def test_existing_output_keeps_its_mode_and_link(work: Path, tmp_path: Path) -> None:
    real, out = tmp_path / "real.o", tmp_path / "out.o"
    real.write_text("old")
    real.chmod(0o640)
    out.symlink_to(real)
    arguments = ("bundle", work / "host.o", "--image", f"{TRIPLE}={work}/image.so", "-o", out)
    assert omptool(*arguments).exit_code == 0
    assert out.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert real.read_bytes()[:4] == b"\x7fELF"


BAD = [
    pytest.param(["missing.o"], {}, 2, "missing.o: No such file or directory", id="no-host"),
    pytest.param(["."], {}, 2, "is a directory", id="host-is-directory"),
    pytest.param(["empty"], {}, 2, "empty: is empty", id="host-is-empty"),
    pytest.param(["image.so"], {}, 2, "has no omptarget_entries section", id="host-is-linked"),
    pytest.param(["plain.o"], {}, 2, "has no omptarget_entries section", id="no-entries"),
    pytest.param(
        ["host.o", "--entries", "auto"], {}, 2, "has an omptarget_entries section", id="two-tables"
    ),
    pytest.param(["host.o"], {"image": "image.so"}, 2, "is not TRIPLE[:ARCH]=", id="image-form"),
    pytest.param(
        ["host.o"], {"image": f"{TRIPLE}=gone"}, 2, "gone: No such file", id="no-image"
    ),
    pytest.param(["host.o"], {"image": f"{TRIPLE}=empty"}, 2, "is empty", id="empty-image"),
    pytest.param(
        ["host.o"], {"image": "nvptx64-nvidia-cuda=image.so"}, 1, "OMP110", id="other-machine"
    ),
    pytest.param(
        ["host.o", "--image", "amd64-linux={work}/image.so"], {}, 2, "two images for", id="twice"
    ),
    pytest.param(
        ["plain.o", "--entries", "names"], {}, 2, "near: first", id="unknown-entry"
    ),
    pytest.param(["plain.o", "--entries", "empty"], {}, 2, "lists no entry", id="empty-list"),
    pytest.param(["plain.o", "--entries", "gone"], {}, 2, "gone: No such file", id="no-list"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "how", "code", "message"), BAD)
def test_bad_input_is_one_line(
    work: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    how: dict[str, str],
    code: int,
    message: str,
) -> None:
    monkeypatch.chdir(work)
    (work / "empty").write_text("")
    (work / "names").write_text("firsst\n")
    image = how.get("image", f"{TRIPLE}=image.so")
    arguments = [argument.format(work=work) for argument in arguments]
    done = omptool("bundle", *arguments, "--image", image, "-o", tmp_path / "out.o")
    assert done.exit_code == code, done.output
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["bundle", "emit"])
@pytest.mark.parametrize(("out", "message"), [
    pytest.param("folder", "is a directory", id="directory"),
    pytest.param("/dev/null", "is not a regular file", id="device"),
    pytest.param("gone/out.o", "No such file or directory", id="no-folder"),
])  # fmt: skip
def test_unwritable_output_is_one_line(
    work: Path, tmp_path: Path, command: str, out: str, message: str
) -> None:
    (tmp_path / "folder").mkdir()
    host = [work / "host.o"] if command == "bundle" else []
    done = omptool(command, *host, "--image", f"{TRIPLE}={work}/image.so", "-o", tmp_path / out)
    assert done.exit_code == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_pipe_is_no_output(work: Path) -> None:
    ends = os.pipe()
    done = omptool("emit", "--image", f"{TRIPLE}={work}/image.so", "-o", f"/dev/fd/{ends[1]}")
    for end in ends:
        os.close(end)
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "is not a regular file" in done.stderr


def test_a_response_file_has_words(work: Path, tmp_path: Path) -> None:
    words = tmp_path / "words"
    words.write_text(f"--image '{TRIPLE}={work}/image.so'\n-o {tmp_path}/'an out.o'")
    assert omptool("bundle", work / "host.o", f"@{words}").exit_code == 0
    assert (tmp_path / "an out.o").exists()
    words.write_text(f"@{words}")
    done = omptool("emit", f"@{words}")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert f"{words}: more than 16 response files" in done.stderr


@pytest.mark.parametrize("clash", [["-o", "host.o"], ["-o", "image.so"], ["-o", "o", "-MD", "o"]])
def test_outputs_never_replace_other_files(work: Path, tmp_path: Path, clash: list[str]) -> None:
    for name in ("host.o", "image.so"):
        shutil.copy(work / name, tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    words = [str(tmp_path / word) if not word.startswith("-") else word for word in clash]
    image = f"{TRIPLE}={tmp_path}/image.so"
    done = omptool("bundle", tmp_path / "host.o", "--image", image, *words)
    assert done.exit_code == 2
    assert "would overwrite another file" in done.stderr
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("flags", [["-flto"], ["-flto", "-ffat-lto-objects"]])
def test_host_for_link_time_optimisation_is_refused(
    work: Path, tmp_path: Path, flags: list[str]
) -> None:
    host = compile_object(tmp_path, "lto", HOST, "-c", *flags)
    done = omptool("bundle", host, "--image", f"{TRIPLE}={work}/image.so", "-o", tmp_path / "o")
    assert done.exit_code == 2
    assert "was compiled with -flto" in done.stderr


def test_two_images_are_told_apart_by_their_bytes(work: Path, tmp_path: Path) -> None:
    ptx = tmp_path / "image.ptx"
    ptx.write_text(PTX)
    images = ["--image", f"nvptx64={ptx}", "--image", f"nvptx64:sm_75={ptx}"]
    done = omptool("bundle", work / "host.o", *images, "-o", tmp_path / "out.o")
    assert done.exit_code == 2
    assert "two images for nvptx64-nvidia-cuda:sm_75" in done.stderr


def test_symbolic_link_to_itself_is_one_line(work: Path, tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    image = f"{TRIPLE}={work}/image.so"
    done = omptool("bundle", work / "host.o", "--image", image, "-o", tmp_path / "loop")
    assert done.exit_code == 2
    assert "symbolic link to itself" in done.stderr


def test_bundling_twice_is_refused(work: Path, tmp_path: Path) -> None:
    image = f"{TRIPLE}={work}/image.so"
    once = tmp_path / "once.o"
    assert omptool("bundle", work / "host.o", "--image", image, "-o", once).exit_code == 0
    done = omptool("bundle", once, "--image", image, "-o", tmp_path / "twice.o")
    assert done.exit_code == 2
    assert "already holds device images" in done.stderr
