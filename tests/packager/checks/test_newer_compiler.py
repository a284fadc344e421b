# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""OMP131: files of a future clang, made from clang 23's with a field changed."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from clangs import OFFLOADING, made, tool
from host_bytes import later
from toolchain import NVPTX, OPENMP, omptool, run
from verifying import findings

from packager.generations import NEWEST, of_release
from packager.hosts.load import load

pytestmark = pytest.mark.slow

HERE = b"clang version 23."
LATER = b"clang version 25."
UNKNOWN = (
    "its calls may have a version that omptool does not know, and such regions run on the host"
)
NOT_KNOWN = "which omptool does not know"
CURE = "update omptool, or compile with clang 24 or older"
Change = Callable[[bytes, Path], bytes]


def test_the_newest_generation_is_that_of_these_tests() -> None:
    assert NEWEST.last_release == 24


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("newer")
    (folder / "program.c").write_text(OPENMP)
    return folder


def of_23(folder: Path, *flags: str) -> Path:
    words = [*tool("23"), "-O1", *OFFLOADING[:2], *flags, str(folder / "program.c")]
    return made(folder / f"of-23{''.join(flags)}", *words)


def changed(folder: Path, change: Change, *flags: str) -> Path:
    whole = of_23(folder, *flags)
    out = folder / "changed"
    out.write_bytes(change(whole.read_bytes(), whole))
    out.chmod(0o755)
    return out


def everywhere(data: bytes, _: Path) -> bytes:
    return data.replace(HERE, LATER)


def in_image(data: bytes, path: Path) -> bytes:
    (image,) = load(path).images
    end = image.offset + image.size
    return data[: image.offset] + everywhere(data[image.offset : end], path) + data[end:]


def in_host(data: bytes, path: Path) -> bytes:
    """Change the clang release in the host only, as if an object of the later clang were linked."""
    (image,) = load(path).images
    end = image.offset + image.size
    whole = everywhere(data, path)
    return whole[: image.offset] + data[image.offset : end] + whole[end:]


def entries(data: bytes, path: Path) -> bytes:
    (table,) = load(path).tables
    patched = bytearray(data)
    for at in range(table.offset, table.offset + table.size, table.record_size):
        struct.pack_into("<H", patched, at + 8, 2)
    return bytes(patched)


def both(data: bytes, path: Path) -> bytes:
    return everywhere(entries(data, path), path)


def places(path: Path) -> set[str]:
    """Return the places at which doctor predicts that entries run."""
    return {
        str(entry["runs_on"])
        for entry in json.loads(omptool("doctor", "--json", path).stdout)["entries"]
    }


def lines(path: Path) -> list[tuple[str, str, str]]:
    found = [f for f in findings(path) if f["code"] == "OMP131"]
    return [(str(f["severity"]), str(f["message"]), str(f["hint"])) for f in found]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (everywhere, f"clang 25 compiled image 0: {UNKNOWN}"),
        (in_image, f"clang 25 compiled image 0: {UNKNOWN}"),
        (in_host, f"clang 25 compiled parts of the host: {UNKNOWN}"),
        (entries, f"a compiler after clang 24 wrote entries of version 2, {NOT_KNOWN}"),
        (both, f"clang 25 wrote entries of version 2, {NOT_KNOWN}"),
    ],
)
def test_a_program(folder: Path, change: Change, message: str) -> None:
    path = changed(folder, change)
    assert lines(path) == [("error", message, CURE)]
    (line,) = (text for text in omptool("verify", path).stdout.splitlines() if "OMP131" in text)
    assert f"OMP131 error: {message}" in line
    assert omptool("dump", path).exit_code == 0
    assert len(load(path).entries) == 3
    assert load(path).abi == of_release(23).name  # the form is that of clang 23


@pytest.mark.parametrize("way", [{}], ids=["at-once"], indirect=True)
def test_doctor_says_it_before_the_program_runs(folder: Path) -> None:
    path = changed(folder, everywhere)
    done = omptool("doctor", path)
    assert done.exit_code == 1
    assert f"OMP202 error: clang 25 compiled image 0: {UNKNOWN}" in done.stdout
    assert CURE in done.stdout
    assert places(path) == {"device 0 (host)"}
    assert omptool("doctor", of_23(folder)).stdout.count("clang 25") == 0


@pytest.mark.parametrize("way", [{}], ids=["at-once"], indirect=True)
def test_doctor_says_that_the_runtime_ignores_unknown_entries(folder: Path) -> None:
    path = changed(folder, entries)
    assert omptool("doctor", path).exit_code == 1
    assert places(path) == {"host"}


def test_a_part_of_the_host_that_may_have_no_regions(folder: Path) -> None:
    """An object of a later clang is linked with those of 23."""
    (folder / "plain.c").write_text("int plain;")
    run(*tool("23"), "-c", folder / "plain.c", "-o", folder / "plain.o")
    later_one = folder / "plain.o"
    later_one.write_bytes(later_one.read_bytes().replace(HERE, LATER))
    run(*tool("23"), *OFFLOADING[:2], of_23(folder, "-c"), later_one, "-o", folder / "mixed")
    ((severity, message, _),) = lines(folder / "mixed")
    assert (severity, message[:39]) == ("warning", "clang 25 compiled parts of the host: it")


def test_bits_of_map_types(folder: Path) -> None:
    """0x10000, which clang 24 sets for saved values of task graphs; an object has the symbol."""
    run(*tool("23"), "-O1", *OFFLOADING[:2], "--offload-host-only", "-S", folder / "program.c",
        "-o", folder / "host.s")  # fmt: skip
    types = re.compile(r"(^\.L\.offload_maptypes[.\d]*:\n\s+\.quad\s+)(\d+)", re.MULTILINE)
    text, count = types.subn(
        lambda found: found[1] + str(int(found[2]) | 0x10000), (folder / "host.s").read_text()
    )
    assert count
    (folder / "host.s").write_text(text)
    run(*tool("23"), "-c", folder / "host.s", "-o", folder / "host.o")
    ((severity, message, _),) = lines(folder / "host.o")
    assert severity == "error"
    assert message == f"a compiler after clang 24 wrote map-type bits 0x10000, {NOT_KNOWN}"


def test_a_later_container(folder: Path) -> None:
    """Version 3 is clang 24's, and version 4 is listed as one image."""
    section = later(3, [(0, {"triple": NVPTX, "arch": "sm_70"}, b"//")], lambda body: body)
    for version in (3, 4):
        (folder / "blob").write_bytes(section[:4] + bytes([version]) + section[5:])
        update = ("--update-section", f".llvm.offloading={folder / 'blob'}")
        run("objcopy", *update, of_23(folder, "-c"), folder / "later.o")
        assert len(load(folder / "later.o").images) == 1
        if version == 3:
            assert lines(folder / "later.o") == []
        else:
            ((severity, message, _),) = lines(folder / "later.o")
            assert severity == "error"
            assert "wrote an OffloadBinary of version 4, which omptool does" in message
