# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ask omptool the questions of LLVM's tests of clang-offload-bundler about bundles.

They are `clang/test/OffloadTools/clang-offload-bundler/*`, before LLVM 22
`clang/test/Driver/clang-offload-bundler*` and `fat_archive_unbundle_ext.c`. Each test here has the
name of one. Questions about the bundler's options, and about outputs that it refuses, are omitted.
The host's part is no device image: the bundler lists it, omptool does not.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
import zstandard
from documents import dumped_images
from host_bytes import ZLIB, bundle, compressed_bundle
from toolchain import compile_c, omptool, run

# Targets without a processor, to which the bundler appends a dash.
HOST = "host-x86_64-unknown-linux-gnu"
POWER, X86 = "openmp-powerpc64le-ibm-linux-gnu", "openmp-x86_64-pc-linux-gnu"
CPUS = [HOST, POWER, X86]
AMD = "amdgcn-amd-amdhsa"
HIP = [f"hip-{AMD}--gfx900", f"hip-{AMD}--gfx906"]
ONE, TWO = b"code for the first\n", b"code for the second\n"
BUNDLER = "clang-offload-bundler-19"


class Bundler:
    """Files that LLVM 19's bundler joins, and omptool's view of the result."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.one, self.two = self.file("one", ONE), self.file("two", TWO)
        self.host = compile_c("int a; void f(void) { ++a; }", folder / "host.o", "-c")
        self.text = self.file("host.c", b"int a;\n")

    def file(self, name: str, content: bytes) -> Path:
        (self.folder / name).write_bytes(content)
        return self.folder / name

    def made(
        self, name: str, kind: str, targets: Sequence[str], inputs: Iterable[Path], *options: str
    ) -> Path:
        out = self.folder / name
        words = [f"-input={path}" for path in inputs]
        run(BUNDLER, f"-type={kind}", f"-targets={','.join(targets)}", *words, f"-output={out}",
            *options)  # fmt: skip
        return out

    def taken(self, path: Path, kind: str, target: str) -> bytes:
        """Unbundle a target by the bundler."""
        out = self.folder / "taken"
        words = (
            f"-type={kind}",
            f"-targets={target}",
            f"-input={path}",
            f"-output={out}",
        )
        run(BUNDLER, "-unbundle", *words)
        return out.read_bytes()


@pytest.fixture(scope="module")
def bundler(tmp_path_factory: pytest.TempPathFactory) -> Bundler:
    return Bundler(tmp_path_factory.mktemp("bundler"))


def listed(path: Path, kind: str) -> list[str]:
    """Return the bundler's list, without the host."""
    names = run(BUNDLER, "-list", f"-type={kind}", f"-input={path}").split()
    return sorted(name for name in names if not name.startswith("host-"))


def named(path: Path) -> list[str]:
    """Return omptool's images as IDs, with the dashes for environment and processor."""
    names = []
    for image in dumped_images(path):
        dash = "-" * (3 - image["triple"].count("-"))
        names.append(f"{image['producer']}-{image['triple']}{dash}-{image['arch'] or ''}")
    return sorted(names)


def extracted(path: Path, *options: str) -> list[bytes]:
    """Return the extracted images that the options select, in file order."""
    to = path.with_name(f"{path.name}.out")
    result = omptool("extract", *(options or ("--all",)), "-o", to, path)
    assert result.exit_code == 0, result.output
    return [Path(line).read_bytes() for line in result.stdout.splitlines()]


@pytest.mark.parametrize("kind", ["i", "ii", "ll", "s", "bc", "gch", "ast", "o"])
def test_basic_list_and_unbundle(bundler: Bundler, kind: str) -> None:
    """basic.c: every type of file."""
    host = bundler.host if kind == "o" else bundler.text
    path = bundler.made(f"basic.{kind}", kind, CPUS, (host, bundler.one, bundler.two))
    assert named(path) == listed(path, kind) == [f"{POWER}-", f"{X86}-"]
    assert extracted(path) == [ONE, TWO]
    assert extracted(path, "--triple", "powerpc64le-ibm-linux-gnu") == [ONE]
    if kind in ("s", "bc", "o"):  # one of each format
        assert bundler.taken(path, kind, POWER) == ONE


def test_basic_unordered(bundler: Bundler) -> None:
    """basic.c: the host may be between the others; the order is that of the file."""
    files = (bundler.two, bundler.text, bundler.one)
    for kind in ("s", "ast"):
        path = bundler.made(f"unordered.{kind}", kind, [X86, HOST, POWER], files)
        assert extracted(path) == [TWO, ONE]
        assert extracted(path, "--triple", "powerpc64le-ibm-linux-gnu") == [ONE]


def test_basic_no_magic(bundler: Bundler) -> None:
    """basic.c: nothing is bundled in an object, nor in a text, which is no input to omptool."""
    assert dumped_images(bundler.host) == []
    result = omptool("dump", bundler.text)
    assert result.exit_code == 2
    assert "is neither an ELF file nor a device image" in result.stderr


