# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts of other tools in shipped files: images, architectures and kernels.

NVIDIA's cuobjdump is fetched by pip. It no longer reads cubins for sm_35 to sm_72: where a
`cuobjdump-11.8` is on PATH it is asked for them. Each image's own file is read by LLVM's readelf,
or, where no tool of LLVM's knows the format, by a few lines that share nothing with packager.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from subprocess import DEVNULL
from tempfile import TemporaryDirectory
from typing import Any

from clangs import tool as of_clang
from field_files import CUOBJDUMP, tool
from toolchain import run

from packager.formats.containers import large_data

Image = dict[str, Any]
LARGEST_COPY = 1 << 28  # largest sum of images that is written twice
WINDOWS = (".dll", ".pyd")
FATBIN = b"\x50\xed\x55\xba\x01\0\x10\0"  # magic, version and size of the header
BUNDLE, PACKED = b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB"
ENTRY_POINT, KERNEL = 15, 6
# Symbol that Intel's compiler adds to the kernels.
NO_KERNEL = "Intel_Symbol_Table_Void_Program"
_ENTRY = re.compile(rb"\.entry\s+([\w$.]+)")
_COMMENT = re.compile(rb"//[^\n]*|/\*.*?\*/", re.DOTALL)


def compare(path: Path, images: Sequence[Image], files: Sequence[Path]) -> list[str]:
    """Ask every tool that can read a file, or the files of its images; which ones did."""
    asked: list[str] = []
    if path.suffix == ".a" and not any(image["kind"] == "cubin" for image in images):
        asked += _members(path, images)
    elif any(image["kind"] in ("cubin", "ptx") for image in images):
        asked += _cuda(path, images, files)
    if any(image["container"] == "hip-fatbin" for image in images):
        asked += _bundles(path, images, files[0].parent)
    if any(image["container"] in ("sycl", "tgtimg") for image in images):
        asked += _listed(path, images)
    for kind, count in KERNELS.items():
        chosen = [pair for pair in zip(images, files, strict=True) if pair[0]["kind"] == kind]
        if chosen:
            asked.append(count(chosen))
    return asked


# ---- images ----


def _cuda(path: Path, images: Sequence[Image], files: Sequence[Path]) -> Iterator[str]:
    """Count cubins with their kernels, and PTX, by architecture; compare the cubins' bytes."""
    folder = files[0].parent
    parts = list(_fatbins(path, folder)) if path.suffix in WINDOWS else [path]
    for peer in (tool(CUOBJDUMP), shutil.which("cuobjdump-11.8")):
        said = [_cuobjdump(peer, "-symbols", part) for part in parts]
        if None in said:
            continue
        text = "\n".join(map(str, said))
        if images[0]["container"] == "bare":
            listed = _cuobjdump(peer, "-lelf", path) or ""
            text = f"Fatbin elf code:\narch = {listed.split('.')[-2]}\n{text}"
        found = _kernels_of(text)
        # Frames in large data are not fat binaries, and cuobjdump does not read them.
        cubins = (i for i in images if i["kind"] == "cubin" and i["container"] != large_data.NAME)
        ours = Counter((i["arch"], len(i["kernels"])) for i in cubins)
        same(ours, found, "cubins by cuobjdump")
        listed = "\n".join(_cuobjdump(peer, "-lptx", part) or "" for part in parts)
        names = re.findall(r"^PTX file.*\.(sm_\w+)\.ptx$", listed, re.MULTILINE)
        texts = Counter(image["arch"] for image in images if image["kind"] == "ptx")
        same(texts, Counter(names), "PTX by cuobjdump")
        yield "cuobjdump"
        if sum(image["size"] for image in images) < LARGEST_COPY:
            same(_extracted(str(peer), parts, folder), _hashes(files), "bytes by cuobjdump -xelf")
            yield "cuobjdump -xelf"
        return


def _kernels_of(text: str) -> Counter[tuple[str, int]]:
    """Count the cubins that cuobjdump lists, by architecture and number of kernels.

    Members of a group are indented further.
    """
    found: Counter[tuple[str, int]] = Counter()
    for block in re.split(r"^\s*Fatbin ", text, flags=re.MULTILINE)[1:]:
        if block.startswith("elf code:"):
            kernels = re.findall(r"^\s*(?:STT_)?FUNC .*\b(?:STO_)?ENTRY\b", block, re.MULTILINE)
            found[(_arch(block), len(kernels))] += 1
    return found


