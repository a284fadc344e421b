# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Hostile files: whatever byte is wrong, `dump` and `verify` end with a documented exit code."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import sycl
from click.testing import Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from toolchain import (
    HOST,
    MAIN,
    NVPTX,
    OPENMP,
    PTX,
    X86_64,
    bundled,
    clang_offload,
    compile_c,
    device_image,
    fake_runtime,
    linked,
    omptool,
    run,
    stripped,
)
from verifying import merging_script

from packager.elf.headers import read
from packager.files.reader import open_reader

pytestmark = pytest.mark.slow

NAMES = (
    "bundled.o",
    "program",
    "program.stripped",
    "program-relr",
    "program-nopie",
    "program-merged",
    "proposal-program",
    "proposal-merged",
    "clang-program",
    "clang-object",
    "image.so",
    "image.ptx",
    "packed",
    "joint",
    "libsycl_user.so",
    "packed.whl",
    "packed.deb",
)
# Values that are significant in headers and tables: small numbers, all ones, signs, one off.
BYTES = st.one_of(st.sampled_from([0, 1, 0x7F, 0x80, 0xFF]), st.integers(0, 255))
BOUNDED = settings(
    max_examples=30,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
LONG = settings(BOUNDED, max_examples=5000, derandomize=False)


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("robustness")
    host = compile_c(HOST + MAIN, folder / "host.o", "-c", "-fPIC")
    image = device_image(HOST, folder / "image.so")
    ptx = folder / "image.ptx"
    ptx.write_text(PTX)
    out = bundled(host, folder / "bundled.o", {X86_64: image, f"{NVPTX}:sm_70": ptx})
    runtime = fake_runtime(folder)
    stripped(linked([out], folder / "program", runtime=runtime))
    linked([out], folder / "program-nopie", "-no-pie", runtime=runtime)
    relr = ("-pie", "-Wl,-z,pack-relative-relocs")
    linked([out], folder / "program-relr", *relr, runtime=runtime)
    script = merging_script(folder / "merging.ld", "omptarget_entries", "-pie")
    linked([out], folder / "program-merged", f"-Wl,-T,{script}", runtime=runtime)
    proposal(folder)
    clang_offload(OPENMP, folder / "clang-program")
    clang_offload(OPENMP, folder / "clang-object", "-c")
    parts = (
        f"--image=file={image},triple={X86_64}",
        f"--image=file={ptx},triple={NVPTX},arch=sm_70",
    )
    run("clang-offload-packager-19", "-o", folder / "packed", *parts)
    joint = ("emit", "--format", "offload-binary", "--abi", "llvm-23", "-o", folder / "joint")
    assert (
        omptool(*joint, "--image", f"{X86_64}={image}", "--image", f"{NVPTX}:sm_70={ptx}").exit_code
        == 0
    )
    sycl.sample(folder)
    packages(folder, [image, ptx])
    return folder


def packages(folder: Path, files: list[Path]) -> None:
    """Pack the images into a zip file and a Debian package."""
    run("env", "-C", folder, "zip", "-q", "-j", "packed.whl", *files)
    root = folder / "root"
    (root / "DEBIAN").mkdir(parents=True)
    lines = ("Package: p", "Version: 1", "Architecture: all", "Maintainer: n", "Description: d")
    (root / "DEBIAN" / "control").write_text("\n".join((*lines, "")))
    for path in files:
        shutil.copy(path, root)
    run("dpkg-deb", "-Zgzip", "-b", root, folder / "packed.deb")


def proposal(folder: Path) -> None:
    """Make a program of 2013, and one whose records only the version of a call identifies."""
    source = (HOST + MAIN).replace("omptarget.h", "libtarget.h").replace("OMPTARGET_", "LIBTARGET_")
    source = source.split("int main")[0] + "int main(void) { return 0; }"
    host = compile_c(source, folder / "proposal.o", "-c", "-fPIC")
    image = device_image(source, folder / "proposal.so")
    out = folder / "proposal-bundled.o"
    words = ("--abi", "proposal", "--image", f"{X86_64}={image}", "-o", out)
    assert omptool("bundle", host, *words).exit_code == 0
    versions = folder / "proposal.map"
    versions.write_text("LIBTARGET_2013 { global: __tgt_*; };\n")
    names = ("__tgt_register_lib", "__tgt_unregister_lib")
    calls = "\n".join(f"void {name}(void) {{}}" for name in names)
    flags = ("-shared", "-fPIC", f"-Wl,--version-script={versions}", "-Wl,-soname,libtarget.so")
    runtime = compile_c(calls, folder / "libtarget.so", *flags)
    linked([out], folder / "proposal-program", runtime=runtime)
    script = merging_script(folder / "proposal.ld", "libtarget_entries", "-pie")
    linked([out], folder / "proposal-merged", f"-Wl,-T,{script}", runtime=runtime)


def check(path: Path) -> None:
    """Run both commands on a file, as text and as JSON."""
    for command in (("dump",), ("dump", "--json", "--hash"), ("verify",), ("verify", "--json")):
        assert_documented(omptool(*command, path))


def assert_documented(result: Result) -> None:
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code in (0, 1, 2)
    assert result.output.strip()
    if result.exit_code == 2:
        assert all(line.startswith("Error: ") for line in result.stderr.splitlines())
        assert result.stderr


def interesting(path: Path) -> list[int]:
    """Return the offsets of bytes that readers trust: headers, tables, and the data around them."""
    with open_reader(path) as data:
        size = len(data)
        if not data.starts_with(b"\x7fELF"):
            return list(range(min(size, 512)))
        elf = read(data)
        places = set(range(64))
        table = int.from_bytes(data.bytes(40, 8), "little")
        places.update(range(table, size))
        for section in elf.sections:
            if section.has_bytes and section.size < 4096 and not section.is_code:
                places.update(range(section.offset, section.offset + section.size))
            elif section.has_bytes:
                places.update(range(section.offset, section.offset + 256))
        return sorted(place for place in places if place < size)


def patched(data: bytes, edits: list[tuple[int, int]], size: int) -> bytes:
    changed = bytearray(data)
    for place, value in edits:
        changed[place] = value
    return bytes(changed[:size])


def attack(work: Path, name: str, limits: settings) -> None:
    path = work / name
    whole = path.read_bytes()
    target = work / f"attacked-{name}"
    places = st.one_of(
        st.sampled_from(interesting(path)), st.integers(min_value=0, max_value=len(whole) - 1)
    )
    sizes = st.one_of(st.just(len(whole)), st.integers(min_value=0, max_value=len(whole)))

    @limits
    @given(st.lists(st.tuples(places, BYTES), min_size=1, max_size=6), sizes)
    def one(edits: list[tuple[int, int]], size: int) -> None:
        target.write_bytes(patched(whole, edits, size))
        check(target)

    run_one: Callable[[], None] = one
    run_one()


@pytest.mark.parametrize("name", NAMES)
def test_flipped_and_truncated(work: Path, name: str) -> None:
    attack(work, name, BOUNDED)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", NAMES)
def test_flipped_and_truncated_at_length(work: Path, name: str) -> None:
    attack(work, name, LONG)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", NAMES)
def test_every_interesting_byte(work: Path, name: str) -> None:
    whole = (work / name).read_bytes()
    target = work / f"swept-{name}"
    for place in interesting(work / name):
        for value in (0, 0xFF, whole[place] ^ 1):
            target.write_bytes(patched(whole, [(place, value)], len(whole)))
            assert_documented(omptool("dump", "--json", target))
            assert_documented(omptool("verify", target))


@pytest.mark.parametrize("name", NAMES)
def test_cut_at_each_kilobyte(work: Path, name: str) -> None:
    whole = (work / name).read_bytes()
    target = work / f"cut-{name}"
    for size in range(0, len(whole), max(1, len(whole) // 16)):
        target.write_bytes(whole[:size])
        check(target)


def test_the_sound_files_are_sound(work: Path, tmp_path: Path) -> None:
    """The files under attack are read whole to begin with."""
    for name in NAMES:
        copy = tmp_path / name
        shutil.copy(work / name, copy)
        assert omptool("dump", copy).exit_code == 0
        assert omptool("verify", copy).exit_code == 0
