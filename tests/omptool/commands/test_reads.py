# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each command opens its host once, and reads each part of it once or little more."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import toolchain
from fixture_programs import OMPTOOL
from reads import reads
from toolchain import CLANG, X86_64, run

pytestmark = pytest.mark.slow

PADDING = 1 << 20
# What may be read beside a file's bytes, once, where a command copies them, and instead of them
# where it copies none: headers, names, symbols and records, which are a twentieth of these files.
# They tell what is copied to where, so they are read first, and in blocks of 4 KiB where little is
# asked for at a time. Whoever reads the padding twice needs four times as much.
TABLES = PADDING // 4
IMAGE = f"--image {X86_64}=image.so"


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with images, and with hosts that are padded by 1 MiB."""
    folder = tmp_path_factory.mktemp("reads")
    (folder / "padding").write_bytes(bytes(range(256)) * (PADDING // 256))
    toolchain.compile_c(toolchain.HOST, folder / "host.o", "-c")
    toolchain.device_image(toolchain.HOST, folder / "image.so")
    (folder / "image.ptx").write_text(toolchain.PTX)
    (folder / "notes.own").write_bytes(b"own" * (1 << 18))
    toolchain.clang_offload(toolchain.OPENMP, folder / "app")
    toolchain.compile_c(toolchain.OPENMP, folder / "plain")
    for name, source in (("main.o", toolchain.OPENMP), ("region.o", toolchain.REGION)):
        flags = ("-c", "-fopenmp", f"-fopenmp-targets={X86_64}")
        toolchain.compile_c(source, folder / name, *flags, compiler=CLANG)
    for name in ("host.o", "app", "plain", "main.o", "region.o", "image.so"):
        run("objcopy", "--add-section", f".padding={folder / 'padding'}", folder / name)
    run("ar", "rc", folder / "libregion.a", folder / "region.o")
    (folder / "libscript.so").write_text("INPUT(region.o)")
    return folder


@pytest.fixture(autouse=True)
def _there(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(work)
    monkeypatch.delenv("OMPTOOL_PLUGINS", raising=False)  # the program has a device


COPYING = [
    f"bundle host.o {IMAGE} --force -o out",
    f"bundle host.o {IMAGE} --abi interface --force -o out",
    f"bundle plain {IMAGE} --entries auto --force -o out",
    "edit app --add nvptx64:sm_70=image.ptx --force -o out",
    "edit app --remove 0 --force -o out",
]


@pytest.mark.parametrize("words", COPYING)
def test_a_host_that_is_copied_is_opened_and_read_once(work: Path, words: str) -> None:
    host = Path(words.split()[1])
    (found,) = reads(work, [OMPTOOL, *words.split()], host)
    assert found.opens == 1
    assert found.bytes <= host.stat().st_size + TABLES


IMAGES = [
    *COPYING,
    f"emit {IMAGE} --entries auto --force -o out",
    f"emit {IMAGE} --format offload-binary --force -o out",
    f"emit {IMAGE} --format compressed-bundle --force -o out",
    f"emit {IMAGE} --entries auto --format asm --force -o out",
    "emit --image spir64=notes.own --format offload-binary --force -o out",
    "edit app --add spir64=notes.own --force -o out",
]


@pytest.mark.parametrize("words", [words for words in IMAGES if "=" in words])
def test_an_image_is_opened_once(work: Path, words: str) -> None:
    """It is copied, and where the result has a build-id, its sum is taken."""
    image = Path(re.findall(r"=(\S+)", words)[0])
    (found,) = reads(work, [OMPTOOL, *words.split()], image)
    assert found.opens == 1
    assert found.bytes <= 2 * image.stat().st_size + TABLES


LOOKING = [
    "dump app",
    "dump --kernels app",
    "dump --images --json app",
    "verify app",
    "verify host.o",
    "extract app --all -o images",
    "doctor app",
    "doctor --run ./app",
    "run ./app",
    "run --mandatory ./app",
]


@pytest.mark.parametrize("words", LOOKING)
def test_a_host_that_is_looked_at_is_opened_once(work: Path, words: str) -> None:
    host = next(Path(word) for word in words.split() if word in ("app", "./app", "host.o"))
    (found,) = reads(work, [OMPTOOL, *words.split()], host)
    assert found.opens == 1
    assert found.bytes <= TABLES


LINKED = {
    "objects": ["main.o", "region.o"],
    "archive": ["main.o", "libregion.a"],
    "script": ["main.o", "libscript.so", "region.o"],
}


@pytest.mark.parametrize("files", LINKED.values(), ids=LINKED)
def test_each_object_of_a_link_is_opened_once(work: Path, files: list[str]) -> None:
    """Beside the host's linker, which reads them as often as it likes."""
    named = [file for file in files if file != "region.o" or "libscript.so" not in files]
    words = ["link", CLANG, "-fopenmp", *named, "-o", "linked"]
    for found in reads(work, [OMPTOOL, *words], *map(Path, files)):
        assert found.opens == 1
        assert found.bytes <= TABLES
