# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`edit --remove` of images that CUDA's, HIP's and SYCL's runtimes read."""

from __future__ import annotations

import shutil
from pathlib import Path

import cuda
import pytest
from containers import AMD, Containers
from documents import document, dumped_files
from edited import REGION
from fatbins import entry, fatbin, group
from host_bytes import bundle
from places import DATA
from sycl import Part, library, packed, spirv, zebin
from toolchain import compile_c, omptool, run
from wrapped import wrapped

from packager.errors import FindingError
from packager.formats.containers import cuda_fatbin
from packager.slimming.proof import prove_removed
from packager.slimming.request import TABLES, Places, Request

NVIDIA = "nvptx64-nvidia-cuda"
COFF = Path(__file__).parent / "wrapped_coff.s"
NEEDED = "no image of it would be left, and readers expect one"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Containers:
    return Containers(tmp_path_factory.mktemp("containers"))


def hashes(path: Path) -> list[str]:
    """Return the images of a file by their numbers."""
    (file,) = dumped_files("--hash", path)
    return [image["sha256"] for image in file["images"]]


def edited(
    path: Path, *removed: object, containers: str = "1 container", force: bool = False
) -> Path:
    """Remove images; check the reported number, and return the result."""
    out = path.with_name(f"edited-{path.name}")
    words = [word for one in removed for word in ("--remove", one)]
    words += ["--force"] if force else []
    done = omptool("edit", path, *words, "-o", out)
    assert (done.exit_code, done.stdout) == (0, ""), done.output
    assert f"removed from {containers}\n" in done.stderr
    assert omptool("verify", out).exit_code == omptool("verify", path).exit_code
    return out


def refused(path: Path, *words: object) -> str:
    """Return the message of a refused `edit`; check that it writes nothing."""
    before = set(path.parent.iterdir())
    done = omptool("edit", path, *words, "-o", path.with_name("refused"))
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.output
    assert set(path.parent.iterdir()) == before
    return done.stderr.removeprefix(f"Error: {path}: ").rstrip("\n")


def expect_each_removed(path: Path) -> None:
    """Check that each image can be removed alone, and that all others stay in order."""
    before = hashes(path)
    for number in range(len(before)):
        out = edited(path, number)
        assert hashes(out) == before[:number] + before[number + 1 :]
        assert out.stat().st_size <= path.stat().st_size


def linked(folder: Path, kind: str, *images: Path) -> Path:
    """Link a library with a wrapper for each image."""
    parts = [wrapped(folder, kind, image, f"{n}.o") for n, image in enumerate(images)]
    run("gcc", "-shared", "-Wl,--build-id", *parts, "-o", folder / "lib.so")
    return folder / "lib.so"


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["none", "speed", "size"])
def test_code_by_nvcc(tmp_path: Path, mode: str) -> None:
    """nvcc's code is bare, in an object and in a library: PTX and cubins, plain, LZ4, zstd."""
    ptx = ("-gencode=arch=compute_90,code=compute_90",)
    options = (f"--compress-mode={mode}", *cuda.code_for("sm_80", "sm_90", "sm_100a"), *ptx)
    image = cuda.compiled(tmp_path / "k.cu", tmp_path / "k.fatbin", *options, "-fatbin")
    expect_each_removed(image)
    expect_each_removed(cuda.compiled(tmp_path / "k.cu", tmp_path / "k.o", *options, "-c"))
    path = linked(tmp_path, "cuda", image)
    expect_each_removed(path)
    out = edited(path, f"{NVIDIA}:sm_90", f"{NVIDIA}:sm_100a")
    stay = cuda.extracted(path, tmp_path / "before").keys() & set(hashes(out))
    assert len(stay) == 1
    assert cuda.extracted(out, tmp_path / "after").keys() == stay


@pytest.mark.slow
def test_all_images_for_a_target_of_several_containers(tmp_path: Path, made: Containers) -> None:
    """For CUDA and HIP, a number selects one image, and a target one in each container."""
    for kind in ("plain", "packed"):
        images = [made.bundle(f"{kind}{n}", *made.images, packed=kind == "packed") for n in (1, 2)]
        path = linked(tmp_path, "hip", *images)
        before = hashes(path)
        out = edited(path, f"{AMD}:gfx90a", containers="2 containers")
        assert hashes(out) == before[1::2]
        assert hashes(edited(path, 2, 1, containers="2 containers")) == [before[0], before[3]]


@pytest.mark.parametrize("kind", ["plain", "compressed", "offload-binary", "joint", "fatbin"])
def test_a_bare_container(tmp_path: Path, made: Containers, kind: str) -> None:
    source = {
        "plain": lambda: made.bundle("p", *made.images),
        "compressed": lambda: made.bundle("c", *made.images, packed=True),
        "offload-binary": lambda: made.packed("o", *made.images),
        "joint": lambda: made.joint("j", *made.images),
        "fatbin": lambda: DATA / "none.fatbin",
    }[kind]()
    path = Path(shutil.copy(source, tmp_path / "bare"))
    expect_each_removed(path)
    before = hashes(path)
    edited_in_place = omptool("edit", path, "--remove", "0", "-o", path)
    assert edited_in_place.exit_code == 0
    assert hashes(path) == before[1:]


