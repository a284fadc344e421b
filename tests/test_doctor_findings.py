"""What doctor finds on a machine beside where regions run: OMP203 to OMP208, each with its like."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from clangs import FLAGS, libraries
from doctoring import PROGRAM, changed, codes, diagnosis, for_another_machine, program
from toolchain import HOST, MAIN, NVPTX, PTX, bundled, compile_c, fake_runtime, linked, run

from omptool.installation import libdir
from packager.diagnosis import diagnose
from packager.fates import NODES, Answer, Machine
from packager.load import load


@pytest.mark.parametrize("second", [[], ["-Wl,--no-as-needed", "-l:libgomp.so.1"]])
def test_two_openmp_runtimes(tmp_path: Path, second: list[str]) -> None:
    (tmp_path / "source.c").write_text(PROGRAM)
    run("clang-19", *FLAGS, tmp_path / "source.c", *second, "-o", tmp_path / "x")
    environment = {"LD_LIBRARY_PATH": "/usr/lib/llvm-19/lib"}
    assert ("OMP203" in codes(diagnosis(tmp_path / "x", **environment))) == bool(second)


def test_an_image_without_a_device(diagnosed: Path, tmp_path: Path) -> None:
    path = program("19", diagnosed)
    other = changed(path, tmp_path / "x", for_another_machine)
    assert "OMP205" in codes(diagnosis(other))
    assert "OMP205" in codes(diagnosis(path, OMPTOOL_HOST_DEVICES="0"))
    assert "OMP205" not in codes(diagnosis(path))


@pytest.mark.parametrize("can_write", [True, False])
def test_a_folder_for_images_that_is_read_only(
    diagnosed: Path, monkeypatch: pytest.MonkeyPatch, can_write: bool
) -> None:
    """LLVM's runtimes write there since 16; 14's and omptool's do not."""
    monkeypatch.setattr("omptool.diagnosed.os.access", lambda *_: can_write)
    for version, runtime, writes in (
        ("14", libraries("14"), False),
        ("16", libraries("16"), True),
        ("19", libraries("19"), True),
        ("19", str(libdir()), False),
    ):
        found = codes(diagnosis(program(version, diagnosed), LD_LIBRARY_PATH=runtime))
        assert ("OMP207" in found) == (writes and not can_write)


def test_a_device_node_without_a_driver(tmp_path: Path) -> None:
    """Nodes and drivers are this machine's: here they are said to be there, or not."""
    (tmp_path / "image.ptx").write_text(PTX)
    host = compile_c(HOST + MAIN, tmp_path / "host.o", "-c", "-fPIC")
    images = {f"{NVPTX}:sm_70": tmp_path / "image.ptx"}
    out = bundled(host, tmp_path / "bundled.o", images)
    binary = load(linked([out], tmp_path / "x", runtime=fake_runtime(tmp_path)))
    node, driver = NODES["nvptx64"]
    refused = [[Answer("host", False, "it is not an ELF file")]]
    machine = Machine([], [], {"host": 1}, refused, {})
    for files, expected in (
        ({node}, {"OMP204", "OMP208"}),
        (set(), {"OMP204"}),
        ({node, driver}, {"OMP205"}),
    ):
        found = diagnose(binary, replace(machine, files=frozenset(files))).findings
        assert {finding.code for finding in found} == expected
