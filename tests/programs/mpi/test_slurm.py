# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The lines of docs/clusters.md run as they stand: on one machine, and as a script in Slurm."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import slurm
from builds import Build, built
from clangs import libraries
from fixture_programs import OMPTOOL
from mpis import ALLOWED, DEBIAN, PATIENCE, Mpi
from places import ROOT

pytestmark = [pytest.mark.offloads, pytest.mark.slow]

HERE = Path(__file__).parent
BLOCK = re.compile(r"^```(sh|slurm)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
KINDS = {"openmpi": "pmix", "mpich": "pmi2"}  # values of Slurm's --mpi
FOUND = {"LD_LIBRARY_PATH": libraries("19"), "PATH": f"{Path(OMPTOOL).parent}:{os.environ['PATH']}"}


def of_the_page(kind: str) -> str:
    """Return the page's block of that kind."""
    page = (ROOT / "docs" / "clusters.md").read_text()
    blocks: dict[str, str] = dict(BLOCK.findall(page))
    return blocks[kind]


def test_the_lines_for_a_laptop(tmp_path: Path) -> None:
    """Root has to allow jobs, and this machine may have fewer cores than the page's laptop."""
    assert DEBIAN[0].path.exists()
    shutil.copy(HERE / "devices.c", tmp_path / "app.c")
    few = {"OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none"}
    done = subprocess.run(
        ["bash", "-euc", of_the_page("sh")],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        timeout=PATIENCE,
        env=os.environ | ALLOWED | FOUND | few,
    )
    assert (done.returncode, done.stdout) == (0, "3 devices, 0 wrong\n"), done.stderr


@pytest.fixture(scope="module")
def cluster() -> Iterator[slurm.Slurm]:
    with slurm.running() as started:
        yield started


@pytest.mark.exhaustive
@pytest.mark.parametrize("mpi", DEBIAN, ids=lambda mpi: mpi.name)
def test_the_script_for_slurm(cluster: slurm.Slurm, mpi: Mpi, tmp_path: Path) -> None:
    built(Build("19"), tmp_path / "app", HERE / "devices.c")
    script = of_the_page("slurm")
    assert script.count("--mpi=pmix") == 1
    (tmp_path / "job.sh").write_text(script.replace("--mpi=pmix", f"--mpi={KINDS[mpi.name]}"))
    environment = ALLOWED | FOUND | {"OMPTOOL_MPI": str(mpi.path)}
    done = cluster.run("sbatch", "--parsable", "job.sh", cwd=tmp_path, **environment)
    assert done.returncode == 0, done.stderr
    number = done.stdout.strip()
    end = time.monotonic() + PATIENCE
    while state := cluster.run("squeue", "-h", "-j", number, "-o", "%T").stdout.strip():
        assert time.monotonic() < end, f"{state}\n{cluster.logs()}"
        time.sleep(0.2)
    assert (tmp_path / f"slurm-{number}.out").read_text() == "2 devices, 0 wrong\n", cluster.logs()
    state = cluster.run("scontrol", "show", "job", number).stdout
    assert "JobState=COMPLETED" in state, state
