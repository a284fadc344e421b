# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compare containers by `emit` with those of clang's tools, which also unpack them."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import NamedTuple

import clangs
import pytest
from cubins import without_code
from places import TESTS
from toolchain import NVPTX, PTX, compile_c, omptool, run

from packager.checks import verify
from packager.errors import UsageError
from packager.files.reader import open_reader
from packager.formats.containers import offload_binary
from packager.formats.containers.bundles import clang_bundle, compressed_bundle
from packager.generations import of_release
from packager.hosts.load import load, load_all
from packager.writers.containers import target
from packager.writers.requests import OURS, parse_request

AMD = "amdgcn-amd-amdhsa"
CPU = "x86_64-pc-linux-gnu"
PACKAGERS = ("16", "18", "19", "20", "21", "22", "23")
BUNDLERS = ("14", "16", "18", "19", "20", "21", "22", "23")
GENERATIONS = {
    version: of_release(int(version)).name for version in (*BUNDLERS, *clangs.UNPACKED_SNAPSHOTS)
}


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide images with the file endings by which clang-offload-packager recognises them."""
    folder = tmp_path_factory.mktemp("containers")
    compile_c("int first(void) { return 1; }", folder / "cpu.o", "-shared", "-fPIC")
    compile_c("int second(void) { return 2; }", folder / "object.o", "-c")
    (folder / "kernel.s").write_text(PTX)
    return folder


def emitted(out: Path, form: str, images: list[str], *more: object) -> Path:
    named = [word for image in images for word in ("--image", image)]
    done = omptool("emit", "--format", form, *named, *more, "-o", out)
    assert done.exit_code == 0, done.output
    return out


def tool(version: str, name: str, *arguments: object) -> str:
    return run(*clangs.tool(version, name), *arguments)


class Entry(NamedTuple):
    """An OffloadBinary's words about an image, in the order of its strings, and the image."""

    version: int
    image_kind: int
    offload_kind: int
    strings: list[tuple[str, str]]
    image: bytes


def entries(path: Path) -> list[Entry]:
    """Return the entries of a file of OffloadBinaries, where no arch is an empty one."""
    with open_reader(path) as data:
        return [
            Entry(
                blob.version,
                blob.image_kind,
                blob.offload_kind,
                [*blob.strings.items(), *([] if "arch" in blob.strings else [("arch", "")])],
                blob.image.bytes(),
            )
            for blob in offload_binary.blobs(data)
        ]


@pytest.mark.parametrize("version", [*PACKAGERS, *clangs.UNPACKED_SNAPSHOTS])
def test_an_offload_binary_is_that_of_clangs_packager(
    work: Path, tmp_path: Path, version: str
) -> None:
    """Only the order of keys differs: LLVM's is random; ours is triple, arch, then as given."""
    many = [f"key{number}={number % 7}" for number in range(60)]
    images = [
        f"file={work}/cpu.o,triple=x86_64-unknown-linux-gnu,kind=openmp",
        f"file={work}/cpu.o,triple=x86_64-unknown-linux-musl,arch=,kind=openmp",
        f"file={work}/kernel.s,triple={NVPTX},arch=sm_70,kind=openmp,feature=+a,feature=+b",
        f"x=1,abc=1,compile-opts=1,arch=sm_72,file={work}/kernel.s,triple={NVPTX},kind=cuda",
        f"file={work}/object.o,triple={CPU},kind=hip,arch=native,{','.join(many)}",
    ]
    theirs = tmp_path / "theirs"
    name = "clang-offload-packager"
    if version in ("23", "24"):  # of which the library is here, that the packager calls
        images[2] = images[2].replace(",feature=+b", "")  # which it joins
        name = "llvm-offload-binary"
    tool(version, name, *(f"--image={image}" for image in images), "-o", theirs)
    ours = emitted(tmp_path / "ours", "offload-binary", images, "--abi", GENERATIONS[version])
    found, expected = (
        [one._replace(strings=sorted(one.strings)) for one in entries(path)]
        for path in (ours, theirs)
    )
    assert found == expected
    for one, image in zip(entries(ours), images, strict=True):
        said = [pair.partition("=")[0] for pair in image.split(",")]
        more = dict.fromkeys(key for key in said if key not in OURS)
        assert [key for key, _ in one.strings] == ["triple", "arch", *more]


