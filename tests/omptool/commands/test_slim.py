# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool slim`: its words, tables, documents and exit codes, on libraries that shipped."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from zipfile import ZipFile

import pytest
from documents import document
from field_files import listed, unpacked
from made_wheels import made_wheel
from toolchain import omptool, run

from packager.slimming.packages.record import hashed

CUDA, ROCM = "jax-cuda13-plugin==0.10.2", "jax-rocm7-plugin==0.10.2"
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Provide the small libraries of JAX's plugins for CUDA and ROCm, by package."""
    folder = tmp_path_factory.mktemp("shipped")
    return {
        str(package): Path(shutil.copy(path, folder / str(package)))
        for package in listed(quick=True)
        if str(package) in (CUDA, ROCM)
        for _, path in unpacked(package)
    }


@pytest.fixture
def library(shipped: dict[str, Path], tmp_path: Path) -> Path:
    """Provide a copy of the library for CUDA."""
    return Path(shutil.copy(shipped[CUDA], tmp_path / "library.so"))


def archs(path: Path) -> set[str]:
    """Return the architectures of a file's images."""
    dumped = document("dump", omptool("dump", "--json", path).stdout)
    return {image["arch"] for one in dumped["files"] for image in one["images"]}


def test_the_file_gets_shorter_and_a_second_run_changes_nothing(
    library: Path, tmp_path: Path
) -> None:
    out, again = tmp_path / "out.so", tmp_path / "again.so"
    done = omptool("slim", library, "--keep", "sm_90", "-o", out)
    assert (done.exit_code, done.stderr) == (0, "")
    assert archs(out) == {"sm_90"} < archs(library)
    assert out.stat().st_size < library.stat().st_size
    assert "The licence of device code may forbid" in done.stdout
    done = omptool("slim", out, "--keep", "sm_90", "-o", again)
    assert "No file is changed." in done.stdout
    assert again.read_bytes() == out.read_bytes()


def test_a_dry_run_prints_the_same_and_writes_nothing(library: Path, tmp_path: Path) -> None:
    before = library.read_bytes()
    dry = omptool("slim", library, "--keep", "sm_90", "--dry-run", "--json")
    assert library.read_bytes() == before
    assert list(tmp_path.iterdir()) == [library]
    real = omptool("slim", library, "--keep", "sm_90", "--in-place", "--json")
    one, other = (document("slim", done.stdout) for done in (dry, real))
    assert one.pop("dry_run") is True
    assert other.pop("dry_run") is False
    assert one == other
    assert library.stat().st_size == other["files"][0]["after"] < len(before)


def test_where_nothing_is_kept_a_note_says_so(library: Path) -> None:
    done = omptool("slim", library, "--keep", "gfx942", "--dry-run")
    note = "no kept device has code here, so all device code goes"
    assert (done.exit_code, done.stderr) == (0, f"Note: {library}: {note}\n")


