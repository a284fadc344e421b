# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each command opens its host once, and reads each part of it once or little more."""

from __future__ import annotations

import re
import tarfile
from pathlib import Path
from random import Random
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import pytest
import toolchain
from fixture_programs import OMPTOOL
from linking import FAST_LINKER
from reads import reads
from toolchain import CLANG, X86_64, run

pytestmark = pytest.mark.slow

PADDING = 1 << 20
# Limit of bytes read besides copied bytes. Headers, names, symbols and records are a twentieth of
# these files. They decide what is copied, so they are read first, in blocks of 4 KiB where a read
# is short. Reading the padding twice would exceed the limit four times.
TABLES = PADDING // 4
PADDED = ("host.o", "app", "plain", "main.o", "region.o", "main.bc.o", "region.bc.o")
# An unneeded object with a large device image.
SPARE = f"""
char spare[{PADDING}] = {{[0 ... {PADDING - 1}] = 1}};
#pragma omp declare target to(spare)
void fill(void) {{
#pragma omp target
  spare[0] = 2;
}}
"""
IMAGE = f"--image {X86_64}=image.so"


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with images, and with hosts that are padded by 1 MiB."""
    folder = tmp_path_factory.mktemp("reads")
    (folder / "padding").write_bytes(Random(1).randbytes(PADDING))  # incompressible in any package
    toolchain.compile_c(toolchain.HOST, folder / "host.o", "-c")
    toolchain.device_image(toolchain.HOST, folder / "image.so")
    (folder / "image.ptx").write_text(toolchain.PTX)
    (folder / "notes.own").write_bytes(b"own" * (1 << 18))
    toolchain.clang_offload(toolchain.OPENMP, folder / "app")
    toolchain.compile_c(toolchain.OPENMP, folder / "plain")
    (folder / "region.c").write_text(toolchain.REGION)
    for name, source, *more in (
        ("main.o", toolchain.OPENMP),
        ("region.o", toolchain.REGION),
        ("spare.o", SPARE),
        ("main.lto.o", toolchain.OPENMP, "-flto"),
        ("main.bc.o", toolchain.OPENMP, "-foffload-lto"),
        ("region.bc.o", toolchain.REGION, "-foffload-lto"),
    ):
        flags = ("-c", "-fopenmp", f"-fopenmp-targets={X86_64}", *more)
        toolchain.compile_c(source, folder / name, *flags, compiler=CLANG)
    for name in (*PADDED, "image.so"):
        run("objcopy", "--add-section", f".padding={folder / 'padding'}", folder / name)
    run("ar", "rc", folder / "libregion.a", folder / "region.o")
    run("ar", "rc", folder / "libspare.a", folder / "region.o", folder / "spare.o")
    pack(folder)
    (folder / "libscript.so").write_text("INPUT(region.o)")
    return folder


def pack(folder: Path) -> None:
    """Put the program into packages."""
    for name, method in (("app.whl", ZIP_DEFLATED), ("stored.whl", ZIP_STORED)):
        with ZipFile(folder / name, "w", method) as wheel:
            wheel.write(folder / "app", "app.so")
    with tarfile.open(folder / "data.tar.gz", "w:gz") as data:
        data.add(folder / "app", "./app")
    (folder / "debian-binary").write_text("2.0\n")
    run("ar", "rc", folder / "app.deb", folder / "debian-binary", folder / "data.tar.gz")


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
    """The image is opened once for copying and, if the result has a build-id, for hashing."""
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


@pytest.mark.parametrize("command", ["dump", "verify", "extract --all -o piped"])
def test_standard_input_is_read_in_place(work: Path, command: str) -> None:
    name, *options = command.split()
    (found,) = reads(work, [OMPTOOL, name, "-", *options], Path("app"), stdin=Path("app"))
    assert found.opens == 0
    assert found.bytes <= TABLES


@pytest.mark.parametrize("command", ["dump", "verify"])
@pytest.mark.parametrize("package", ["app.whl", "stored.whl", "app.deb"])
def test_a_package_is_opened_and_read_once(work: Path, package: str, command: str) -> None:
    (found,) = reads(work, [OMPTOOL, command, package], Path(package))
    assert found.opens == 1
    inflated = 0 if package == "stored.whl" else Path(package).stat().st_size
    assert found.bytes <= inflated + TABLES


OFFLOAD = f"link {CLANG} -fopenmp {FAST_LINKER}"
WITH_CC = f"cc --cc {CLANG} -- {FAST_LINKER}"
# Commands with the files of which each should read little.
LINKED = {
    "objects": (f"{OFFLOAD} main.o region.o -o linked", "main.o region.o"),
    "archive": (f"{OFFLOAD} main.o libregion.a -o linked", "main.o libregion.a"),
    "spare member": (f"{OFFLOAD} main.o libspare.a -o linked", "main.o libspare.a"),
    "script": (f"{OFFLOAD} main.o libscript.so -o linked", "main.o libscript.so region.o"),
    "bitcode": (f"{OFFLOAD} -flto main.lto.o region.o -o linked", "main.lto.o region.o"),
    "device bitcode": (f"{OFFLOAD} main.bc.o region.bc.o -o linked", "main.bc.o region.bc.o"),
    "relocatable": (f"link --force {CLANG} -r main.o region.o -o linked.o", "main.o region.o"),
    "cc": (f"{WITH_CC} main.o region.o -o linked", "main.o region.o"),
    "cc of a source": (f"{WITH_CC} main.o region.c -o linked", "main.o"),
}


@pytest.mark.parametrize(("words", "files"), LINKED.values(), ids=LINKED)
def test_each_object_of_a_link_is_opened_once(work: Path, words: str, files: str) -> None:
    """The host's linker may read objects more often."""
    for found in reads(work, [OMPTOOL, *words.split()], *map(Path, files.split())):
        assert found.opens == 1
        assert found.bytes <= TABLES