@pytest.mark.parametrize("version", PACKAGERS[:-1])
def test_a_packager_takes_it_apart(work: Path, tmp_path: Path, version: str) -> None:
    images = [
        f"{NVPTX}:sm_70={work}/kernel.s",
        f"file={work}/cpu.o,triple={CPU},feature=avx,note=kept",
    ]
    out = emitted(tmp_path / "out", "offload-binary", images)
    back = tmp_path / "back.o"
    for words, source in ((f"triple={NVPTX},arch=sm_70", "kernel.s"), (f"triple={CPU}", "cpu.o")):
        tool(version, "clang-offload-packager", out, f"--image=file={back},{words},kind=openmp")
        assert back.read_bytes() == (work / source).read_bytes()
    assert [image.target for image in load(out).images] == [f"{NVPTX} sm_70", CPU]
    assert {b"feature", b"avx", b"note", b"kept"} <= set(out.read_bytes().split(b"\0"))


@pytest.mark.parametrize("version", ["19", "22"])  # 23 here has none
def test_objdump_lists_it(work: Path, tmp_path: Path, version: str) -> None:
    images = [f"{NVPTX}:sm_70={work}/kernel.s", f"{CPU}={work}/cpu.o"]
    out = emitted(tmp_path / "out", "offload-binary", images)
    said = tool(version, "llvm-objdump", "--offloading", out)
    words = said.split()
    assert {"sm_70", NVPTX, CPU, "ptx", "elf"} <= set(words)
    assert said.count("openmp") == 2


def of_bundler(version: str, out: Path, targets: list[str], inputs: list[Path]) -> Path:
    files = ["/dev/null", *map(str, inputs)]
    named = (
        [f"-inputs={','.join(files)}", f"-outputs={out}"]
        if version == "14"
        else [*(f"-input={file}" for file in files), f"-output={out}"]
    )
    tool(version, "clang-offload-bundler", "-type=bc", f"-targets={','.join(targets)}", *named)
    return out


@pytest.mark.parametrize("version", BUNDLERS)
def test_a_bundle_is_that_of_clangs_bundler(work: Path, tmp_path: Path, version: str) -> None:
    given = [f"openmp-{NVPTX}--sm_70", f"hipv4-{AMD}--gfx90a:xnack-", f"openmp-{CPU}"]
    if version != "18":  # which takes it for no processor
        given += ["hipv4-spirv64-amd-amdhsa--amdgcnspirv"]
    if version not in ("18", "21", "22", "23"):  # later ones forget it
        given += [f"openmp-{CPU}-x86-64-v3"]
    theirs = of_bundler(
        version,
        tmp_path / "theirs",
        ["host-x86_64-unknown-linux-gnu", *given],
        [work / name for name in ("kernel.s", *["object.o"] * 4)][: len(given)],
    )
    images = [
        f"{NVPTX}:sm_70={work}/kernel.s",
        f"file={work}/object.o,triple={AMD},arch=gfx90a:xnack-,kind=hip",
        f"{CPU}={work}/object.o",
        f"file={work}/object.o,triple=spirv64-amd-amdhsa,arch=amdgcnspirv,kind=hip",
        f"{CPU}:x86-64-v3={work}/object.o",
    ][: len(given)]
    ours = emitted(
        tmp_path / "ours", "offload-bundle", images, "--force", "--abi", GENERATIONS[version]
    )
    assert ours.read_bytes() == theirs.read_bytes()


@pytest.mark.parametrize(
    ("version", "form", "more"),
    [
        *((version, "offload-bundle", ()) for version in BUNDLERS),
        *((version, "compressed-bundle", ()) for version in ("19", "22")),
        ("19", "compressed-bundle", ("--compression", "zlib")),
        ("22", "compressed-bundle", ("--abi", "llvm-22")),
        ("22", "compressed-bundle", ("--abi", "llvm-22", "--compression", "zlib")),
        # The package of clang 23 lacks zstd.
        ("23", "compressed-bundle", ("--abi", "llvm-23", "--compression", "zlib")),
    ],
)
def test_a_bundler_takes_it_apart(
    work: Path, tmp_path: Path, version: str, form: str, more: tuple[str, ...]
) -> None:
    images = [f"{NVPTX}:sm_70={work}/kernel.s", f"{CPU}={work}/cpu.o"]
    out = emitted(tmp_path / "out", form, images, *more)
    # Up to 17 the bundler matches a name as it stands; 19 and later complete it.
    targets = [f"openmp-{NVPTX}--sm_70", f"openmp-{CPU}" + "-" * (version in ("14", "16"))]
    source_option, out_option = ("inputs", "outputs") if version == "14" else ("input", "output")
    for kind in ("bc", "o"):
        for name, source in zip(targets, ("kernel.s", "cpu.o"), strict=True):
            back = tmp_path / "back"
            words = (f"-targets={name}", f"-{source_option}={out}", f"-{out_option}={back}")
            tool(version, "clang-offload-bundler", f"-type={kind}", "-unbundle", *words)
            assert back.read_bytes() == (work / source).read_bytes()
            back.unlink()
    found = [image.bytes() for loaded in load_all(out) for image in loaded.data]
    assert found == [(work / name).read_bytes() for name in ("kernel.s", "cpu.o")]


