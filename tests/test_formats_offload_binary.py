"""OffloadBinary: what clang's packager writes is read, one wrong field is named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from toolchain import NVPTX, PTX, X86_64, run

from packager.errors import FormatError
from packager.formats import offload_binary
from packager.reader import Reader


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Two blobs by clang-offload-packager: PTX for sm_70, and 100 bytes for x86_64."""
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
    one, two = offload_binary.parse(Reader(packed))
    assert one.image.bytes() == PTX.encode()
    assert (one.image_kind, one.offload_kind) == (5, offload_binary.KIND_OPENMP)
    assert one.strings == {"triple": NVPTX, "arch": "sm_70", "feature": "+ptx85"}
    assert two.image.bytes() == bytes(range(100))
    assert (two.image_kind, two.strings["triple"]) == (1, X86_64)


@pytest.mark.parametrize(
    ("at", "patch", "message"),
    [
        pytest.param(0, b"\0", "OffloadBinary at 0x0 has no magic", id="magic"),
        pytest.param(4, b"\2", "has version 2; only version 1 is read", id="version"),
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
        list(offload_binary.parse(Reader(wrong)))


@pytest.mark.parametrize("size", [4, 31, 71, 100, -1])
def test_a_truncated_file_is_named(packed: bytes, size: int) -> None:
    with pytest.raises(FormatError, match="past the end"):
        list(offload_binary.parse(Reader(packed[:size])))


@pytest.mark.parametrize("size", [1, 7, 8, 1000])
@pytest.mark.parametrize("arch", ["", "sm_90"])
def test_what_is_written_is_read_back(size: int, arch: str) -> None:
    image = bytes(n % 251 for n in range(size))
    head, padding = offload_binary.header(5, NVPTX, arch, size)
    data = head + image + bytes(padding)
    (blob,) = offload_binary.parse(Reader(data * 1))
    assert blob.image.bytes() == image
    assert blob.strings == {"triple": NVPTX, "arch": arch}
    assert len(data) % 8 == 0
    assert len(list(offload_binary.parse(Reader(data * 3)))) == 3
