# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A Slurm of this machine's packages: two nodes on one machine, which its owner starts and ends."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from machine import lacks

PATIENCE = 60  # seconds, on a loaded machine
NODES = 2
CONFIG = """\
ClusterName=omptool
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmctldPort={ports[0]}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
TmpFS={folder}/tmp-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
SelectType=select/linear
SlurmdParameters=config_overrides
ReturnToService=2
MpiDefault=none
{nodes}
PartitionName=all Nodes=ALL Default=YES State=UP
"""


class Slurm:
    """A running one. Its commands need its environment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {"SLURM_CONF": str(folder / "slurm.conf")}

    def run(
        self, *words: object, cwd: Path | None = None, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Run one of its commands."""
        return subprocess.run(
            [*map(str, words)],
            capture_output=True,
            text=True,
            check=False,
            timeout=2 * PATIENCE,
            cwd=cwd,
            env=os.environ | self.environment | environment,
        )

    def logs(self) -> str:
        """Return the recent output of the daemons."""
        lines = [path.read_text().splitlines()[-20:] for path in self.folder.glob("*.log")]
        return "\n".join(line for log in lines for line in log)


def _free_ports(count: int) -> list[int]:
    """Return free ports."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def _configure(folder: Path) -> None:
    ports = _free_ports(1 + NODES)
    host = socket.gethostname().split(".")[0]
    nodes = "\n".join(
        f"NodeName=node{i} NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[i]} CPUs=8"
        for i in range(1, NODES + 1)
    )
    text = CONFIG.format(host=host, ports=ports, folder=folder, nodes=nodes)
    (folder / "slurm.conf").write_text(text)
    (folder / "state").mkdir()
    for i in range(1, NODES + 1):
        (folder / f"spool-node{i}").mkdir()
        (folder / f"tmp-node{i}").mkdir()  # PMIx has files of the same names on each
    key = folder / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o600)


@contextmanager
def _daemon(*words: object, **environment: str) -> Iterator[None]:
    with (Path(environment["SLURM_CONF"]).parent / "daemons.log").open("a") as log:
        started = subprocess.Popen(
            [*map(str, words)], stdout=log, stderr=log, env=os.environ | environment
        )
    try:
        yield
    finally:
        started.terminate()
        try:
            started.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            started.kill()
            started.wait()


def _wait_for_nodes(slurm: Slurm) -> None:
    end = time.monotonic() + PATIENCE
    while slurm.run("sinfo", "-h", "-o", "%D %T").stdout.strip() != f"{NODES} idle":
        assert time.monotonic() < end, f"Slurm is not ready\n{slurm.logs()}"
        time.sleep(0.2)


@contextmanager
def running() -> Iterator[Slurm]:
    """Start Slurm with a key, a configuration and ports of its own, and end it."""
    missing = [name for name in ("munged", "slurmctld", "slurmd") if not shutil.which(name)]
    if missing or os.geteuid() != 0:
        lacks(f"Slurm cannot be started here: apt-get install slurm-wlm munge, as root: {missing}")
    # Paths of sockets are limited in length.
    with tempfile.TemporaryDirectory(prefix="slurm-") as name, ExitStack() as stack:
        folder = Path(name)
        _configure(folder)
        slurm = Slurm(folder)
        files = [
            f"--{kind}={folder}/munge.{ending}"
            for kind, ending in (
                ("socket", "socket"),
                ("key-file", "key"),
                ("pid-file", "pid"),
                ("log-file", "log"),
                ("seed-file", "seed"),
            )
        ]
        # --force skips munged's check of the folder, which only this test uses.
        munged = ("munged", "--foreground", "--force", *files)
        stack.enter_context(_daemon(*munged, **slurm.environment))
        stack.enter_context(_daemon("slurmctld", "-D", **slurm.environment))
        for i in range(1, NODES + 1):
            stack.enter_context(_daemon("slurmd", "-D", "-N", f"node{i}", **slurm.environment))
        _wait_for_nodes(slurm)
        yield slurm
