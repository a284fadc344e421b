# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""OffloadBinary: what clang's packager writes is read, one wrong field is named."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from pathlib import Path

import clangs
import pytest
import zstandard
from host_bytes import Pack, later
from toolchain import NVPTX, PTX, X86_64, run

from packager.errors import FormatError
from packager.files.reader import Reader
from packager.formats.containers import offload_binary


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Provide two blobs by clang-offload-packager: PTX for sm_70, and 100 bytes for x86_64."""
    folder = tmp_path_factory.mktemp("packed")
    (folder / "one.s").write_text(PTX)
    (folder / "two.o").write_bytes(bytes(range(100)))
    images = (
        f"--image=file={folder / 'one.s'},triple={NVPTX},arch=sm_70,kind=openmp,feature=+ptx85",
        f"--image=file={folder / 'two.o'},triple={X86_64},kind=openmp",
    )
    run("clang-offload-packager-19", "-o", folder / "out", *images)
    return Path(folder / "out").read_bytes()


def test_blobs_of_the_real_packager(packed: bytes) -> None:
    one, two = offload_binary.blobs(Reader(packed))
    assert one.image.bytes() == PTX.encode()
    assert (one.image_kind, one.offload_kind) == (5, offload_binary.KIND_OPENMP)
    assert one.strings == {"triple": NVPTX, "arch": "sm_70", "feature": "+ptx85"}
    assert two.image.bytes() == bytes(range(100))
    assert (two.image_kind, two.strings["triple"]) == (1, X86_64)


@pytest.mark.parametrize(
    ("at", "patch", "message"),
    [
        pytest.param(0, b"\0", "OffloadBinary at 0x0 has no magic", id="magic"),
        pytest.param(4, b"\4", "has version 4; versions 1 to 3 are read", id="version"),
        pytest.param(8, b"\xff\xff", "OffloadBinary at 0x0..0xffff runs past the end", id="size"),
        pytest.param(8, bytes(8), "size 0 is smaller than its header", id="size-zero"),
        pytest.param(16, b"\xff\xff", "OffloadBinary entry at 0xffff", id="entry-offset"),
        pytest.param(40, b"\xff\xff", "OffloadBinary string table at 0xffff", id="strings-at"),
        pytest.param(48, b"\xff\xff", "OffloadBinary at 0x0 claims 65535 strings", id="strings"),
        pytest.param(56, b"\xff\xff", "device image at 0xffff", id="image-at"),
        pytest.param(64, b"\xff\xff", "device image at", id="image-size"),
        pytest.param(71, b"\xff", "device image at", id="image-size-huge"),
        pytest.param(72, b"\xff\xff", "OffloadBinary key at 0xffff", id="key"),
        pytest.param(80, b"\xff\xff", "OffloadBinary value at 0xffff", id="value"),
    ],
)
def test_one_wrong_field_is_named(packed: bytes, at: int, patch: bytes, message: str) -> None:
    wrong = bytearray(packed)
    wrong[at : at + len(patch)] = patch
    with pytest.raises(FormatError, match=re.escape(message)):
        list(offload_binary.blobs(Reader(wrong)))


@pytest.fixture(scope="module")
def joint(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Provide one binary in LLVM 23's form: 13 bytes, directly followed by PTX."""
    folder = tmp_path_factory.mktemp("joint")
    (folder / "one.o").write_bytes(bytes(range(13)))
    (folder / "two.s").write_text(PTX)
    images = (
        f"--image=file={folder / 'one.o'},triple={X86_64},arch=generic,kind=openmp",
        f"--image=file={folder / 'two.s'},triple={NVPTX},arch=sm_70,kind=openmp,note=kept",
    )
    run(*clangs.tool("23", "llvm-offload-binary"), "-o", folder / "out", *images)
    return Path(folder / "out").read_bytes()


SECOND = 32 + 40  # offset of the second entry


def test_images_that_follow_each_other_without_padding(joint: bytes) -> None:
    one, two = offload_binary.blobs(Reader(joint))
    assert (one.version, one.image.bytes()) == (2, bytes(range(13)))
    assert (one.strings, one.image.at % 8) == ({"triple": X86_64, "arch": "generic"}, 0)
    assert (two.version, two.image.bytes()) == (2, PTX.encode())
    assert (two.image.at, two.image.at % 8) == (one.image.at + 13, 5)
    assert two.strings == {"triple": NVPTX, "arch": "sm_70", "note": "kept"}
    assert len(list(offload_binary.blobs(Reader(joint * 3)))) == 6


