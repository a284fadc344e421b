# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""OMP111: malformed parts are findings, and the parts beside them are checked."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from containers import ARCHS, Containers
from documents import document
from places import DATA
from sarif_schema import run_of
from toolchain import OPENMP, clang_offload, omptool, run
from verifying import findings


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Containers:
    return Containers(tmp_path_factory.mktemp("malformed"))


def blobs(made: Containers) -> tuple[Path, int]:
    """Make OffloadBinaries; return the offset of the second one."""
    whole = made.packed("packed", *made.images)
    return whole, whole.read_bytes().index(b"\x10\xff\x10\xad", 4)


def joint(made: Containers) -> tuple[Path, int]:
    """Make an OffloadBinary with two entries, in LLVM 23's form; return the second one's offset."""
    return made.joint("joint", *made.images), 32 + 40


def bundles(made: Containers) -> tuple[Path, int]:
    one = made.bundle("bundle", *made.images)
    return made.joined("bundles", one, one), len(one.read_bytes())


def compressed(made: Containers) -> tuple[Path, int]:
    one = made.bundle("bundle.ccob", *made.images, packed=True)
    return made.joined("bundles.ccob", one, one), len(one.read_bytes())


def wide(made: Containers) -> tuple[Path, int]:
    """Make compressed bundles with the header of version 3, as a later clang may write it."""
    path, start = compressed(made)
    one = path.read_bytes()[start:]
    magic, method, total, size, digest = struct.unpack_from("<4s2xHII8s", one)
    packed = one[24:total]
    header = struct.pack("<4sHHQQ8s", magic, 3, method, 32 + len(packed), size, digest)
    path.write_bytes(one + header + packed)
    return path, len(one)


def fatbins(made: Containers) -> tuple[Path, int]:
    one = made.copy("none.fatbin", DATA / "none.fatbin")
    return made.joined("fatbins", one, one), len(one.read_bytes())


def member(made: Containers) -> tuple[Path, int]:
    """Make an archive of two bundles; return it and the offset of the second one."""
    one, two = (made.bundle(f"{name}.hipfb", *made.images) for name in ("one", "two"))
    path = made.archive("library.a", one, two)
    return path, path.read_bytes().rindex(b"__CLANG_OFFLOAD_BUNDLE__")


def text(made: Containers) -> tuple[Path, int]:
    source = made.folder / "k.ll"
    path = made.bundle("bundle.ll", source, source, kind="ll")
    return path, path.read_bytes().rindex(b"__END__")


# A change in the second part: offset and bytes, the message about it, and the number of images
# left.
Change = tuple[int, bytes, str, int]
Cases = dict[str, tuple[Callable[[Containers], tuple[Path, int]], Change]]
CASES: Cases = {
    "blob-size": (blobs, (8, b"\xff\xff", "OffloadBinary at 0x.* runs past the end", 1)),
    "blob-version": (blobs, (4, b"\0", "has version 0; versions 1 to 3 are read", 1)),
    "blob-string": (blobs, (80, b"\xff\xff", "OffloadBinary (key|value) at", 1)),
    "entry-image": (joint, (24, b"\xff\xff", "device image at 0x.* runs past the end", 1)),
    "entry-strings": (joint, (8, b"\xff\xff", "OffloadBinary string table at .* past the end", 1)),
    "entries-overlap": (joint, (-8, b"\xff", "the images of entries 0 and 1 overlap", 2)),
    "bundle-count": (bundles, (24, b"\xff\xff", "claims 65535 targets", 2)),
    "bundle-magic": (bundles, (0, b"x", "has no magic", 2)),
    "compressed-version": (compressed, (4, b"\0", "has version 0", 2)),
    "compressed-hash": (compressed, (16, b"xxxx", "does not have the checksum", 2)),
    "fatbin-header": (fatbins, (6, b"\7", "header size 7 is too small", 3)),
    "fatbin-entry": (fatbins, (20, b"\7", "header size 7 is too small", 3)),
    "archive-member": (member, (24, b"\xff\xff", "claims 65535 targets", 2)),
    "text-end": (text, (0, b"__end__", "of the text bundle does not end", 1)),
}
SECTIONS = {
    "blob-size": ".llvm.offloading",
    "entry-image": ".llvm.offloading",
    "blob-string": ".omptool.image.amdgcn-amd-amdhsa",
    "bundle-count": ".hip_fatbin",
    "compressed-hash": ".hip_fatbin",
    "fatbin-header": ".nv_fatbin",
}
# Sound parts of unknown formats: the message, and the number of images listed.
NEWER: Cases = {
    "newer-blob-version": (blobs, (4, b"\7", "OffloadBinary .* has version 7; versions 1 to 3", 2)),
    "newer-compressed-version": (wide, (4, b"\7", "has version 7; versions 1 to 3", 3)),
    "newer-compressed-method": (compressed, (6, b"\7", "has the unknown compression method 7", 3)),
    "newer-fatbin-version": (fatbins, (4, b"\7", "has version 7; only version 1 is read", 4)),
    "newer-fatbin-kind": (fatbins, (16, b"\7", "has the unknown kind 0x7", 6)),
}


def damaged(made: Containers, name: str) -> tuple[Path, str, int]:
    make, (at, patch, message, left) = (CASES | NEWER)[name]
    whole, start = make(made)
    data = bytearray(whole.read_bytes())
    data[start + at : start + at + len(patch)] = patch
    path = made.folder / f"damaged-{name}"
    path.write_bytes(data)
    return path, message, left


