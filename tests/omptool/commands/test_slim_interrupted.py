# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool slim` that is killed, has no room, or may not write: every file stays whole."""

from __future__ import annotations

import random
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile

import pytest
from field_files import listed, unpacked
from fixture_programs import OMPTOOL

from packager.slimming.packages.record import hashed

pytestmark = pytest.mark.slow
PACKAGES = ("jax-cuda13-plugin==0.10.2", "jax-rocm7-plugin==0.10.2")
KEEP = ("--keep", "sm_90,gfx942")
COPIES = 4


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[bytes, bytes]]:
    """Provide the libraries of JAX's plugins by name, as shipped and after `slim`."""
    folder = tmp_path_factory.mktemp("shipped")
    found = {}
    for package in listed(quick=True):
        if str(package) in PACKAGES:
            for _, path in unpacked(package):
                out = folder / f"{package}.so"
                run(path, "-o", out)
                found[f"{package}.so"] = path.read_bytes(), out.read_bytes()
    return found


def run(
    *words: object, limit: Callable[[], None] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `omptool slim`, after a call of `limit`, and return how it ended."""
    command = [OMPTOOL, "slim", *map(str, words), *KEEP]
    return subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=limit)


def installed(folder: Path, files: dict[str, tuple[bytes, bytes]]) -> Path:
    """Make a folder of an installed distribution, with each library several times."""
    rows = []
    for number in range(COPIES):
        for name, (before, _) in files.items():
            path = folder / "made" / str(number) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(before)
            rows.append(",".join((path.relative_to(folder).as_posix(), *map(str, hashed(path)))))
    (folder / "made-1.dist-info").mkdir()
    record = folder / "made-1.dist-info" / "RECORD"
    record.write_text("".join(f"{row}\n" for row in [*rows, "made-1.dist-info/RECORD,,"]))
    return folder


def check_whole(folder: Path, files: dict[str, tuple[bytes, bytes]]) -> int:
    """Expect each file as it was or as it is to be, and return how many are."""
    done = 0
    for number in range(COPIES):
        for name, contents in files.items():
            done += contents.index((folder / "made" / str(number) / name).read_bytes())
    return done


@pytest.mark.parametrize(
    "times", [5, pytest.param(50, marks=pytest.mark.exhaustive)], ids=lambda times: f"{times}-times"
)
def test_a_killed_run_leaves_whole_files(
    times: int, files: dict[str, tuple[bytes, bytes]], tmp_path: Path
) -> None:
    moments = random.Random(52)
    start = time.monotonic()
    run(installed(tmp_path / "measured", files), "--in-place")
    whole = time.monotonic() - start
    for number in range(times):
        folder = installed(tmp_path / str(number), files)
        with subprocess.Popen(
            [OMPTOOL, "slim", folder, "--in-place", *KEEP],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            time.sleep(moments.uniform(0.2, 1) * whole)
            process.kill()
        check_whole(folder, files)
        done = run(folder, "--in-place")
        assert done.returncode == 0
        assert all("is a part of a file that" in line for line in done.stderr.splitlines())
        assert check_whole(folder, files) == COPIES * len(files)
        shutil.rmtree(folder)


def test_an_interrupted_run_has_the_hashes_of_what_it_wrote(
    files: dict[str, tuple[bytes, bytes]], tmp_path: Path
) -> None:
    folder = installed(tmp_path / "folder", files)
    first = folder / "made" / "0" / next(iter(files))
    before = first.stat().st_size
    with subprocess.Popen(
        [OMPTOOL, "slim", folder, "--in-place", *KEEP],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        while first.stat().st_size == before and process.poll() is None:
            time.sleep(0.001)
        process.send_signal(signal.SIGINT)
    rows = (folder / "made-1.dist-info" / "RECORD").read_text().splitlines()
    for row in rows[:-1]:
        name, digest, size = row.split(",")
        assert hashed(folder / name) == (digest, int(size)), name
    assert [path for path in folder.rglob("*") if path.name.startswith(".")] == []


def little_room() -> None:
    """Let no file become larger than 64 KiB."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))


def test_without_room_nothing_is_left(
    files: dict[str, tuple[bytes, bytes]], tmp_path: Path
) -> None:
    library, wheel = tmp_path / "one.so", tmp_path / "made-1-py3-none-any.whl"
    name, (before, _) = next(iter(files.items()))
    library.write_bytes(before)
    with ZipFile(wheel, "w") as out:
        out.writestr(f"made/{name}", before)
    was = {path: path.read_bytes() for path in (library, wheel)}
    for path in was:
        done = run(path, "--in-place", limit=little_room)
        assert done.returncode == 2, done
        assert done.stderr.startswith(f"Error: {path}: "), done
        assert "File too large" in done.stderr
        assert "Traceback" not in done.stderr
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == was


def test_what_may_not_be_written_is_named(
    files: dict[str, tuple[bytes, bytes]], tmp_path: Path
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    path = folder / "one.so"
    path.write_bytes(next(iter(files.values()))[0])
    done = run(path, "-o", tmp_path / "missing" / "out.so")
    assert (done.returncode, done.stdout) == (2, "")
    assert "No such file or directory" in done.stderr
    done = run(path, "-o", "/proc/out.so")
    assert (done.returncode, done.stdout) == (2, "")
    assert "cannot write /proc/out.so" in done.stderr
