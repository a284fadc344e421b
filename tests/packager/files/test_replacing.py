# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Output that replaces a file, and attributes of that file that stay."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from packager.files.replacing import replacing

NOBODY = 65534


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize(("given", "expected"), [(None, 0o444), (0o555, 0o555)])
def test_a_file_that_nobody_may_write_is_replaced(
    tmp_path: Path, given: int | None, expected: int
) -> None:
    """The new bytes can be written; the file then is read-only again."""
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(0o444)
    with replacing(path, given) as temporary:
        assert mode(temporary) & 0o600 == 0o600
        temporary.write_text("new")
    assert (path.read_text(), mode(path)) == ("new", expected)


@pytest.mark.skipif(os.geteuid() != 0, reason="files are given away by root alone")
def test_a_file_keeps_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()
    os.chown(path, NOBODY, NOBODY)
    with replacing(path):
        pass
    assert (path.stat().st_uid, path.stat().st_gid) == (NOBODY, NOBODY)


@pytest.fixture
def linked(tmp_path: Path) -> tuple[Path, Path]:
    """Provide a symlink in its own folder, and its target."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    victim.chmod(0o640)
    folder = tmp_path / "folder"
    folder.mkdir(mode=0o755)
    (folder / "out").symlink_to(victim)
    return folder / "out", victim


def write(path: Path) -> None:
    with replacing(path) as temporary:
        temporary.write_text("new")


def test_a_link_of_a_private_folder_keeps_its_target(linked: tuple[Path, Path]) -> None:
    link, victim = linked
    write(link)
    assert link.is_symlink()
    assert (victim.read_text(), mode(victim)) == ("new", 0o640)


@pytest.mark.parametrize("bits", [0o775, 0o757, 0o777, 0o1777])
def test_a_link_is_replaced_where_others_may_write(linked: tuple[Path, Path], bits: int) -> None:
    link, victim = linked
    link.parent.chmod(bits)
    write(link)
    assert not link.is_symlink()
    assert (link.read_text(), victim.read_text()) == ("new", "precious")
    (plain := link.with_name("plain")).touch()
    assert mode(link) == mode(plain)
    plain.unlink()
    assert [path.name for path in link.parent.iterdir()] == ["out"]


@pytest.mark.skipif(os.geteuid() != 0, reason="folders are given away by root alone")
def test_a_link_is_replaced_in_a_folder_of_another_user(linked: tuple[Path, Path]) -> None:
    link, victim = linked
    os.chown(link.parent, NOBODY, NOBODY)
    write(link)
    assert (link.read_text(), link.stat().st_uid, victim.read_text()) == ("new", 0, "precious")


def test_a_chain_of_links_is_followed_up_to_a_shared_folder(linked: tuple[Path, Path]) -> None:
    link, victim = linked
    link.parent.chmod(0o777)
    first = victim.parent / "first"
    first.symlink_to(link)
    write(first)
    assert first.is_symlink()
    assert (link.is_symlink(), link.read_text(), victim.read_text()) == (False, "new", "precious")


@pytest.mark.parametrize("target", [".", "/dev/null", "missing", "out"])
def test_a_shared_folder_s_link_leads_nowhere(linked: tuple[Path, Path], target: str) -> None:
    link, _ = linked
    link.unlink()
    link.symlink_to(target)
    link.parent.chmod(0o777)
    write(link)
    assert (link.is_symlink(), link.read_text()) == (False, "new")


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="there is no /proc")
def test_a_link_in_the_place_of_the_new_file_is_not_written_through(
    linked: tuple[Path, Path],
) -> None:
    """Whoever may write to the folder sees the new file's name, and may be quick."""
    link, victim = linked
    link.parent.chmod(0o777)
    with replacing(link, 0o600) as temporary:
        (named,) = (path for path in link.parent.iterdir() if path != link)
        named.unlink()
        named.symlink_to(victim)
        temporary.write_text("new")
    assert (victim.read_text(), mode(victim)) == ("precious", 0o640)
