# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ask omptool the questions of LLVM's tests of its readers.

Each test has the name of one in `llvm/test/tools/llvm-objdump/Offloading` or `llvm-offload-binary`.
The inputs are our own. If LLVM's tool on this machine reads them, its answer is compared; else the
expected answer is that of a later release in LLVM's test.
"""

from __future__ import annotations

import re
import struct
import subprocess
import zlib
from pathlib import Path
from typing import Any

import pytest
import zstandard
from containers import AMD, Containers
from documents import document
from host_bytes import (
    ALLOCATED,
    BITCODE,
    CUBIN,
    EXECUTABLE,
    HIP,
    NO_IMAGE,
    NO_KIND,
    OBJECT,
    OPENMP,
    PROGBITS,
    RELOCATABLE,
    SHARED,
    Image,
    Section,
    bundle,
    coff,
    compressed_bundle,
    elf,
    later,
    offload_binary,
)  # fmt: skip
from toolchain import NVPTX, omptool, run

HOST = "host-x86_64-unknown-linux-gnu-"
ONE, TWO = b"code for the first\n", b"code for the second\n"
IMAGES = [
    Image(BITCODE, OPENMP, AMD, "gfx908"),
    Image(BITCODE, OPENMP, AMD, "gfx90a"),
    Image(CUBIN, OPENMP, NVPTX, "sm_52"),
    Image(NO_IMAGE, NO_KIND, NVPTX, "sm_70"),
]
FOUR = b"".join(map(offload_binary, IMAGES))
KINDS = {"bitcode": "llvm ir", None: "<none>"}  # llvm-objdump's names of kinds
NESTED = b"".join(
    offload_binary(Image(BITCODE, OPENMP, "x-y-z", arch, data))
    for arch, data in (("abc", ONE), ("def", TWO))
)
TRIPLES = ("x-y-z", "a-b-c")
NO_HEADER = bytes.fromhex("10ff10ad")  # the magic, and nothing behind it


def in_section(content: bytes, form: int = EXECUTABLE, aligned: int = 8) -> bytes:
    return elf(form, [Section(".llvm.offloading", content, aligned=aligned)])


def in_hip_section(content: bytes) -> bytes:
    return elf(EXECUTABLE, [Section(".hip_fatbin", content, PROGBITS, ALLOCATED, 4096)])


class Asked:
    """A file, and omptool's view of it."""

    def __init__(self, folder: Path, content: bytes, name: str = "input") -> None:
        self.path = folder / name
        self.path.write_bytes(content)
        self.folder = folder
        result = omptool("dump", "--json", self.path)
        self.exit_code, self.said = result.exit_code, result.stderr
        read = document("dump", result.stdout) if result.stdout else {"files": []}
        self.images: list[dict[str, Any]] = [i for f in read["files"] for i in f["images"]]

    def of_each(self, *keys: str) -> list[tuple[Any, ...]]:
        return [tuple(image[key] for key in keys) for image in self.images]

    @property
    def levels(self) -> list[list[dict[str, Any]]]:
        """Return the nested containers around each image."""
        return [image["levels"] for image in self.images]

    def extracted(self, *options: object) -> list[bytes]:
        """Return the images that the options choose, in order."""
        to = self.folder / f"out{len(list(self.folder.iterdir()))}"
        result = omptool("extract", *options, "-o", to, self.path)
        assert result.exit_code == 0, result.output
        return [Path(line).read_bytes() for line in result.stdout.splitlines()]

    def theirs(self) -> subprocess.CompletedProcess[str]:
        command = ["llvm-objdump-19", "--offloading", str(self.path)]
        return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Containers:
    """Provide code objects for two of AMD's processors."""
    return Containers(tmp_path_factory.mktemp("llvms"))


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(FOUR, id="binary.test"),
        pytest.param(in_section(FOUR, EXECUTABLE), id="elf.test-executable"),
        pytest.param(in_section(FOUR, SHARED), id="elf.test-shared"),
        pytest.param(in_section(FOUR, RELOCATABLE), id="elf.test-object"),
        pytest.param(coff({".rdata": b"", ".llvm.offloading": FOUR}), id="coff.test"),
        pytest.param(
            elf(
                EXECUTABLE,
                [
                    Section(".misaligned", b"ABC", PROGBITS, aligned=1),
                    Section(".llvm.offloading", FOUR, aligned=1),
                ],
            ),
            id="alignment.test",
        ),
    ],
)
def test_what_each_image_is(tmp_path: Path, content: bytes) -> None:
    """Kind, processor, triple and producer, in a file and in the sections of host files."""
    asked = Asked(tmp_path, content)
    theirs = asked.theirs().stdout
    ours = [
        f"kind {KINDS.get(kind, kind)} arch {arch} triple {triple} producer {producer or 'none'}"
        for kind, arch, triple, producer in asked.of_each(
            "declared_kind", "arch", "triple", "producer"
        )
    ]
    found = re.findall(r"kind +(.*)\narch +(.*)\ntriple +(.*)\nproducer +(.*)", theirs)
    assert ours == [f"kind {k} arch {a} triple {t} producer {p}" for k, a, t, p in found]
    assert len(ours) == len(IMAGES)
    assert asked.exit_code == 0