def test_basic_align(bundler: Bundler) -> None:
    """basic.c: -bundle-align, and no host."""
    files = (bundler.one, bundler.two)
    path = bundler.made("aligned.bc", "bc", HIP, files, "-bundle-align=4096")
    assert named(path) == listed(path, "bc") == HIP
    assert extracted(path) == [ONE, TWO]
    assert [image["offset"] for image in dumped_images(path)] == [4096, 8192]


def test_basic_missing(bundler: Bundler) -> None:
    """basic.c: a missing target is an error to both tools."""
    path = bundler.made("missing.bc", "bc", [HOST, HIP[0]], (bundler.host, bundler.one))
    refused = omptool("extract", "--arch", "gfx906", "-o", bundler.folder / "none", path)
    assert refused.exit_code == 1
    assert "no image has the arch gfx906; the archs are gfx900" in refused.stderr
    assert not (bundler.folder / "none").exists()
    # LLVM's tool requires a match of all; omptool's --arch matches any of its values.
    assert extracted(path, "--arch", "gfx900", "--arch", "gfx906") == [ONE]


def archive(bundler: Bundler, name: str, *members: Path) -> Path:
    path = bundler.folder / name
    run("llvm-ar-19", "rcS", path, *members)
    return path


@pytest.mark.parametrize("packed", [False, True], ids=["basic.c", "zstd.c"])
def test_an_archive_of_bundles(bundler: Bundler, packed: bool) -> None:
    """The images of each member for a target, and which member they are of."""
    files, flags = (bundler.one, bundler.two), ["-compress"] if packed else []
    names = [f"hip_bundle{number}{'_packed' if packed else ''}.bc" for number in (1, 2)]
    members = [bundler.made(name, "bc", HIP, files, *flags) for name in names]
    path = archive(bundler, f"hip{packed}.a", *members)
    found = [(image["member"], image["arch"]) for image in dumped_images(path)]
    assert found == [(name, arch) for name in names for arch in ("gfx900", "gfx906")]
    assert extracted(path, "--arch", "gfx906") == [TWO, TWO]


def test_basic_no_archive(bundler: Bundler) -> None:
    """basic.c: a text that is named as one."""
    result = omptool("dump", bundler.file("non.a", b"This is none.\n"))
    assert (result.exit_code, result.stdout) == (2, "")


def test_basic_target_ids(bundler: Bundler) -> None:
    """basic.c: an image for any setting of a feature fits each, but not the other way round."""
    ids = [f"hip-{AMD}--gfx906:xnack{sign}" for sign in "-+"]
    both = bundler.made("both.bc", "bc", ids, (bundler.one, bundler.two))
    assert named(both) == listed(both, "bc") == sorted(ids)
    for target, data in zip(ids, (ONE, TWO), strict=True):
        arch = target.rpartition("--")[2]
        assert extracted(both, "--arch", arch) == [data] == [bundler.taken(both, "bc", target)]
    assert omptool("extract", "--arch", "gfx906", both).exit_code == 1
    either = bundler.made("either.bc", "bc", [HIP[1]], [bundler.one])
    for target in ids:
        arch = target.rpartition("--")[2]
        assert extracted(either, "--arch", arch) == [ONE] == [bundler.taken(either, "bc", target)]


@pytest.mark.parametrize("kind", ["hip", "hipv4", "openmp"])
def test_basic_kinds(bundler: Bundler, kind: str) -> None:
    """basic.c: hip and hipv4 are equal, and with -hip-openmp-compatible so is OpenMP's.

    omptool selects by triple and processor, and shows the kind.
    """
    path = bundler.folder / f"{kind}.bundle"
    path.write_bytes(bundle({HOST: b"", f"{kind}-{AMD}--gfx90a": ONE}))
    (image,) = dumped_images(path)
    assert (image["producer"], image["arch"]) == (kind.removesuffix("v4"), "gfx90a")
    assert extracted(path, "--arch", "gfx90a:sramecc-:xnack+") == [ONE]


def test_basic_conflict(bundler: Bundler) -> None:
    """basic.c, -check-input-archive: gfx906 and gfx906:xnack+ of two kinds in one member.

    With that option the bundler refuses such an archive; omptool shows both, and the one that fits
    a processor.
    """
    ids = [HOST, HIP[1], f"hipv4-{AMD}--gfx906:xnack+"]
    member = bundler.made("conflict.o", "o", ids, (bundler.host, bundler.one, bundler.two))
    path = archive(bundler, "conflict.a", member)
    assert [image["arch"] for image in dumped_images(path)] == ["gfx906", "gfx906:xnack+"]
    assert extracted(path, "--arch", "gfx906") == [ONE]
    assert extracted(path, "--arch", "gfx906:xnack+") == [ONE, TWO]