def _extracted(peer: str, parts: Sequence[Path], folder: Path) -> Counter[str]:
    """Count the cubins that cuobjdump extracts, by digest."""
    found: Counter[str] = Counter()
    for part in parts:
        with TemporaryDirectory(dir=folder) as own:
            subprocess.run(
                [peer, "-all", "-xelf", "all", part], cwd=own, check=True, stdout=DEVNULL
            )
            found += _hashes(Path(own).iterdir())
    return found


def _hashes(files: Iterable[Path]) -> Counter[str]:
    cubins = (path for path in files if path.suffix == ".cubin")
    return Counter(sha256(path.read_bytes()).hexdigest() for path in cubins)


def _fatbins(path: Path, folder: Path) -> Iterator[Path]:
    """Yield each fat binary of a Windows file, which cuobjdump cannot read as a whole."""
    data, at = path.read_bytes(), 0
    while (at := data.find(FATBIN, at)) >= 0:
        size = int.from_bytes(data[at + 6 : at + 8], "little")
        size += int.from_bytes(data[at + 8 : at + 16], "little")
        out = folder / f"{at}.fatbin"
        out.write_bytes(data[at : at + size])
        yield out
        at += size


def _members(path: Path, images: Sequence[Image]) -> Iterator[str]:
    """Check the count of an archive's GPU members: AMD's by readelf, PTX by its first directive."""
    headers = run("llvm-readelf-19", "-h", path) if images[0]["kind"] == "amdgcn" else ""
    command = ["llvm-ar-19", "p", str(path)]
    done = subprocess.run(command, capture_output=True, check=True) if not headers else None
    texts = re.findall(rb"^\s*\.version\s", done.stdout, re.MULTILINE) if done else []
    same(len(images), len(texts) + headers.count("EM_AMDGPU"), "members by llvm-ar and readelf")
    yield "llvm-ar" if texts else "llvm-readelf -h"