@pytest.mark.parametrize("name", NEWER)
def test_a_sound_part_of_a_newer_format(made: Containers, name: str) -> None:
    """A warning; the rest is read, and the part is listed and extracted as it is."""
    path, message, count = damaged(made, name)
    result = omptool("verify", path)
    assert (result.exit_code, result.stderr) == (0, "")
    (line,) = (line for line in result.stdout.splitlines() if re.search("OMP1[13]1", line))
    assert re.search(f"OMP131 warning: image .* is of a newer format: .*{message}", line)
    shown = omptool("dump", "--json", path)
    images = document("dump", shown.stdout)["files"][0]["images"]
    assert shown.exit_code == 0
    assert len(images) == count
    (unknown,) = (image for image in images if image["kind"] == "unknown")
    out = made.folder / f"out-{name}"
    taken = omptool("extract", path, "--image", str(unknown["index"]), "-o", out)
    (file,) = out.iterdir()
    at, size = unknown["offset"], unknown["size"]
    assert taken.exit_code == 0
    assert file.read_bytes() == path.read_bytes()[at : at + size]


def expect_finding(path: Path, message: str, left: int) -> None:
    """Check for one finding with the fault, exit code 1, no stderr; dump shows the rest."""
    result = omptool("verify", path)
    assert (result.exit_code, result.stderr) == (1, "")
    assert re.search(f"OMP111 error: .*{message}", result.stdout), result.stdout
    shown = omptool("dump", "--json", path)
    said = document("dump", shown.stdout)
    assert shown.exit_code == 2
    assert sum(len(file["images"]) for file in said["files"]) == left
    assert [re.search(message, error["message"]) is not None for error in said["errors"]] == [True]


@pytest.mark.parametrize("name", CASES)
def test_a_malformed_part_of_a_file(made: Containers, name: str) -> None:
    expect_finding(*damaged(made, name))


@pytest.mark.parametrize("name", SECTIONS)
def test_a_malformed_part_of_a_section(made: Containers, name: str) -> None:
    path, message, left = damaged(made, name)
    within = made.section(f"{name}.o", SECTIONS[name], path)
    expect_finding(within, f"section {SECTIONS[name]}: .*{message}", left)


@pytest.mark.parametrize("name", [name for name in SECTIONS if not name.startswith("entry")])
def test_a_file_of_which_nothing_can_be_read_is_no_finding(made: Containers, name: str) -> None:
    """The second part alone."""
    make, (at, patch, message, _) = CASES[name]
    whole, start = make(made)
    data = bytearray(whole.read_bytes()[start:])
    data[at : at + len(patch)] = patch
    path = made.folder / f"alone-{name}"
    path.write_bytes(data)
    result = omptool("verify", path)
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert re.fullmatch(f"Error: .*{message}.*", line)


@pytest.mark.slow
def test_a_program_whose_second_container_is_malformed(made: Containers, tmp_path: Path) -> None:
    """The program's entries are checked against the sound image."""
    program = clang_offload(OPENMP, tmp_path / "program")
    bad, message, _ = damaged(made, "bundle-count")
    run("objcopy", "--add-section", f".hip_fatbin={bad}", program, tmp_path / "both")
    found = {(f["code"], f["severity"]) for f in findings(tmp_path / "both")}
    assert ("OMP111", "error") in found
    assert "OMP105" not in {code for code, _ in found}
    (fault,) = (f for f in findings(tmp_path / "both") if f["code"] == "OMP111")
    assert re.search(f"section .hip_fatbin: .*{message}", str(fault["message"]))
    assert omptool("verify", "--ignore", "OMP111", tmp_path / "both").exit_code == 0


def test_images_that_share_bytes(made: Containers) -> None:
    """The second image of a bundle begins within the first."""
    data = bytearray(made.bundle("shared", *made.images).read_bytes())
    first, second = (data.index(f"hip-amdgcn-amd-amdhsa--{arch}".encode()) for arch in ARCHS)
    data[second - 24 : second - 16] = data[first - 24 : first - 16]
    data[second - 24] += 16
    path = made.folder / "sharing"
    path.write_bytes(data)
    result = omptool("verify", path)
    assert result.exit_code == 1
    assert re.search(r"OMP111 error: image 0 at \w+\.\.\w+ and image 1 at", result.stdout)
    assert "share bytes of the file" in result.stdout


def test_images_that_are_left_come_out(made: Containers, tmp_path: Path) -> None:
    path, message, left = damaged(made, "bundle-count")
    result = omptool("extract", "--all", path, "-o", tmp_path)
    assert result.exit_code == 2
    assert len(list(tmp_path.iterdir())) == left
    assert re.search(message, result.stderr)


def test_the_sound_files_have_no_finding(made: Containers) -> None:
    for make in (blobs, bundles, compressed, fatbins, member, text):
        path, _ = make(made)
        assert omptool("verify", "--select", "OMP111", path).exit_code == 0


def test_faults_are_told_to_other_tools(made: Containers) -> None:
    path, _, _ = damaged(made, "archive-member")
    one = run_of(omptool("verify", "--sarif", path).stdout)
    assert "OMP111" in {result["ruleId"] for result in one["results"]}