def test_versions_of_compressed_bundles(work: Path, tmp_path: Path) -> None:
    image = [f"{CPU}={work}/cpu.o"]
    for abi, version in (("llvm-19", 2), ("llvm-22", 3)):
        for number, method in compressed_bundle.METHODS.items():
            options = ("--abi", abi, "--compression", method)
            data = emitted(tmp_path / "out", "compressed-bundle", image, *options).read_bytes()
            assert compressed_bundle.HEAD.unpack_from(data) == (b"CCOB", version, number)
            size, _, _ = compressed_bundle.SIZES[version].unpack_from(data, 8)
            assert size == len(data)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (f"{NVPTX}:sm_70=f", f"openmp-{NVPTX}--sm_70"),
        ("x86_64=f", f"openmp-{CPU}-"),
        ("x86_64:x86-64-v3=f", f"openmp-{CPU}-x86-64-v3-"),
        ("x86_64-linux-gnu=f", f"openmp-{CPU}-"),
        (f"file=f,triple={AMD},arch=gfx906:xnack-,kind=hip", f"hipv4-{AMD}--gfx906:xnack-"),
    ],
)
def test_names_of_targets_are_read_back(text: str, name: str) -> None:
    request = parse_request(text)
    assert target(request, of_release(19)) == name
    kind, triple, processor = clang_bundle.split_id(name)
    assert (kind[:3], processor) == (request.producer[:3], request.arch)
    assert triple in (request.spelled, request.triple)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("file=a", "has no file and triple"),
        ("triple=x86_64,arch=b", "has no file and triple"),
        ("file=a,triple=x86_64,arch", "'arch' is not KEY=VALUE"),
        ("file=a,triple=x86_64,=b", "'=b' is not KEY=VALUE"),
        ("file=a,triple=x86_64,file=b", "gives file twice"),
        (
            "file=a,triple=x86_64,kind=fpga",
            "kind 'fpga' is unknown; known kinds: openmp, cuda, hip, sycl",
        ),
        ("file=a,triple=x86_64,arch=a b", "'a b' is not an architecture"),
        ("x86_64", "is not TRIPLE[:ARCH]=FILE or file=FILE,triple=TRIPLE"),
    ],
)
def test_what_is_no_image(text: str, fault: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_request(text)
    assert fault in str(caught.value)


def test_what_is_said_of_an_image_is_all_kept() -> None:
    request = parse_request(
        "arch=sm_90,foo=a=b,file=x:y=z.ptx,triple=nvptx64-nvidia-cuda-unknown,kind=cuda,bar=,foo=c"
    )
    assert (request.triple, request.spelled) == (NVPTX, "nvptx64-nvidia-cuda-unknown")
    assert (request.arch, request.producer, str(request.path)) == ("sm_90", "cuda", "x:y=z.ptx")
    assert request.strings == (("foo", "a=b,c"), ("bar", ""))


@pytest.mark.parametrize("form", ["object", "offload-binary", "offload-bundle"])
def test_an_architecture_that_the_bytes_deny(work: Path, tmp_path: Path, form: str) -> None:
    out, image = tmp_path / "out", f"{CPU}={work}/kernel.s"
    words = ("emit", "--format", form, "--image", image, "-o", out)
    done = omptool(*words)
    assert (done.exit_code, done.stderr.count("\n")) == (1, 1)
    assert "but holds" in done.stderr
    assert not out.exists()
    assert omptool(*words, "--force").exit_code == 0


def test_a_cubin_of_another_architecture(tmp_path: Path) -> None:
    (tmp_path / "k.cubin").write_bytes(without_code(PTX, "sm_90"))
    for form in ("object", "offload-binary"):
        for arch, code in (("sm_80", 1), ("sm_90", 0)):
            image = f"file={tmp_path}/k.cubin,triple={NVPTX},arch={arch}"
            words = ("emit", "--format", form, "--image", image, "-o", tmp_path / "out")
            done = omptool(*words)
            assert done.exit_code == code, done.output
            if code:
                assert f"declared for {NVPTX} sm_80 but holds code for sm_90" in done.stderr
                assert omptool(*words, "--force").exit_code == 0


@pytest.mark.parametrize(
    ("form", "name"),
    [("offload-binary", "offload-binary"), ("offload-bundle", "clang-bundle"),
     ("compressed-bundle", "compressed-bundle")],
)  # fmt: skip
def test_a_container_is_no_image(work: Path, tmp_path: Path, form: str, name: str) -> None:
    packed = emitted(tmp_path / "packed", form, [f"{CPU}={work}/cpu.o"])
    done = omptool("emit", "--image", f"{CPU}={packed}", "-o", tmp_path / "out")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert f"image {packed}: is a container ({name}): extract its images first" in done.stderr


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (("--format", "offload-binary", "--entries", "auto"), "a container has no entries"),
        (("--format", "offload-bundle", "--compression", "zlib"), "--compression is for --format"),
        (
            ("--format", "offload-binary", "--abi", "proposal"),
            "--abi proposal has no containers; known values: llvm-14",
        ),
        (("--format", "offload-binary", "--abi", "llvm-14"), "no release before LLVM 15 reads"),
        (("--format", "compressed-bundle", "--abi", "llvm-16"), "no release before LLVM 19 reads"),
        (("--format", "offload-binary", "--image", "SYCL"), "no release before LLVM 21 has sycl"),
        (("--format", "offload-bundle", "--image", "NOTED"), "bundles have no place for note"),
        (("--format", "offload-bundle", "--image", "SYCL"), "knows only openmp and hip"),
        (("--image", "SYCL"), "is of sycl, which __tgt_register_lib does not register"),
    ],
)
def test_what_is_not_written(
    work: Path, tmp_path: Path, words: tuple[str, ...], fault: str
) -> None:
    more = {
        "SYCL": f"file={work}/kernel.s,triple={NVPTX},arch=sm_70,kind=sycl",
        "NOTED": f"file={work}/kernel.s,triple={NVPTX},arch=sm_70,note=1",
    }
    out = tmp_path / "out"
    image = ("--image", f"{CPU}={work}/cpu.o")
    done = omptool("emit", *image, *(more.get(word, word) for word in words), "-o", out)
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert fault in done.stderr
    assert not out.exists()