def _cuobjdump(peer: Path | str | None, what: str, path: Path) -> str | None:
    """Return cuobjdump's output for a file, or None if it cannot read it."""
    if peer is None:
        return None
    command = [str(peer), "-all", what, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    unread = ("has been removed", "does not contain device code", "fatal")
    if done.returncode or any(words in done.stderr + done.stdout[:1000] for words in unread):
        return None
    return done.stdout


def _arch(block: str) -> str:
    found = re.search(r"^\s*arch = (\S+)$", block, re.MULTILINE)
    return found[1] if found else ""


def _bundles(path: Path, images: Sequence[Image], folder: Path) -> Iterator[str]:
    """Check the targets of HIP's bundles, each given to clang's bundler in its own file."""
    section = folder / "hip_fatbin"
    run("llvm-objcopy-19", "--dump-section", f".hip_fatbin={section}", path, folder / "copy")
    (folder / "copy").unlink()
    found: Counter[str] = Counter()
    bundler = of_clang("22", "clang-offload-bundler")  # older releases cannot read version 3
    one = folder / "bundle"
    for piece in _pieces(section.read_bytes()):
        one.write_bytes(piece)
        said = run(*bundler, "--list", "--type=o", f"--input={one}")
        for target in said.split():
            if "amdgcn" in target:
                found[target.partition("-amdgcn-amd-amdhsa-")[2].lstrip("-")] += 1
    mine = (i["declared_arch"] or "" for i in images if i["container"] == "hip-fatbin")
    same(Counter(mine), found, "targets by clang-offload-bundler")
    yield "clang-offload-bundler"


def _pieces(data: bytes) -> Iterator[bytes]:
    """Bundles begin at multiples of 8, as far as the next one or its own words reach."""
    magics = [m.start() for m in re.finditer(b"|".join((BUNDLE, PACKED)), data)]
    end = 0
    for at, after in zip(magics, [*magics[1:], len(data)], strict=True):
        if at % 8 or at < end:
            continue
        if data.startswith(PACKED, at):
            after = end = at + _packed_size(data[at : at + 16])
        yield data[at:after]


def _packed_size(header: bytes) -> int:
    """Return a compressed bundle's size: LLVM's OffloadBundler.h, versions 2 and 3."""
    version = int.from_bytes(header[4:6], "little")
    return int.from_bytes(header[8 : 12 if version == 2 else 16], "little")


def _listed(path: Path, images: Sequence[Image]) -> Iterator[str]:
    """Check SYCL's images by section .tgtimg, which has an address and a size for each."""
    if path.suffix in WINDOWS:
        said = run("llvm-readobj-19", "--sections", path)
        found = re.search(r"Name: \.tgtimg .*?VirtualSize: 0x(\S+)", said, re.DOTALL)
    else:
        said = run("llvm-readelf-19", "-SW", path)
        found = re.search(r" \.tgtimg +\S+ +\S+ +\S+ +(\S+)", said)
    if found:
        outer = {i["levels"][0]["offset"] if i["levels"] else i["offset"] for i in images}
        same(len(outer), int(found[1], 16) // 16, "images by .tgtimg")
        yield ".tgtimg"


# ---- the kernels of each image ----

Pairs = list[tuple[Image, Path]]


def _amdgcn(pairs: Pairs) -> str:
    """Check the kernels by notes, which also name the target."""
    for (image, path), said in _readelf(pairs, "--notes"):
        target = re.search(r"amdhsa\.target: +'?amdgcn-amd-amdhsa-[^-]*-([\w:+-]+)", said)
        if target:
            same(image["arch"], target[1], f"{path.name} by llvm-readelf")
        if "amdhsa.kernels:" in said:
            found = re.findall(r"^(?:    |  - )\.name: ", said, re.MULTILINE)
            same(len(image["kernels"]), len(found), f"kernels of {path.name} by llvm-readelf")
    return "llvm-readelf --notes"


def _cubin(pairs: Pairs) -> str:
    """Check the kernels by symbols with NVIDIA's STO_CUDA_ENTRY."""
    for (image, path), said in _readelf(pairs, "-sW"):
        table = said.partition(".symtab'")[2] or said
        found = re.findall(r" FUNC +\w+ +\w+ +\[<other: 0x[0-9a-f]?[13579bdf][0-9a-f]>\]", table)
        same(len(image["kernels"]), len(found), f"kernels of {path.name} by llvm-readelf")
    return "llvm-readelf -s"


def _zebin(pairs: Pairs) -> str:
    """Check the kernels by their sections: each kernel has its own."""
    for (image, path), said in _readelf(pairs, "-SW"):
        found = set(re.findall(r" \.text\.(\S+) +PROGBITS", said)) - {NO_KERNEL}
        same(len(image["kernels"]), len(found), f"kernels of {path.name} by llvm-readelf")
    return "llvm-readelf -S"


def _readelf(pairs: Pairs, option: str) -> Iterator[tuple[tuple[Image, Path], str]]:
    """Yield readelf's output for each file; one call reads many."""
    for start in range(0, len(pairs), 64):
        some = pairs[start : start + 64]
        command = ["llvm-readelf-19", option, *(str(path) for _, path in some)]
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", check=False
        )
        parts = re.split(r"^File: ", done.stdout, flags=re.MULTILINE)
        yield from zip(some, parts[1:] if len(some) > 1 else [done.stdout], strict=True)


def _ptx(pairs: Pairs) -> str:
    for image, path in pairs:
        found = set(_ENTRY.findall(_COMMENT.sub(b"", path.read_bytes())))
        same(len(image["kernels"]), len(found), f"kernels of {path.name}, counted")
    return "counted"


def _spirv(pairs: Pairs) -> str:
    for image, path in pairs:
        words = array("I", path.read_bytes()[: path.stat().st_size & ~3])
        at, found = 5, 0
        while at < len(words):
            found += words[at] & 0xFFFF == ENTRY_POINT and words[at + 1] == KERNEL
            at += max(1, words[at] >> 16)
        same(len(image["kernels"]), found, f"kernels of {path.name}, counted")
    return "counted"


def _bitcode(pairs: Pairs) -> str:
    """Check the kernels by clang 22, which reads bitcode up to its release."""
    clang = (*of_clang("22", "clang"), "-x", "ir", "-Xclang", "-disable-llvm-passes", "-w")
    for image, path in pairs:
        said = run(*clang, "-S", "-emit-llvm", path, "-o", "-")
        found = re.findall(r"^define .*\b(?:ptx|amdgpu|spir)_kernel\b", said, re.MULTILINE)
        same(len(image["kernels"]), len(found), f"kernels of {path.name} by clang")
    return "clang"


KERNELS = {
    "amdgcn": _amdgcn,
    "cubin": _cubin,
    "zebin": _zebin,
    "ptx": _ptx,
    "spirv": _spirv,
    "bitcode": _bitcode,
}


def same(ours: object, theirs: object, what: str) -> None:
    if isinstance(ours, Counter) and isinstance(theirs, Counter):
        apart = _few(ours - theirs), _few(theirs - ours)
        assert apart == ([], []), f"{what}: only ours {apart[0]}, only theirs {apart[1]}"
    assert ours == theirs, f"{what}: {ours}, theirs {theirs}"


def _few(items: Iterable[object]) -> list[object]:
    return list(items)[:8]