@pytest.mark.parametrize(
    ("target", "triple", "arch"),
    [
        ("openmp-amdgcn-amd-amdhsa", AMD, None),
        ("openmp-amdgcn-amd-amdhsa-gfx906", AMD, "gfx906"),
        ("openmp-amdgcn-amd-amdhsa--gfx906", AMD, "gfx906"),
        ("openmp-amdgpu9.06-amd-amdhsa--gfx906", "amdgpu9.06-amd-amdhsa", "gfx906"),
        ("hip-spirv64-amd-amdhsa--amdgcnspirv", "spirv64-amd-amdhsa", "amdgcnspirv"),
    ],
    ids=["basic.c-no-env", "asserts-on.c-one-dash", "asserts-on.c", "basic.c", "standardize.c"],
)
def test_ids(tmp_path: Path, target: str, triple: str, arch: str | None) -> None:
    """An ID without environment is read with and without the dash for it, as old ones have it."""
    path = tmp_path / "bundle"
    path.write_bytes(bundle({HOST: b"", target: ONE}))
    (image,) = dumped_images(path)
    assert (image["triple"], image["arch"]) == (triple, arch)


@pytest.mark.parametrize("name", ["amdgpu9.00", "amdgpu9", "amdgpu"])
def test_basic_later_names(tmp_path: Path, name: str) -> None:
    """basic.c, of the release after 22: amdgcn selects its new names.

    linker-wrapper-amdgpu-triple-compat.c: amdgpu means all of them; one of them means no other.
    """
    path = tmp_path / "later.bc"
    path.write_bytes(bundle({f"hip-{name}-amd-amdhsa--gfx900": ONE}))
    for asked in ("amdgcn", "amdgpu", name):
        assert extracted(path, "--triple", f"{asked}-amd-amdhsa", "--arch", "gfx900") == [ONE]
    assert omptool("extract", "--triple", "amdgpu9.06-amd-amdhsa", path).exit_code == 1
    other = compile_c("int a;", tmp_path / "a.so", "-shared", "-fPIC").read_bytes()
    path.write_bytes(bundle({f"hip-{name}-amd-amdhsa--gfx900": other}))
    assert "holds x86_64 code" in omptool("verify", path).stdout


def test_fat_archive_unbundle_ext(bundler: Bundler) -> None:
    """fat-archive-unbundle-ext.c: the device part of a member, whatever its name ends with."""
    ids = [HOST, "openmp-x86_64-unknown-linux-gnu"]
    member = bundler.made("fat.obj", "o", ids, (bundler.host, bundler.one))
    path = archive(bundler, "fat.a", member)
    (image,) = dumped_images(path)
    assert (image["member"], image["triple"]) == ("fat.obj", "x86_64-pc-linux-gnu")
    assert extracted(path) == [ONE]
    assert omptool("dump", path).stderr == ""


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("how", ["zlib", "zstd"])
def test_compressed(tmp_path: Path, how: str, version: int) -> None:
    """zlib.c and zstd.c: either header; LLVM 19 reads and writes the earlier one."""
    plain = bundle(dict(zip(HIP, (ONE, TWO), strict=True)))
    pack = zlib.compress if how == "zlib" else zstandard.ZstdCompressor().compress
    path = tmp_path / "packed.bc"
    method = {"method": ZLIB} if how == "zlib" else {}
    path.write_bytes(compressed_bundle(plain, pack(plain), version, **method))
    assert named(path) == HIP
    if version == 2:
        assert listed(path, "bc") == HIP
    assert {image["compression"] for image in dumped_images(path)} == {how}
    assert extracted(path) == [ONE, TWO]


@pytest.mark.parametrize("flags", [["-compression-level=9"], ["-bundle-align=4096"]])
def test_zstd_options(bundler: Bundler, flags: list[str]) -> None:
    """zstd.c: the level, and the offsets in the inflated bundle."""
    files = (bundler.host, bundler.one, bundler.two)
    path = bundler.made("packed.bc", "bc", [HOST, *HIP], files, "-compress", *flags)
    assert named(path) == listed(path, "bc") == HIP
    assert extracted(path) == [ONE, TWO]


def test_magic_collision(tmp_path: Path) -> None:
    """clang-offload-bundler-magic-collision.c: the magic among the compressed bytes."""
    plain = bundle(dict(zip(HIP, (ONE, TWO), strict=True)))
    skipped = (0x184D2A50).to_bytes(4, "little") + (4).to_bytes(4, "little") + b"CCOB"
    packed = skipped + zstandard.ZstdCompressor().compress(plain)
    path = tmp_path / "collision.co"
    path.write_bytes(compressed_bundle(plain, packed, version=2))
    assert named(path) == listed(path, "bc") == HIP
    assert extracted(path, "--arch", "gfx900") == [ONE]