@pytest.mark.parametrize("inside", [False, True], ids=["file", "section"])
def test_objdump_compressed(tmp_path: Path, inside: bool) -> None:
    """compressed.test: LLVM 19 has no such version."""
    data = later(3, [(0, {"triple": AMD, "arch": "gfx90a"}, b"code")], zstd, (CUBIN, HIP))
    asked = Asked(tmp_path, in_section(data, RELOCATABLE) if inside else data)
    keys = ("declared_kind", "arch", "triple", "producer", "size")
    assert asked.of_each(*keys) == [("cubin", "gfx90a", AMD, "hip", 4)]


def zstd(body: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(body)


@pytest.mark.parametrize(
    ("section", "ours", "theirs"),
    [
        pytest.param(
            Section(".llvm.offloading", FOUR, at=0x99999),
            r"section \.llvm\.offloading at 0x99999.* runs past the end",
            "The end of the file was unexpectedly encountered",
            id="content-failure.test",
        ),
        pytest.param(
            Section(".llvm.offloading", NO_HEADER),
            r"OffloadBinary header at 0x40.* runs past the end",
            "Invalid data was encountered while parsing the file",
            id="failure.test",
        ),
    ],
)
def test_a_section_that_cannot_be_read(
    tmp_path: Path, section: Section, ours: str, theirs: str
) -> None:
    """Both tools fail; omptool also names the part of the file, and the place."""
    asked = Asked(tmp_path, elf(EXECUTABLE, [section]))
    assert asked.exit_code == 2
    assert re.search(ours, asked.said)
    answer = asked.theirs()
    assert answer.returncode == 1
    assert theirs in answer.stderr


def test_objdump_warning(tmp_path: Path) -> None:
    """warning.test: what precedes the damaged part is shown.

    LLVM 19 shows nothing; later releases show it and only warn. Ours exits 2, as not all was read.
    """
    damaged = bytearray(offload_binary(Image(CUBIN, OPENMP, NVPTX, "sm_70", ONE)))
    struct.pack_into("<Q", damaged, 16, 999_999_999)  # the offset of its entry
    asked = Asked(tmp_path, in_section(FOUR + damaged))
    assert asked.of_each("arch") == [(image.arch,) for image in IMAGES]
    assert asked.exit_code == 2
    assert "OffloadBinary entry at" in asked.said
    assert "The end of the file was unexpectedly encountered" in asked.theirs().stderr


def test_objdump_non_elf(tmp_path: Path) -> None:
    """non-elf.test: both tools reject Mach-O; omptool exits with an error."""
    asked = Asked(tmp_path, struct.pack("<7I", 0xFEEDFACE, 7, 3, 1, 0, 0, 0x2000))
    assert (asked.exit_code, asked.images) == (2, [])
    assert "is neither an ELF file nor" in asked.said
    assert "only supported for COFF and ELF" in asked.theirs().stderr


def test_objdump_fatbin_arch_name(tmp_path: Path) -> None:
    """fatbin-arch-name.test: all images of a HIP program by default, or those of a processor.

    The host's part is no device image: omptool does not show it.
    """
    parts = {HOST: b"host\n", f"hip-{AMD}--gfx906": ONE, f"hip-{AMD}--gfx908": TWO}
    asked = Asked(tmp_path, in_hip_section(bundle(parts)))
    assert asked.of_each("arch", "producer") == [("gfx906", "hip"), ("gfx908", "hip")]
    assert asked.extracted("--all") == [ONE, TWO]
    assert asked.extracted("--arch", "gfx908") == [TWO]


@pytest.mark.parametrize("packed", [False, True], ids=["", "compress"])
@pytest.mark.parametrize("name", ["fatbin", "fatbin-coff"])
def test_objdump_fatbin(made: Containers, tmp_path: Path, name: str, packed: bool) -> None:
    """fatbin.test, fatbin-compress.test, fatbin-coff.test, fatbin-coff-compress.test.

    The code object comes out whole, and its code is shown.
    """
    code = made.images[0].read_bytes()
    data = bundle({HOST: b"", f"hipv4-{AMD}--gfx90a": code})
    data = compressed_bundle(data, zstd(data)) if packed else data
    content = coff({".hip_fatbin": data}) if name == "fatbin-coff" else in_hip_section(data)
    asked = Asked(tmp_path, content)
    keys = ("arch", "kind", "kernels", "compression")
    ((arch, kind, kernels, compression),) = asked.of_each(*keys)
    assert (arch, kind, kernels) == ("gfx90a", "amdgcn", ["first"])
    assert compression == ("zstd" if packed else None)
    assert asked.extracted() == [code]
    shown = omptool("dump", "--disassemble", "first", asked.path).stdout
    theirs = run("llvm-objdump-19", "-d", made.images[0])
    words = re.findall(r"^\s+([sv]_\w+|global_\w+)", theirs, re.MULTILINE)
    assert "s_endpgm" in words
    assert re.findall(r"^\s+([sv]_\w+|global_\w+)", shown, re.MULTILINE)[: len(words)] == words


def test_objdump_fatbin_magic_collision(tmp_path: Path) -> None:
    """fatbin-magic-collision.test: the header has the size of a compressed bundle.

    Its compressed bytes contain the magic as well, in a skippable frame.
    """
    plain = bundle({f"hip-{AMD}--gfx906": ONE, f"hip-{AMD}--gfx908": TWO})
    skipped = struct.pack("<II", 0x184D2A50, 4) + b"CCOB"
    asked = Asked(tmp_path, in_hip_section(compressed_bundle(plain, skipped + zstd(plain))))
    assert asked.of_each("arch", "compression") == [("gfx906", "zstd"), ("gfx908", "zstd")]
    assert asked.extracted("--arch", "gfx906") == [ONE]


def test_objdump_nested(tmp_path: Path) -> None:
    """nested-offload-binary.test: an OffloadBinary in another; LLVM 19 does not look into it.

    LLVM counts the outer one as an image; to omptool it is a level around those that are in it.
    """
    outer = [offload_binary(Image(OBJECT, OPENMP, triple, "none", NESTED)) for triple in TRIPLES]
    asked = Asked(tmp_path, b"".join(outer))
    inner = [(arch, "x-y-z", "bitcode", "openmp") for arch in ("abc", "def")]
    assert asked.of_each("arch", "triple", "declared_kind", "producer") == inner * 2
    levels = [(one["triple"], one["arch"], one["kind"]) for (one,) in asked.levels]
    assert levels == [(triple, "none", "elf") for triple in TRIPLES for _ in range(2)]


@pytest.mark.parametrize("name", ["nested-offload-binary-empty", "nested-offload-binary-fails"])
def test_objdump_damaged_nested(tmp_path: Path, name: str) -> None:
    """One test under two names: the outer image is shown, and that the inner one is damaged.

    omptool exits 2, as not all was read.
    """
    asked = Asked(tmp_path, offload_binary(Image(OBJECT, OPENMP, "x-y-z", "none", NO_HEADER)))
    assert asked.of_each("arch", "triple", "size") == [("none", "x-y-z", 4)]
    assert asked.exit_code == 2
    assert "offload-binary in a container: OffloadBinary header" in asked.said


@pytest.mark.parametrize("pack", [zstd, zlib.compress], ids=["compress", "compress-level-zlib"])
def test_binary_compressed(tmp_path: Path, pack: Any) -> None:
    """compress.test, compress-level-zlib.test: packed images are extracted unchanged."""
    data = later(3, [(0, {"triple": "x-y-z", "arch": "abc"}, ONE)], pack, (NO_IMAGE, NO_KIND))
    plain = offload_binary(Image(NO_IMAGE, NO_KIND, "x-y-z", "abc", TWO))
    asked = Asked(tmp_path, data + bytes(-len(data) % 8) + plain)
    keys = ("declared_kind", "arch", "triple", "producer")
    assert asked.of_each(*keys) == [(None, "abc", "x-y-z", None)] * 2
    assert asked.extracted("--triple", "x-y-z", "--arch", "abc") == [ONE, TWO]


def test_binary_ignore_shared_object(tmp_path: Path) -> None:
    """ignore-shared-object.ll: one that was packed is an image, whatever sections it has."""
    library = in_section(FOUR, SHARED)
    asked = Asked(tmp_path, offload_binary(Image(OBJECT, OPENMP, "x-y-z", "abc", library)))
    assert asked.of_each("arch", "kind") == [("abc", "elf")]
    assert asked.extracted() == [library]


def test_binary_plain(tmp_path: Path) -> None:
    """llvm-offload-binary.ll: packed images are extracted as by LLVM 19, also unnamed ones."""
    asked = Asked(tmp_path, offload_binary(Image(NO_IMAGE, NO_KIND, "x-y-z", "abc", ONE)))
    keys = ("declared_kind", "arch", "triple", "producer")
    assert asked.of_each(*keys) == [(None, "abc", "x-y-z", None)]
    out = tmp_path / "theirs"
    image = f"--image=file={out},arch=abc,triple=x-y-z"
    run("clang-offload-packager-19", asked.path, image)
    assert asked.extracted("--arch", "abc") == asked.extracted() == [out.read_bytes()] == [ONE]
    unnamed = Asked(tmp_path, offload_binary(Image(NO_IMAGE, NO_KIND, "", "", ONE)), "unnamed")
    assert unnamed.extracted() == [ONE]


def test_binary_nested(tmp_path: Path) -> None:
    """llvm-offload-binary.ll: the images of nested ones, in order, beside one that is not."""
    last = Image(NO_IMAGE, NO_KIND, "x-y-z", "ghi", b"last\n")
    outer = Image(NO_IMAGE, NO_KIND, "x-y-z", "nested", NESTED)
    mixed = offload_binary(outer) + offload_binary(last)
    twice = Image(NO_IMAGE, NO_KIND, "x-y-z", "nested2", mixed)
    asked = Asked(tmp_path, offload_binary(twice) + offload_binary(outer))
    found = [
        (image["arch"], [level["arch"] for level in levels])
        for image, levels in zip(asked.images, asked.levels, strict=True)
    ]
    both = ["nested2", "nested"]
    assert found == [
        ("abc", both), ("def", both), ("ghi", both[:1]), ("abc", both[1:]), ("def", both[1:])
    ]  # fmt: skip
    flat = Asked(tmp_path, mixed, "mixed")
    assert flat.extracted("--all") == [ONE, TWO, b"last\n"]
    # LLVM's tool extracts the inner OffloadBinary by the outer processor; omptool does not count it
    # as an image.
    assert omptool("extract", "--arch", "nested", "-o", tmp_path, flat.path).exit_code == 1


def test_binary_malformed(tmp_path: Path) -> None:
    """llvm-offload-binary-malformed.ll, and the last of llvm-offload-binary.ll (bad-offload.input).

    LLVM 19's does not look into the inner one.
    """
    bad = NO_HEADER + b"\n"
    outer = Asked(tmp_path, bad)
    assert (outer.exit_code, outer.images) == (2, [])
    assert "OffloadBinary header at 0x0..0x20 runs past the end" in outer.said
    assert "Invalid data was encountered while parsing the file" in outer.theirs().stderr
    inner = Asked(tmp_path, offload_binary(Image(NO_IMAGE, NO_KIND, "x-y-z", "nested", bad)), "in")
    result = omptool("extract", "--all", "-o", tmp_path / "out", inner.path)
    assert result.exit_code == 2
    assert "offload-binary in a container: OffloadBinary header" in result.stderr


def test_binary_member_extract(tmp_path: Path) -> None:
    """member-extract.test: the members of an archive, for one target with different contents.

    LLVM's names the member, or warns that two images go to one file; omptool writes each to a file
    of its own, named by its member.
    """
    made = {"a.o": ONE, "b.o": TWO}
    for name, data in made.items():
        image = Image(NO_IMAGE, OPENMP, "x-y-z", "gfx90a", data)
        (tmp_path / name).write_bytes(offload_binary(image))
    run("llvm-ar-19", "rcS", tmp_path / "lib.a", *(tmp_path / name for name in made))
    result = omptool("extract", "--arch", "gfx90a", "-o", tmp_path / "out", tmp_path / "lib.a")
    assert result.exit_code == 0, result.output
    written = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    assert [data for name, data in sorted(written.items()) if "-a.o-" in name] == [ONE]
    assert [data for name, data in sorted(written.items()) if "-b.o-" in name] == [TWO]
    assert len(written) == 2
