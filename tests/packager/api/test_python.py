# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`import omptool`, and packager: docs/python.md's examples run, and start-up stays fast."""

from __future__ import annotations

import doctest
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from clangs import compiled
from places import DATA, ROOT, TESTS
from toolchain import (
    HOST,
    MAIN,
    NVPTX,
    PTX,
    X86_64,
    bundled,
    compile_c,
    device_image,
    fake_runtime,
    linked,
)

import omptool
import packager
from packager import api

PAGE = ROOT / "docs" / "python.md"
MOVED = TESTS / "omptool" / "commands" / "sources" / "moved.cpp"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide the files that the page names."""
    folder = tmp_path_factory.mktemp("python")
    host = compile_c(HOST + MAIN, folder / "host.o", "-c", "-fPIC")
    image = device_image(HOST, folder / "image.so")
    (folder / "image.ptx").write_text(PTX)
    images = {X86_64: image, f"{NVPTX}:sm_70": folder / "image.ptx"}
    out = bundled(host, folder / "bundled.o", images)
    linked([out], folder / "app", runtime=fake_runtime(folder))
    shutil.copy(DATA / "none.fatbin", folder / "kernels.fatbin")
    (folder / "empty").touch()
    return folder


def test_the_examples_of_the_page(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    blocks = re.findall(r"```pycon\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(blocks) > 5
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, PAGE.name, str(PAGE), 0)
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
    runner.run(test, out=said.append)
    assert "".join(said) == ""
    assert runner.tries > len(blocks)


def test_all_that_is_promised_is_there() -> None:
    assert getattr(packager, "__all__") == api.__all__  # noqa: B009 - it is not in the stub
    assert set(api.__all__) <= set(dir(packager))
    assert all(hasattr(packager, name) for name in api.__all__)
    assert not hasattr(packager, "absent")
    page = PAGE.read_text()
    functions = [name for name in api.__all__ if name.islower()]
    assert [name for name in functions if f"{name}(" not in page] == []


def test_both_packages_are_typed() -> None:
    assert all((ROOT / name / "py.typed").exists() for name in ("omptool", "packager"))


def test_omptool_has_the_same_functions() -> None:
    assert getattr(omptool, "__all__") == api.__all__  # noqa: B009 - it is not in the stub
    assert all(getattr(omptool, name) is getattr(api, name) for name in api.__all__)
    assert set(api.__all__) <= set(dir(omptool))
    with pytest.raises(AttributeError, match=r"^module 'omptool' has no attribute 'absent'$"):
        getattr(omptool, "absent")  # noqa: B009 - mypy rejects the plain form


def test_star_imports_the_functions_of_the_page() -> None:
    names: dict[str, object] = {}
    exec("from omptool import *", names)
    assert set(api.__all__) == set(names) - {"__builtins__"}


def test_functions_of_omptool_are_typed() -> None:
    """Test by mypy, which reports an unused `ignore` if the parameter is of type Any."""
    with pytest.raises(TypeError):
        omptool.load(1)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import packager, packager.model", "packager.api"),
        ("import omptool", "packager"),
        ("import omptool.cli", "packager.api"),
    ],
)
def test_the_api_is_imported_at_its_first_use(code: str, absent: str) -> None:
    """Starting is a feature."""
    code = f"{code}; import sys; print({absent!r} in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_errors_begin_with_the_files_name(folder: Path, tmp_path: Path) -> None:
    absent, empty = tmp_path / "absent", folder / "empty"
    for path, said in ((absent, "No such file or directory"), (empty, "is empty")):
        for read in (
            packager.load,
            packager.images,
            packager.summary,
            packager.verify,
            lambda path: packager.extract(path, tmp_path),
            lambda path: list(packager.image_bytes(path)),
        ):
            with pytest.raises(packager.FormatError, match=f"^{re.escape(str(path))}: {said}$"):
                read(path)
    with pytest.raises(packager.FindingError, match=f"^{re.escape(str(folder))}/kernels.fatbin: "):
        packager.extract(folder / "kernels.fatbin", tmp_path, arch="sm_30")


def test_sources_are_names_or_what_was_loaded(folder: Path) -> None:
    path = folder / "kernels.fatbin"
    loaded = packager.load(path)
    for source in (path, str(path), loaded, loaded[0]):
        assert [image.index for image in packager.images(source, arch="sm_90")] == [2]
    assert len(packager.verify(path, folder / "app", select=["OMP108"])) == 2
    with pytest.raises(packager.FindingError):
        packager.extract(path, folder / "out", arch="sm_30")


def test_a_kernel_prints_in_a_line_and_knows_its_source(tmp_path: Path) -> None:
    shutil.copy(MOVED, tmp_path)
    program = compiled(tmp_path / MOVED.name, tmp_path, "-g")
    found = {repr(one): one for one in packager.kernels(packager.load(program, sourced=True))}
    kernel = found["<Kernel work:11 for x86_64-pc-linux-gnu>"]
    assert kernel.source
    assert (kernel.source.file, kernel.source.line) == (str(tmp_path / MOVED.name), 11)
    assert all(one.source is None for one in packager.kernels(program))