@pytest.mark.slow
def test_a_program_of_openmp_and_cuda(tmp_path: Path) -> None:
    """Images of a descriptor are its own, and those of wrappers are not."""
    image = tmp_path / "k.fatbin"
    image.write_bytes(fatbin(entry(2, bytes(99)), entry(1, b".version 8.0")))
    first = wrapped(tmp_path, "cuda", image)
    path = tmp_path / "both.so"
    words = ("-O1", "-fopenmp", "-fopenmp-targets=x86_64-pc-linux-gnu", "-shared", "-fPIC")
    run("clang-19", *words, REGION, first, "-o", path)
    before = hashes(path)
    assert len(before) == 3
    out = tmp_path / "out.so"
    assert omptool("edit", path, "--remove", "2", "--force", "-o", out).exit_code == 0
    assert hashes(out) == before[:2]
    assert omptool("edit", path, "--remove", "0", "--force", "-o", out).exit_code == 0
    assert hashes(out) == before[1:]
    assert "its descriptor lists no image 2" in refused(path, "--remove", "0", "--remove", "2")
    assert "no image 2" in refused(path, "--remove", "2", "--descriptor", "0")


def test_sycls_tables(tmp_path: Path) -> None:
    """A row can only be removed at an end of its table."""
    native = Part(zebin(tmp_path), "spir64_gen")
    path = library(tmp_path, [native, Part(spirv("first")), packed(spirv("second"))])
    before = hashes(path)
    tables = "SYCL's tables"
    assert hashes(edited(path, 0, containers=tables)) == before[1:]
    assert hashes(edited(path, 2, 1, containers=tables)) == before[:1]
    what = "it stands between images that stay, and rows of a table are end to end"
    assert refused(path, "--remove", "1") == (
        f"an image of SYCL's tables cannot be removed: {what}"
    )
    assert refused(path, "--add", "x86_64=/bin/true") == (
        "only --remove works on SYCL's images, and --add does not"
    )


def test_a_library_of_windows(tmp_path: Path) -> None:
    shutil.copy(DATA / "none.fatbin", tmp_path / "fatbin")
    triple, out = "-triple=x86_64-pc-windows-msvc", tmp_path / "k.obj"
    run("llvm-mc-19", "-filetype=obj", triple, f"-I={tmp_path}", COFF, "-o", out)
    words = ("-dll", "-noentry", "-noimplib", "-base:0x180000000")
    run("lld-link-19", *words, f"-out:{tmp_path / 'k.dll'}", out)
    expect_each_removed(tmp_path / "k.dll")


def test_what_goes_together_alone(tmp_path: Path) -> None:
    """Images of a group are compressed as one."""
    path = tmp_path / "k.fatbin"
    joint = group((2, 90, bytes(64)), (2, 80, bytes(99)))
    path.write_bytes(fatbin(entry(2, bytes(100)), joint, entry(1, b".version 8.0")))
    before = hashes(path)
    assert refused(path, "--remove", "1") == (
        "images of the container at 0x0 cannot be removed: "
        "code that stays is compressed together with other code"
    )
    assert hashes(edited(path, 2, 1, force=True)) == [before[0], before[3]]
    assert hashes(edited(path, 3, force=True)) == before[:3]


def test_a_result_that_verify_finds_wrong_needs_force(tmp_path: Path) -> None:
    """As after any refused edit, the file stays unchanged."""
    path = tmp_path / "k.fatbin"
    path.write_bytes(fatbin(entry(2, bytes(100)), entry(1, b".version 8.0")))
    before = path.read_bytes()
    done = omptool("edit", path, "--remove", "0", "-o", path)
    assert (done.exit_code, done.stdout, path.read_bytes()) == (1, "", before)
    assert "OMP110: " in done.stderr
    assert done.stderr.endswith("not written without --force\n")
    assert list(tmp_path.iterdir()) == [path]
    assert len(hashes(edited(path, 0, force=True))) == 1


def test_newer_images_and_damaged_ones(tmp_path: Path) -> None:
    """Numbers are those of images that were read; one of an unknown kind may go, too."""
    damaged = bytearray(entry(2, bytes(99)))
    damaged[64:68] = b"none"
    path = tmp_path / "k.fatbin"
    texts = [b".version 8.0", b".version 8.1"]
    newer = entry(0x40, bytes(99))
    path.write_bytes(fatbin(bytes(damaged), entry(1, texts[0]), newer, entry(1, texts[1])))
    first, other, last = (numbered(path)[n] for n in range(3))
    for number, stay in enumerate(([other, last], [first, last], [first, other])):
        assert numbered(edited(path, number, force=True)) == stay


