# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Folders: the files that are slimmed, those that stay, and the RECORDs of what pip installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import fatbins
import pytest
from made_wheels import LIBRARY, made_wheel
from shortened import ARCHS, image

from packager.errors import UsageError
from packager.slimming.keeps import named
from packager.slimming.packages.installed import Records, files
from packager.slimming.packages.record import hashed
from packager.slimming.paths import Result, slim_folder
from packager.slimming.request import Request


def test_links_and_small_files_are_left_out(tmp_path: Path) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "folder"
    outside.mkdir()
    (folder / "b").mkdir(parents=True)
    (outside / "out.so").write_bytes(LIBRARY)
    (folder / "b" / "one.so").write_bytes(LIBRARY)
    (folder / "a.so").write_bytes(LIBRARY)
    (folder / "text").write_text("text" * 99)
    (folder / "short").write_bytes(LIBRARY[:4])
    (folder / "leads-out").symlink_to(outside)
    (folder / "link.so").symlink_to(outside / "out.so")
    os.mkfifo(folder / "pipe")
    assert [(one.path, one.reason) for one in files(folder)] == [
        (folder / "a.so", ""),
        (folder / "b" / "one.so", ""),
    ]


def test_hard_links_and_running_programs_stay(tmp_path: Path) -> None:
    (tmp_path / "one.so").write_bytes(LIBRARY)
    (tmp_path / "two.so").hardlink_to(tmp_path / "one.so")
    sleeping = tmp_path / "sleeping"
    shutil.copy("/bin/sleep", sleeping)
    with subprocess.Popen([sleeping, "60"]) as process:
        found = {one.path.name: one.reason for one in files(tmp_path)}
        process.kill()
    linked = "has 2 names (hard links), and would be stored twice"
    assert found == {"one.so": linked, "two.so": linked, "sleeping": "is a program that runs"}


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read .*missing"):
        list(files(tmp_path / "missing"))


@pytest.mark.slow
def test_records_of_what_pip_installed_are_right(tmp_path: Path) -> None:
    site = tmp_path / "lib" / "site-packages"
    pip = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--target"]
    subprocess.run([*pip, site, made_wheel(tmp_path)], check=True, capture_output=True)
    changed = site / "made" / "stored.so"
    records = Records(site / "made")  # the RECORD lies beside the folder
    changed.write_bytes(LIBRARY[:999])
    records.change(changed)
    records.change(tmp_path / "of no distribution")
    records.write()
    rows = (site / "made-1.dist-info" / "RECORD").read_text().splitlines()
    assert f"made/stored.so,{hashed(changed).digest},999" in rows
    assert len(rows) == len(set(rows))


def site(folder: Path, **records: str) -> Path:
    """Make a folder with two fat binaries, and RECORDs of distributions."""
    made = folder / "site"
    made.mkdir()
    for name in ("a.fatbin", "b.fatbin"):
        (made / name).write_bytes(fatbins.fatbin(*(image(arch, arch) for arch in ARCHS)))
    for name, content in records.items():
        (made / f"{name}-1.dist-info").mkdir()
        (made / f"{name}-1.dist-info/RECORD").write_bytes(content.encode())
    return made


def slimmed(folder: Path) -> list[Result]:
    """Slim the files of a folder."""
    return list(slim_folder(folder, Request(named(["sm_90"])), lambda _: None))


