# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Byte-flipped and truncated hosts and images: one line and nothing left, or a sound result."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from places import TESTS
from toolchain import REGION

from omptool.cli import cli
from omptool.installation import includedir

pytestmark = pytest.mark.slow

TRIPLES = {"image.so": "x86_64-pc-linux-gnu", "image.ptx": "nvptx64-nvidia-cuda"}
HOST = (TESTS / "omptool" / "commands" / "sources" / "hostile_host.c").read_text()
PTX = (
    ".version 6.4\n.target sm_75\n.address_size 64\n"
    ".visible .entry kernel(.param .u64 p) { ret; }\n.visible .global .align 4 .b8 table[16];\n"
)


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "host.c").write_text(HOST)
    compile_ = ["gcc", "-O1", "-g", f"-I{includedir()}", str(folder / "host.c"), "-o"]
    subprocess.run([*compile_, folder / "host.o", "-c"], check=True)
    subprocess.run([*compile_, folder / "image.so", "-shared", "-fPIC"], check=True)
    (folder / "image.ptx").write_text(PTX)
    (folder / "region.c").write_text(REGION)
    flags = ["-O1", "-fopenmp", f"-fopenmp-targets={TRIPLES['image.so']}"]
    clang = ["clang-19", *flags, str(folder / "region.c"), "-c", "-o"]
    subprocess.run([*clang, folder / "clang.o"], check=True)
    return folder


# Bundling correct inputs takes some 20 ms.
def examples(count: int) -> settings:
    return settings(
        max_examples=count,
        deadline=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )


def check(work: Path, out: Path, damaged: str, draw: st.DataObject) -> None:
    """Damage one of the inputs and bundle: no traceback, no silence, nothing half-written."""
    data = bytearray((work / damaged).read_bytes())
    if draw.draw(st.booleans(), label="truncate"):
        del data[draw.draw(st.integers(0, len(data) - 1), label="length") :]
    else:
        for _ in range(draw.draw(st.integers(1, 4), label="flips")):
            # A file's headers and tables are at its ends; most of its middle is debug data.
            at = draw.draw(
                st.one_of(
                    st.integers(0, min(1024, len(data)) - 1),
                    st.integers(0, len(data) - 1),
                    st.integers(max(0, len(data) - 4096), len(data) - 1),
                ),
                label="at",
            )
            data[at] = draw.draw(
                st.sampled_from([0, 1, 0x7F, 0x80, 0xFF, data[at] ^ 1]), label="to"
            )
    host = damaged if damaged.endswith(".o") else "host.o"
    inputs = {name: work / name for name in (host, *TRIPLES)}
    inputs[damaged] = work / f"damaged-{damaged}"
    inputs[damaged].write_bytes(data)
    images = [word for name, t in TRIPLES.items() for word in ("--image", f"{t}={inputs[name]}")]
    arguments = ["bundle", str(inputs[host]), *images, "-o", str(out)]
    done = CliRunner().invoke(cli, arguments)
    assert done.exit_code in (0, 1, 2), done.exception
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert "Traceback" not in done.output
    assert out.exists() == (done.exit_code == 0)
    if done.exit_code:
        assert done.stderr.startswith("Error: ")
        assert len(done.stderr.splitlines()) == 1
    out.unlink(missing_ok=True)


INPUTS = ("host.o", "clang.o", "image.so", "image.ptx")


@pytest.mark.parametrize("damaged", INPUTS)
@examples(60)
@given(draw=st.data())
def test_damaged_input(work: Path, tmp_path: Path, damaged: str, draw: st.DataObject) -> None:
    check(work, tmp_path / "out.o", damaged, draw)


@pytest.mark.exhaustive
@pytest.mark.parametrize("damaged", INPUTS)
@examples(5000)
@given(draw=st.data())
def test_damaged_input_many(work: Path, tmp_path: Path, damaged: str, draw: st.DataObject) -> None:
    check(work, tmp_path / "out.o", damaged, draw)