@pytest.mark.parametrize(
    ("at", "patch", "message", "left"),
    [
        pytest.param(
            4, b"\4", "has version 4; versions 1 to 3 are read: a newer LLVM", 0, id="new"
        ),
        pytest.param(8, b"\xff\xff", "at 0x0..0xffff runs past the end", 0, id="size"),
        pytest.param(16, b"\xff\xff", "OffloadBinary entry at 0xffff", 0, id="entries-at"),
        pytest.param(24, b"\xff\xff", "OffloadBinary at 0x0 claims 65535 entries", 0, id="count"),
        pytest.param(24, b"\6", "OffloadBinary", 2, id="count-into-strings"),
        pytest.param(SECOND + 8, b"\xff\xff", "string table at 0xffff", 1, id="strings-at"),
        pytest.param(SECOND + 16, b"\xff\xff", "claims 65535 strings", 1, id="strings"),
        pytest.param(SECOND + 24, b"\xff\xff", "device image at 0xffff", 1, id="image-at"),
        pytest.param(SECOND + 32, b"\xff\xff", "device image at", 1, id="image-size"),
        pytest.param(SECOND + 39, b"\xff", "device image at", 1, id="image-size-huge"),
        pytest.param(64, b"\x0e", "0x0: the images of entries 0 and 1 overlap", 2, id="overlap"),
    ],
)
def test_one_wrong_field_of_a_joint_one(
    joint: bytes, at: int, patch: bytes, message: str, left: int
) -> None:
    """The other entry is read all the same."""
    wrong = bytearray(joint)
    wrong[at : at + len(patch)] = patch
    with pytest.raises(FormatError, match=re.escape(message)):
        list(offload_binary.blobs(Reader(wrong)))
    assert len(list(until_damage(wrong))) == left


def until_damage(data: bytearray) -> Iterator[offload_binary.Blob]:
    try:
        yield from offload_binary.blobs(Reader(data))
    except FormatError:
        return


@pytest.mark.parametrize("size", [4, 31, 71, 100, -1])
def test_a_truncated_file_is_named(packed: bytes, joint: bytes, size: int) -> None:
    for whole in (packed, joint):
        with pytest.raises(FormatError, match="past the end"):
            list(offload_binary.blobs(Reader(whole[:size])))


@pytest.mark.parametrize("size", [1, 7, 8, 1000])
@pytest.mark.parametrize("arch", ["", "sm_90"])
@pytest.mark.parametrize("version", [1, 2])
def test_what_is_written_is_read_back(size: int, arch: str, version: int) -> None:
    image = bytes(n % 251 for n in range(size))
    item = offload_binary.Item(5, {"triple": NVPTX, "arch": arch}, size)
    head, padding = offload_binary.header([item], version)
    data = head + image + bytes(padding)
    (blob,) = offload_binary.blobs(Reader(data * 1))
    assert blob.image.bytes() == image
    assert blob.strings == {"triple": NVPTX, "arch": arch}
    assert len(data) % 8 == 0
    assert len(list(offload_binary.blobs(Reader(data * 3)))) == 3


ENTRIES = [
    (0, {"triple": NVPTX, "arch": "sm_70"}, PTX.encode()),
    (0, {"triple": NVPTX, "arch": "sm_90", "note": "a\0b"}, b"// two"),
]
PACKS: dict[str, Pack] = {
    "plain": lambda body: body,
    "zstd": lambda body: zstandard.ZstdCompressor().compress(body),
    "zlib": zlib.compress,
}


@pytest.mark.parametrize(("version", "how"), [(2, "plain"), (3, "plain"), (3, "zstd"), (3, "zlib")])
def test_later_versions_hold_several_images(version: int, how: str) -> None:
    data = later(version, ENTRIES, PACKS[how])
    one, two = offload_binary.parse(Reader(data))
    assert (one.triple, one.arch, one.image.bytes()) == (NVPTX, "sm_70", PTX.encode())
    assert (two.arch, two.image.bytes()) == ("sm_90", b"// two")
    if how == "plain":
        assert (one.compression, one.stored) == (None, None)
    else:
        assert one.compression == how
        assert one.stored is not None
        assert one.stored.bytes() == data


def test_an_entry_of_metadata_has_no_image() -> None:
    data = later(3, [(1, {"note": "x"}, b""), *ENTRIES], PACKS["plain"])
    assert len(list(offload_binary.parse(Reader(data)))) == 2


@pytest.mark.parametrize(
    ("at", "patch", "message"),
    [
        pytest.param(24, b"\xff\xff", "claims 65535 entries", id="count"),
        pytest.param(32, b"\xff\xff\x0f", "inflates to", id="inflated"),
        pytest.param(32, b"\xff\xff\xff", "the limit is 300 times as many", id="ratio"),
        pytest.param(39, b"\xff", "bytes; the limit is 1073741824", id="inflated-huge"),
        pytest.param(32, b"\1\0\0", "claims to inflate to 1 bytes", id="inflated-tiny"),
        pytest.param(50, b"\0\0", "is not a zstd stream", id="damaged"),
    ],
)
def test_one_wrong_field_of_a_compressed_one(at: int, patch: bytes, message: str) -> None:
    wrong = bytearray(later(3, ENTRIES, PACKS["zstd"]))
    wrong[at : at + len(patch)] = patch
    with pytest.raises(FormatError, match=re.escape(message)):
        list(offload_binary.blobs(Reader(wrong)))