def row(path: Path, name: str = "") -> str:
    """Return the row of a file in RECORD."""
    found = hashed(path)
    return f"{name or path.name},{found.digest},{found.size}"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a.fatbin,x,1\n", "{a}\n"),
        ("a.fatbin,x,1\r\nb c,d,2\r\n", "{a}\r\nb c,d,2\r\n"),
        ("a.fatbin,x,1\rb,,\r", "{a}\rb,,\r"),
        ("\n#\na.fatbin,x\n\u2028,d,2\n", "\n#\n{a}\n\u2028,d,2\n"),
        ("a.fatbin,x,1\na.fatbin,y,2\n", "{a}\n{a}\n"),
        ("../site/a.fatbin,x,1\n../../bin/b,,", "{up}\n../../bin/b,,"),
    ],
)
def test_rows_of_any_form(tmp_path: Path, before: str, after: str) -> None:
    folder = site(tmp_path, one=before, two="a.fatbin,x,1\n")  # both have the file
    slimmed(folder)
    a, up = (row(folder / "a.fatbin", name) for name in ("", "../site/a.fatbin"))
    one, two = ((folder / f"{name}-1.dist-info/RECORD").read_bytes() for name in ("one", "two"))
    assert one.decode() == after.format(a=a, up=up)
    assert two.decode() == f"{a}\n"


def test_records_of_others_stay(tmp_path: Path) -> None:
    """A link out of the folder is not followed, and a pipe not waited for."""
    too_long = '"' + "x" * 200_000 + '"\n'
    folder = site(tmp_path, a="b.fatbin,x,1\n", b=f"a.fatbin,x,1\n{too_long}")
    outside = tmp_path / "outside"
    outside.write_text("a.fatbin,x,1\n")
    for name in ("link", "pipe"):
        (folder / f"{name}-1.dist-info").mkdir()
    (folder / "link-1.dist-info/RECORD").symlink_to(outside)
    os.mkfifo(folder / "pipe-1.dist-info/RECORD")
    found = slimmed(folder)
    other = "is no file of this folder, so hashes in it stay"
    assert {one.path.parent.name: one.reason for one in found if one.reason} == {
        "b-1.dist-info": "RECORD is no table of files in UTF-8: "
        "field larger than field limit (131072)",
        "link-1.dist-info": other,
        "pipe-1.dist-info": other,
    }
    assert outside.read_text() == "a.fatbin,x,1\n"
    assert (folder / "a-1.dist-info/RECORD").read_text() == f"{row(folder / 'b.fatbin')}\n"


def test_one_record_that_cannot_be_written(tmp_path: Path) -> None:
    folder = site(tmp_path, a="a.fatbin,x,1\n", b="b.fatbin,x,1\n")
    (path,) = folder.glob("a-*/RECORD")

    def gone(seen: Path) -> None:
        path.unlink(missing_ok=seen.name == "b.fatbin")

    with pytest.raises(FileNotFoundError):
        list(slim_folder(folder, Request(named(["sm_90"])), gone))
    assert (folder / "b-1.dist-info/RECORD").read_text() == f"{row(folder / 'b.fatbin')}\n"


def test_a_file_that_vanishes(tmp_path: Path) -> None:
    folder = site(tmp_path)

    def gone(seen: Path) -> None:
        seen.unlink() if seen.name == "a.fatbin" else None

    found = list(slim_folder(folder, Request(named(["sm_90"])), gone))
    assert [one.reason for one in found] == ["No such file or directory", ""]


def test_a_folder_that_vanishes(tmp_path: Path) -> None:
    folder = site(tmp_path)
    for name in ("c", "d"):
        (folder / name).mkdir()
        shutil.copy(folder / "b.fatbin", folder / name)

    def gone(seen: Path) -> None:
        if seen.name == "a.fatbin":
            shutil.rmtree(folder / "c")

    found = list(slim_folder(folder, Request(named(["sm_90"])), gone))
    assert [one.path.relative_to(folder).as_posix() for one in found] == [
        "a.fatbin",
        "b.fatbin",
        "d/b.fatbin",
    ]


def test_folders_deeper_than_calls(tmp_path: Path) -> None:
    """A path has at most 4096 bytes on Linux."""
    depth = 1500
    place = os.open(tmp_path, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=place)
        inner = os.open("d", os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = inner
    os.close(place)
    try:
        assert list(files(tmp_path)) == []
    finally:
        subprocess.run(["rm", "-rf", tmp_path / "d"], check=True)  # shutil calls itself