def numbered(path: Path) -> list[str]:
    """Return the images of a file that is damaged in part."""
    done = omptool("dump", "--json", "--hash", path)
    (file,) = document("dump", done.stdout)["files"]
    return [image["sha256"] for image in file["images"]]


def test_containers_in_a_container(tmp_path: Path, made: Containers) -> None:
    """Nested containers are removed together, because only the outermost is rewritten."""
    inner = made.packed("inner", *made.images).read_bytes()
    image = made.images[1].read_bytes()
    path = tmp_path / "k.hipfb"
    path.write_bytes(bundle({f"hip-{AMD}--gfx90a": inner, f"hip-{AMD}--gfx906": image}))
    before = hashes(path)
    assert refused(path, "--remove", "1") == (
        f"image 1 ({AMD} gfx906) cannot be removed alone: it is in one entry with image 0"
    )
    assert hashes(edited(path, 0, 1)) == before[2:]
    assert hashes(edited(path, 2)) == before[:2]


def test_what_no_wrapper_refers_to_stays(tmp_path: Path) -> None:
    one = fatbin(entry(2, bytes(99)), entry(1, b".version 8.0"))
    (tmp_path / "twice").write_bytes(one + bytes(-len(one) % 8) + one)
    path = linked(tmp_path, "cuda", tmp_path / "twice")
    assert len(hashes(path)) == 4
    line = refused(path, "--remove", "3")
    assert "image 3 (nvptx64-nvidia-cuda sm_90) cannot be removed: it is in no container" in line
    assert line.endswith("no wrapper refers to it, so a loader of the library's own may)")
    assert "image 2" in refused(path, "--remove", NVIDIA)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--remove", "9"], f"has no image 9; it has images 0 to 1 for {NVIDIA} sm_90"),
        (["--remove", f"{NVIDIA}:sm_80"], f"has no image {NVIDIA}:sm_80; it has images 0 to 1"),
        (["--remove", "0", "--remove", NVIDIA], f"image 0 ({NVIDIA} sm_90) is removed twice"),
        (["--add", "x86_64=/bin/true"], "only --remove works on CUDA's images, and --add does not"),
        (["--replace", "0=/bin/true"], "--replace does not"),
        (["--remove", "0", "--order", "1"], "--order does not"),
        (["--remove", "0", "--descriptor", "0"], "--descriptor does not"),
    ],
)
def test_wrong_words(tmp_path: Path, words: list[str], message: str) -> None:
    (tmp_path / "k").write_bytes(fatbin(entry(2, bytes(99)), entry(1, b".version 8.0")))
    assert message in refused(linked(tmp_path, "cuda", tmp_path / "k"), *words)


def test_a_result_with_other_images_is_not_written(tmp_path: Path) -> None:
    """The proof knows the images that each container should have."""
    images = [entry(2, bytes(99)), entry(1, b".version 8.0"), entry(8, bytes(9))]
    before, after = tmp_path / "before", tmp_path / "after"
    before.write_bytes(fatbin(*images))
    after.write_bytes(fatbin(*images[1:]))
    prove_removed(before, after, Request((), removed={0: frozenset([0])}))
    wrongs: list[Places] = [{0: frozenset([1])}, {0: frozenset([0, 1])}, {}]
    for wrong in wrongs:
        with pytest.raises(FindingError, match="has other images of the container at 0x0"):
            prove_removed(before, after, Request((), removed=wrong))
    after.write_bytes(cuda_fatbin.HEADER.pack(cuda_fatbin.MAGIC, 1, 16, 0) * 2)
    with pytest.raises(FindingError, match="has 2 containers of device code, and the file has 1"):
        prove_removed(before, after, Request((), removed={0: frozenset([0, 1, 2])}))


def test_a_result_with_other_rows_is_not_written(tmp_path: Path) -> None:
    path = library(tmp_path, [Part(spirv("first")), Part(spirv("second"))])
    out = edited(path, 0, containers="SYCL's tables")
    prove_removed(path, out, Request((), removed={TABLES: frozenset([0])}))
    with pytest.raises(FindingError, match="other images of SYCL's tables"):
        prove_removed(path, out, Request((), removed={TABLES: frozenset([1])}))


def test_images_that_readers_expect(tmp_path: Path, made: Containers) -> None:
    path = Path(shutil.copy(made.packed("needed", *made.images), tmp_path / "o"))
    assert refused(path, "--remove", AMD) == (
        f"images of the container at 0x0 cannot be removed: {NEEDED}"
    )
    compiled = compile_c("int x;", tmp_path / "plain.o", "-c")
    assert "is not an executable or a shared library" in refused(compiled, "--remove", "0")