def test_files_without_device_code_are_named(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("hello\n")
    done = omptool("slim", text, "--keep", "sm_90", "--dry-run")
    assert (done.exit_code, done.stdout) == (0, f"{text}: no device code\n")


def test_an_output_that_is_the_input_is_wrong_usage(library: Path) -> None:
    done = omptool("slim", library, "--keep", "sm_90", "-o", library)
    assert done.exit_code == 2
    assert f"{library} is FILE itself: --in-place replaces it" in done.stderr


def test_where_a_gpu_would_have_no_code_nothing_is_written(library: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.so"
    done = omptool("slim", library, "--keep", "sm_90,sm_52", "-o", out)
    assert done.exit_code == 1
    assert f"Error: {library}: there is no code for sm_52, but for " in done.stderr
    assert not out.exists()


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--keep", "sm_90"], 2, "give -o, --in-place or --dry-run"),
        (["-", "--dry-run"], 2, "'-' is not supported here"),
        (["--dry-run"], 2, "--keep or --device must name the devices whose code stays"),
        (["--keep", "sm_9", "--dry-run"], 2, "no architecture has the name 'sm_9'; known names: "),
        (["--keep", "sm_90", "-o", "out", "--in-place"], 2, "-o excludes --in-place"),
        (["other", "--keep", "sm_90", "-o", "out"], 2, "-o takes one FILE"),
        (
            ["--device", "missing.json", "--dry-run"],
            2,
            "there is no device 'missing.json'; known",
        ),
        (["--device", "this", "--dry-run"], 3, "this machine has no GPU"),
    ],
)
def test_wrong_words_are_answered_by_a_line(
    words: list[str], code: int, message: str, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("omptool.probes.amd_kfd.processors", lambda: ())
    monkeypatch.setenv("OMPTOOL_CUDA_LIBRARY", "/nonexistent")
    done = omptool("slim", library, *words)
    assert (done.exit_code, done.stdout) == (code, "")
    assert message in done.stderr


def test_devices_of_another_machine_are_taken(library: Path, tmp_path: Path) -> None:
    devices = [{"number": 0, "name": "H200", "architecture": "sm_90"}]
    plugins = [{"name": "cuda", "state": "ready", "devices": devices}]
    listed_devices = tmp_path / "devices.json"
    listed_devices.write_text(json.dumps({"schema": 1, "plugins": plugins}))
    omptool("slim", library, "--device", listed_devices, "-o", tmp_path / "out.so")
    assert archs(tmp_path / "out.so") == {"sm_90"}


def test_a_wheel_and_a_folder_are_slimmed(shipped: dict[str, Path], tmp_path: Path) -> None:
    wheel, folder = tmp_path / "made-1-py3-none-any.whl", tmp_path / "folder"
    record = "made/cuda.so,,\nmade/rocm.so,,\nmade-1.dist-info/RECORD,,\n"
    with ZipFile(wheel, "w") as out:
        out.write(shipped[CUDA], "made/cuda.so")
        out.write(shipped[ROCM], "made/rocm.so")
        out.writestr("made-1.dist-info/RECORD", record)
    with ZipFile(wheel) as made:
        made.extractall(folder)
    keep = ("--keep", "sm_90,gfx942", "--in-place", "--json")
    for path in (wheel, folder):
        found = document("slim", omptool("slim", path, *keep).stdout)
        after = {share["arch"] for share in found["device_code"] if share["after"]}
        assert after == {"sm_90", "gfx942"}
    with ZipFile(wheel) as made:
        rows = made.read("made-1.dist-info/RECORD").decode().splitlines()
        for name in ("cuda", "rocm"):
            content = made.read(f"made/{name}.so")
            assert content == (folder / "made" / f"{name}.so").read_bytes()
    assert rows == (folder / "made-1.dist-info" / "RECORD").read_text().splitlines()
    assert all(",sha256=" in row for row in rows[:2])


def test_a_file_in_place_is_treated_as_in_a_folder(library: Path, tmp_path: Path) -> None:
    """RECORD gets the new hash, and a file with two names stays."""
    site = tmp_path / "site"
    record = site / "made-1.dist-info" / "RECORD"
    record.parent.mkdir(parents=True)
    record.write_text("made/one.so,,\nother.py,sha256=x,1\n")
    one = site / "made" / "one.so"
    one.parent.mkdir()
    shutil.copy(library, one)
    (tmp_path / "link.so").symlink_to(one)
    other = one.with_name("two.so")
    other.hardlink_to(one)
    done = omptool("slim", tmp_path / "link.so", "--keep", "sm_90", "--in-place")
    assert done.exit_code == 0
    assert "left alone: has 2 names (hard links), and would be stored twice" in done.stderr
    assert one.read_bytes() == library.read_bytes()
    assert record.read_text() == "made/one.so,,\nother.py,sha256=x,1\n"
    other.unlink()
    omptool("slim", tmp_path / "link.so", "--keep", "sm_90", "--in-place")
    assert archs(one) == {"sm_90"}
    found = hashed(one)
    row = f"made/one.so,{found.digest},{found.size}"
    assert record.read_text() == f"{row}\nother.py,sha256=x,1\n"


@pytest.mark.parametrize("where", ["alone", "folder", "copied"])
@pytest.mark.parametrize("kind", ["wheel", "debian"])
def test_a_signed_package_is_left_alone_with_a_note(tmp_path: Path, kind: str, where: str) -> None:
    work = tmp_path / "work"
    work.mkdir()
    if kind == "wheel":
        path, by = (
            made_wheel(work, more="made-1.dist-info/RECORD.jws"),
            "made-1.dist-info/RECORD.jws",
        )
    else:
        path, by = signed_debian(work), "_gpgorigin"
    folder = tmp_path / "folder"
    folder.mkdir()
    path, out = path.rename(folder / path.name), tmp_path / "out"
    content = path.read_bytes()
    words: dict[str, list[str | Path]] = {
        "alone": [path, "--in-place"],
        "folder": [folder, "--in-place"],
        "copied": [path, "-o", out],
    }
    done = omptool("slim", *words[where], "--keep", "sm_90")
    assert done.exit_code == 0
    if (kind, where) != ("wheel", "folder"):  # wheels in folders are ignored
        assert done.stdout == f"{path}: left alone\n"
        what = f"is signed by {by}: its files stay as they are"
        assert done.stderr == f"Note: {path}: left alone: {what}\n"
    assert path.read_bytes() == content
    assert where != "copied" or out.read_bytes() == content


def signed_debian(folder: Path) -> Path:
    """Make a package that debsigs could have signed."""
    names = ("debian-binary", "control.tar", "data.tar", "_gpgorigin")
    for name in names:
        (folder / name).write_text("2.0\n")
    run("ar", "qc", folder / "made.deb", *(folder / name for name in names))
    return folder / "made.deb"