def test_an_object_says_more_of_its_images_too(work: Path, tmp_path: Path) -> None:
    image = f"file={work}/kernel.s,triple={NVPTX},arch=sm_70,kind=openmp,note=kept"
    out = emitted(tmp_path / "out.o", "object", [image], "--entries", "auto")
    section = f".omptool.image.{NVPTX}.sm_70"
    subprocess.run(
        ["llvm-objcopy-19", f"--dump-section={section}={tmp_path}/blob", out, "/dev/null"],
        check=True,
    )
    assert b"\0note\0" in (tmp_path / "blob").read_bytes()


@pytest.mark.exhaustive
@pytest.mark.parametrize("version", PACKAGERS)
def test_clang_links_what_emit_packs(tmp_path: Path, version: str) -> None:
    """`emit` replaces clang-offload-packager between clang's own steps."""
    source = TESTS / "packager" / "writers" / "generations" / "library.c"
    command = [*clangs.compiler(version, source), "-Wno-unused-command-line-argument"]
    run(*command, "--offload-device-only", "-c", source, "-o", tmp_path / "device.o")
    image = f"file={tmp_path}/device.o,triple={CPU},kind=openmp"
    packed = emitted(tmp_path / "packed", "offload-binary", [image], "--abi", GENERATIONS[version])
    embedded = ("--offload-host-only", "-Xclang", f"-fembed-offload-object={packed}")
    run(*command, *embedded, "-c", source, "-o", tmp_path / "host.o")
    run(*command, "-fPIC", "-shared", tmp_path / "host.o", "-o", tmp_path / "whole.so")
    binary = load(tmp_path / "whole.so")
    assert [image.triple for image in binary.images] == [CPU]
    # Packages without a runtime link that of another release, which ends such programs.
    expected = {"OMP104"} if version in clangs.PACKAGED else set()
    assert {one.code for one in verify(binary) if one.severity == "error"} <= expected
