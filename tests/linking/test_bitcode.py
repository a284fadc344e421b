"""Bitcode of several files is joined to one image, with clang's own device library."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from clangs import INSTALLED, libraries, made, tool
from fixture_programs import NVPTX
from places import TESTS
from ptx_assembler import assembles

from packager.linking.bitcode import BitcodeInput, Joined, join
from packager.lowering.lower import Target

SOURCES = TESTS / "support" / "sources"
REGIONS, OTHER = "device_link_regions", "device_link_other"
GPU = "sm_90"
VERSIONS = ("16", INSTALLED)


def compiled(folder: Path, version: str, name: str, *flags: str) -> BitcodeInput:
    """The device's bitcode of a source, as `-foffload-lto` has it, without a CUDA toolkit."""
    device = ["-fopenmp", f"-fopenmp-targets={NVPTX}", "-Xopenmp-target", f"-march={GPU}"]
    alone = ["-foffload-lto", "--offload-device-only", "-emit-llvm", "-c", "-nogpulib"]
    clang = [*tool(version), "-O2", *device, *alone, "--cuda-path=/nowhere", *flags]
    out = made(folder / f"{name}-{version}.bc", *clang, SOURCES / f"{name}.c")
    return BitcodeInput(out, f"{name}.o")


def both(folder: Path, version: str) -> list[BitcodeInput]:
    """The two files of the program."""
    other = compiled(folder, version, OTHER, "-DFACTOR=2")
    return [compiled(folder, version, REGIONS), other]


def joined(modules: list[BitcodeInput], out: Path, version: str = INSTALLED) -> Joined:
    """Their PTX."""
    folder = Path(libraries(version).split(":")[-1])
    return join(modules, Target(NVPTX, GPU), (), out, search=(folder,))


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_two_files_become_ptx(
    tmp_path: Path, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    modules = both(tmp_path, version)
    path = os.environ["PATH"]
    monkeypatch.setenv("PATH", "/nowhere")  # no tool of LLVM's or CUDA's
    found = joined(modules, tmp_path / "out.ptx", version)
    monkeypatch.setenv("PATH", path)
    assert (found.kind, found.arch, found.notes) == ("ptx", GPU, ())
    text = found.path.read_text()
    kernels = re.findall(r"\.entry (\w+)", text)
    assert [name.split("_")[-2] for name in kernels] == ["saxpy", "sum"]
    assert "offset" in found.exports
    assert re.search(r"^\.visible \.global .* offset = ", text, re.MULTILINE)
    externs = re.findall(r"^\.extern \.func.* (\w+)$", text, re.MULTILINE)
    assert set(externs) <= {"malloc", "free", "vprintf", "__assertfail"}
    assert "__kmpc" not in "".join(found.exports)
    assert assembles(found.path, GPU)
