# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`run --timeline`: the page of a trace in a private folder."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest
from clangs import compiled
from recorder import OBSERVING
from running import omptool_run

pytestmark = pytest.mark.offloads

ENDS = """\
#include <signal.h>
#include <stdlib.h>
int main(int argc, char **argv) {
#pragma omp target
  {
  }
  if (argc > 1)
    raise(atoi(argv[1]));
  return 7;
}
"""


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    """Return the page's place, and an empty folder for private files."""
    private = tmp_path / "private"
    private.mkdir()
    return tmp_path / "t.html", private


def started(private: Path, *words: object) -> subprocess.CompletedProcess[str]:
    return omptool_run(*words, TMPDIR=str(private))


def program(folder: Path) -> Path:
    source = folder / "ends.c"
    source.write_text(ENDS)
    return compiled(source, folder, "-g")


def test_a_page_in_one_step(tmp_path: Path, places: tuple[Path, Path]) -> None:
    """The exit code is that of the program, and the trace is gone."""
    page, private = places
    done = started(private, "--timeline", page, program(tmp_path))
    assert (done.returncode, done.stdout, done.stderr) == (7, "", "")
    assert "main:4" in page.read_text()
    assert list(private.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGABRT, signal.SIGKILL, signal.SIGTERM])
def test_a_program_that_a_signal_ends(
    tmp_path: Path, places: tuple[Path, Path], number: signal.Signals
) -> None:
    page, private = places
    done = started(private, "--timeline", page, program(tmp_path), int(number))
    assert done.returncode == -number
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert list(private.iterdir()) == []


def test_the_trace_stays_where_it_is_asked_for(tmp_path: Path, places: tuple[Path, Path]) -> None:
    page, private = places
    trace = tmp_path / "t.json"
    done = started(private, "--timeline", page, "--trace", trace, program(tmp_path))
    assert (done.returncode, done.stderr) == (7, "")
    assert "main_l4" in trace.read_text()
    assert "main:4" in page.read_text()
    of_process = tmp_path / "t.%p.json"
    page.unlink()
    done = started(private, "--timeline", page, "--trace", of_process, program(tmp_path))
    assert (done.returncode, done.stderr) == (7, "")
    assert len(list(tmp_path.glob("t.[0-9]*.json"))) == 1
    assert "main:4" in page.read_text()


def test_beside_other_reports(tmp_path: Path, places: tuple[Path, Path]) -> None:
    page, private = places
    sums = tmp_path / "sums.json"
    options = ["--timeline", page, "--summary", "--summary-json", sums, "--check", "--check-error"]
    done = started(private, *options, program(tmp_path))
    assert done.returncode == 7
    assert "Regions:" in done.stderr
    assert "the checker found nothing" in done.stderr
    assert page.exists()
    assert sums.exists()
    assert list(private.iterdir()) == []


def test_several_processes(tmp_path: Path, places: tuple[Path, Path]) -> None:
    """The page shows one of the processes, and a line reports it."""
    page, private = places
    many = compiled(OBSERVING / "traced.c", tmp_path, "-g")
    script = f"{program(tmp_path)}; {many}; exit 0"
    done = started(private, "--timeline", page, "/bin/sh", "-c", script)
    note = f"Note: {page}: shows the process with the largest trace, not 1 other trace\n"
    assert (done.returncode, done.stderr) == (0, note)
    assert "main:10" in page.read_text()


def test_each_rank_of_a_job_has_a_page(
    tmp_path: Path, places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rank does not read another one's trace."""
    page, private = places
    app, traced = program(tmp_path), compiled(OBSERVING / "traced.c", tmp_path, "-g")
    names = ("--timeline", page.with_name("%r.html"), "--trace", tmp_path / "t.%r.json")
    for rank, one, region in (("0", traced, "main:10"), ("1", app, "main:4")):
        monkeypatch.setenv("PMI_RANK", rank)
        done = started(private, *names, one)
        assert (done.returncode, done.stderr) == (7 if one == app else 0, "")
        assert region in page.with_name(f"{rank}.html").read_text()
    assert {one.name for one in tmp_path.glob("*.html")} == {"0.html", "1.html"}


def test_a_page_that_cannot_be_written(tmp_path: Path, places: tuple[Path, Path]) -> None:
    page, private = places
    done = started(private, "--timeline", tmp_path / "no" / "t.html", "/bin/true")
    assert done.returncode == 125
    assert done.stderr.startswith(f"Error: --timeline {tmp_path}/no/t.html: there is no folder")
    done = started(private, "--timeline", page, "--summary-json", page, "/bin/true")
    assert (done.returncode, done.stderr.count("would overwrite")) == (125, 1)
    folder = tmp_path / "goes"
    folder.mkdir()
    out = folder / "t.html"
    app = program(tmp_path)
    done = started(private, "--timeline", out, "/bin/sh", "-c", f"{app}; rmdir {folder}")
    assert done.returncode == 125
    assert done.stderr.startswith(f"Error: {out}: cannot write")
    assert done.stderr.count("\n") == 1
    done = started(private, "--timeline", page, "/bin/true")
    assert (done.returncode, done.stderr) == (
        125,
        f"Error: {page}: there is no trace: the program asked nothing of omptool's runtime\n",
    )
    assert list(private.iterdir()) == []


def test_a_program_that_is_not_there(places: tuple[Path, Path]) -> None:
    page, private = places
    done = started(private, "--timeline", page, "./nosuch")
    assert done.returncode == 127
    assert list(private.iterdir()) == []
