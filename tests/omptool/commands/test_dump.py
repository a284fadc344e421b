# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compare `omptool dump` with other tools, in text and JSON, for stripped files and others."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from documents import document, dumped_files
from fixture_programs import build as build_fixture
from linking import FAST_LINKER, LINKERS, OWN_LINKER, link
from places import FIXTURES, TESTS
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

from omptool.cli import cli
from omptool.installation import libdir

SOURCES = TESTS / "omptool" / "commands" / "sources"

CLANG_FLAGS = {
    "pie": ("-pie", "-fPIE"),
    "no-pie": ("-no-pie",),
    "shared": ("-shared", "-fPIC"),
    "relr": ("-Wl,-z,pack-relative-relocs",),
    "lld": (FAST_LINKER,),
    "object": ("-c",),
}


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide host.o, image.so, image.ptx, bundled.o, program, program-nopie and library.so."""
    folder = tmp_path_factory.mktemp("dump")
    host = compile_c(HOST + MAIN, folder / "host.o", "-c", "-fPIC")
    image = device_image(HOST, folder / "image.so")
    ptx = folder / "image.ptx"
    ptx.write_text(PTX)
    out = bundled(host, folder / "bundled.o", {X86_64: image, f"{NVPTX}:sm_70": ptx})
    runtime = fake_runtime(folder)
    linked([out], folder / "program", runtime=runtime)
    linked([out], folder / "program-nopie", "-no-pie", runtime=runtime)
    linked([out], folder / "library.so", "-shared", runtime=runtime)
    return folder


def addresses(path: Path) -> dict[str, int]:
    """Return the addresses of symbols, by nm."""
    rows = (line.split() for line in run("nm", path).splitlines())
    return {row[2]: int(row[0], 16) for row in rows if len(row) == 3}


@pytest.mark.parametrize("name", ["program", "program-nopie", "library.so"])
@pytest.mark.parametrize("strip", [False, True], ids=["", "stripped"])
def test_what_omptool_bundled(work: Path, name: str, strip: bool) -> None:
    path = stripped(work / name) if strip else work / name
    (file,) = dumped_files("--hash", path)
    symbols = addresses(work / name)
    kind = "shared" if name == "library.so" else "executable"
    assert file["host"] == {"machine": "x86_64", "type": kind}
    assert file["abi"] == "interface"

    data = path.read_bytes()
    for image, source in zip(file["images"], ("image.so", "image.ptx"), strict=True):
        expected = (work / source).read_bytes()
        assert data[image["offset"] : image["offset"] + image["size"]] == expected
        assert image["sha256"] == hashlib.sha256(expected).hexdigest()
        assert image["address"] == symbols[f".omptool.image.{image['index']}"]
        assert image["container"] == "omptool"
    described = [(i["kind"], i["triple"], i["arch"], i["kernels"]) for i in file["images"]]
    assert described == [
        ("elf", X86_64, None, ["first", "second"]),
        ("ptx", NVPTX, "sm_70", ["first", "second"]),
    ]

    for index, (entry, name_) in enumerate(
        zip(file["entries"], ("table", "first", "second"), strict=True)
    ):
        assert (entry["index"], entry["name"], entry["flags"]) == (index, name_, None)
        assert entry["address"] == symbols[name_]
        assert entry["symbol"] in ((None, name_) if strip else (name_,))
        assert entry["images"] == ["present", "present"]
    assert [(e["kind"], e["size"]) for e in file["entries"]] == [
        ("global", 32),
        ("kernel", 0),
        ("kernel", 0),
    ]

    (descriptor,) = file["descriptors"]
    assert descriptor["address"] == symbols[".omptool.descriptor"]
    assert descriptor["images"] == [0, 1]
    assert descriptor["entries"] == {
        "begin": symbols["__start_omptarget_entries"],
        "end": symbols["__stop_omptarget_entries"],
    }
    by = descriptor["registered_by"]
    assert by == ".init_array[0]" if strip else by == "_GLOBAL__A_000000_OPENMPTGT"


def test_an_object_has_offsets_but_no_addresses(work: Path) -> None:
    (file,) = dumped_files(work / "bundled.o")
    assert file["host"] == {"machine": "x86_64", "type": "object"}
    assert [image["address"] for image in file["images"]] == [None, None]
    assert [entry["address"] for entry in file["entries"]] == [None] * 3
    assert [entry["symbol"] for entry in file["entries"]] == ["table", "first", "second"]
    (descriptor,) = file["descriptors"]
    assert (descriptor["address"], descriptor["entries"]) == (None, None)
    assert descriptor["images"] == [0, 1]
    assert descriptor["registered_by"] == "_GLOBAL__A_000000_OPENMPTGT"


def test_the_wrapper_alone(work: Path, tmp_path: Path) -> None:
    out = tmp_path / "wrapper.o"
    image = f"{X86_64}={work / 'image.so'}"
    result = omptool("emit", "--image", image, "--entries", "auto", "-o", out)
    assert result.exit_code == 0, result.stderr
    (file,) = dumped_files(out)
    assert [entry["name"] for entry in file["entries"]] == ["table", "first", "second"]
    assert [descriptor["images"] for descriptor in file["descriptors"]] == [[0]]


@pytest.mark.slow
@pytest.mark.parametrize("flags", CLANG_FLAGS.values(), ids=CLANG_FLAGS)
@pytest.mark.parametrize("strip", [False, True], ids=["", "stripped"])
def test_what_clang_made(tmp_path: Path, flags: tuple[str, ...], strip: bool) -> None:
    path = clang_offload(OPENMP, tmp_path / "program", OWN_LINKER, *flags)
    symbols = addresses(path)
    if strip and "-c" not in flags:  # an object without symbols cannot be linked
        path = stripped(path)
    (file,) = dumped_files(path)
    assert file["abi"] == "llvm-19"
    (image,) = file["images"]
    assert (image["container"], image["kind"], image["triple"]) == ("offload-binary", "elf", X86_64)
    table, *kernels = file["entries"]
    assert (table["name"], table["kind"], table["size"]) == ("table", "global", 32)
    assert [kernel["kind"] for kernel in kernels] == ["kernel", "kernel"]
    for entry in file["entries"]:
        assert (entry["flags"], entry["images"]) == (0, ["present"])
    if "-c" in flags:
        assert file["descriptors"] == []
        return
    for kernel in kernels:
        assert kernel["address"] == symbols[f".{kernel['name']}.region_id"]
    (descriptor,) = file["descriptors"]
    assert descriptor["address"] == symbols[".omp_offloading.descriptor"]
    assert descriptor["entries"]["begin"] == symbols["__start_omp_offloading_entries"]
    assert descriptor["registered_by"].startswith(
        ".init_array[" if strip else ".omp_offloading.descriptor_reg"
    )


def listed_by_llvm(path: Path) -> list[tuple[str, str, str]]:
    """Return kind, arch and triple of each image, by llvm-objdump."""
    text = run("llvm-objdump-19", "--offloading", path)
    rows = re.findall(r"kind +(\S+)\narch *(\S*)\ntriple +(\S+)", text)
    return [(kind, arch, triple) for kind, arch, triple in rows]


@pytest.mark.slow
@pytest.mark.parametrize("container", ["program", "object", "packed"])
def test_images_are_those_that_llvm_lists(work: Path, tmp_path: Path, container: str) -> None:
    path = tmp_path / "file"
    if container == "packed":
        one, other = (f"triple={X86_64}", f"triple={NVPTX},arch=sm_70")
        object_file = tmp_path / "image.o"  # the packager goes by the suffix
        object_file.write_bytes((work / "image.so").read_bytes())
        text = tmp_path / "image.s"
        text.write_text(PTX)
        images = (f"--image=file={object_file},{one}", f"--image=file={text},{other}")
        run("clang-offload-packager-19", "-o", path, *images)
    else:
        clang_offload(OPENMP, path, *(("-c",) if container == "object" else ()))
    (file,) = dumped_files(path)
    ours = [(i["kind"], i["arch"] or "", i["triple"]) for i in file["images"]]
    assert ours == listed_by_llvm(path) != []


@pytest.mark.parametrize(("name", "kind"), [("image.so", "elf"), ("image.ptx", "ptx")])
def test_a_bare_image_has_no_host(work: Path, name: str, kind: str) -> None:
    (file,) = dumped_files(work / name)
    assert file["host"] is None
    (image,) = file["images"]
    assert (image["container"], image["kind"], image["offset"]) == ("bare", kind, 0)
    assert image["kernels"] == ["first", "second"]
    assert file["entries"] == file["descriptors"] == []
    text = omptool("dump", work / name).stdout
    assert "device images without a host" in text
    assert re.search(r"table +0 +global +32\n", text)


def test_text(work: Path) -> None:
    text = omptool("dump", work / "program").stdout
    assert text.startswith(f"{work / 'program'}: x86_64 executable, ABI interface\nimages:\n")
    assert re.search(r"\n +1 +omptool +ptx +nvptx64-nvidia-cuda +sm_70 +\d+ +0x\w+ +0x\w+\n", text)
    assert re.search(r"\ntable +0 +global +0x\w+ +32 +present +present\n", text)
    assert re.search(r"\n +0 +0x\w+ +0x\w+ +0-1 +0x\w+\.\.0x\w+ +_GLOBAL__A_000000_O", text)


@pytest.mark.parametrize("part", ["images", "entries", "descriptors"])
def test_parts(work: Path, part: str) -> None:
    text = omptool("dump", f"--{part}", work / "program").stdout
    shown = [name for name in ("images", "entries", "descriptors") if f"\n{name}:\n" in text]
    assert shown == [part]


def test_no_offload_code(tmp_path: Path) -> None:
    plain = compile_c("int main(void) { return 0; }", tmp_path / "plain")
    result = omptool("dump", plain)
    assert (result.exit_code, result.stdout) == (0, f"{plain}: no offload code\n")
    (file,) = dumped_files(plain)
    assert (file["images"], file["entries"], file["descriptors"]) == ([], [], [])


@pytest.mark.parametrize(
    ("section", "what"),
    [
        (".omp_offloading.entries", "offload entries of LLVM 9 or earlier"),
        (".gnu.offload_lto_x", "GCC's intermediate code"),
    ],
)
def test_what_is_not_read_is_said(tmp_path: Path, section: str, what: str) -> None:
    source = f'__attribute__((section("{section}"))) long x = 1; int main(void) {{ return 0; }}'
    path = compile_c(source, tmp_path / "other")
    for command in ("dump", "verify"):
        result = omptool(command, path)
        assert result.exit_code == 2
        assert f"Error: {path}: section {section} is {what}" in result.stderr
        assert "no offload code" not in result.stdout


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"", "is empty", id="empty"),
        pytest.param(b"int main;\n", "is neither an ELF file nor a device image", id="text"),
        pytest.param(b"!<arch>\nx", "archive member header at 0x8..0x44 runs past", id="archive"),
        pytest.param(b"CCOB\x03\0", "compressed bundle header at 0x0..0x8 runs past", id="ccob"),
        pytest.param(b"\x7fELF", "is not 64-bit little-endian", id="elf-4-bytes"),
        pytest.param(b"\x7fELF\x01\x01" + bytes(60), "is not 64-bit little-endian", id="elf32"),
        pytest.param(
            b"\x7fELF\x02\x01" + bytes(60),
            "has neither section headers nor program",
            id="no-sections",
        ),
    ],
)
def test_a_bad_file_is_one_line(tmp_path: Path, content: bytes, message: str) -> None:
    bad = tmp_path / "bad"
    bad.write_bytes(content)
    result = omptool("dump", bad)
    assert result.exit_code == 2
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"Error: {bad}: ")
    assert message in line


def test_names_from_a_file_cannot_control_the_terminal(work: Path, tmp_path: Path) -> None:
    source = HOST.replace("OMPTARGET_KERNEL(first)", r'OMPTARGET_ENTRY("a\033[31m\nb", first, 0)')
    path = compile_c(source, tmp_path / "names.o", "-c")
    result = omptool("dump", path)
    assert r"a\x1b[31m\nb" in result.stdout
    assert "\x1b" not in result.stdout


def test_a_damaged_image_is_listed_with_its_fault(work: Path, tmp_path: Path) -> None:
    host = compile_c(HOST + MAIN, tmp_path / "host.o", "-c")
    cut = tmp_path / "cut.so"
    cut.write_bytes((work / "image.so").read_bytes()[:3000])
    path = bundled(host, tmp_path / "bundled.o", {X86_64: cut})
    (file,) = dumped_files(path)
    (image,) = file["images"]
    assert image["size"] == 3000
    assert "runs past the end" in image["problem"]
    assert [entry["images"] for entry in file["entries"]] == [["unknown"]] * 3
    assert "image 0: " in omptool("dump", path).stdout


@pytest.mark.slow
def test_many_constructors(tmp_path: Path) -> None:
    """The one that registers is found among those of a large program."""
    count = 3000
    constructor = "__attribute__((constructor)) static void c{0}(void) {{ table[0] += {0}; }}"
    others = "\n".join(constructor.format(number) for number in range(count))
    plain = compile_c(HOST + MAIN + others, tmp_path / "host.o", "-c", "-fPIC")
    image = device_image(HOST, tmp_path / "image.so")
    out = bundled(plain, tmp_path / "bundled.o", {X86_64: image})
    runtime = fake_runtime(tmp_path)
    program = linked([out], tmp_path / "program", runtime=runtime)
    nopie = linked([out], tmp_path / "program-nopie", "-no-pie", runtime=runtime)
    for path in (out, program, nopie):
        (descriptor,) = dumped_files(path)[0]["descriptors"]
        assert descriptor["registered_by"] == "_GLOBAL__A_000000_OPENMPTGT"


def test_images_that_only_a_descriptor_knows(work: Path, tmp_path: Path) -> None:
    """A host that writes its descriptor itself, with the image in .rodata."""
    source = HOST + MAIN + (SOURCES / "own_descriptor.c").read_text()
    image = f'-DIMAGE="{work / "image.so"}"'
    host = compile_c(source, tmp_path / "host.o", "-c", "-fPIC", image)
    program = linked([host], tmp_path / "program", runtime=fake_runtime(tmp_path))
    for path in (program, stripped(program)):
        (file,) = dumped_files(path)
        (image,) = file["images"]
        assert (image["container"], image["triple"], image["kind"]) == ("raw", None, "elf")
        assert [entry["images"] for entry in file["entries"]] == [["present"]] * 3
        assert omptool("verify", path).exit_code == 0


@pytest.mark.slow
def test_clang_saxpy(tmp_path: Path) -> None:
    """The fixture as its users have it."""
    source = (FIXTURES / "clang_saxpy" / "saxpy.c").read_text()
    path = clang_offload(source, tmp_path / "saxpy")
    (file,) = dumped_files(path)
    assert file["abi"] == "llvm-19"
    assert {entry["kind"] for entry in file["entries"]} >= {"kernel"}
    assert all(entry["images"] == ["present"] for entry in file["entries"])
    assert omptool("verify", path).exit_code == 0


KINDS = (SOURCES / "kinds.c").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("shared_memory", [False, True], ids=["", "unified-shared-memory"])
def test_kinds_of_entries(tmp_path: Path, shared_memory: bool) -> None:
    requires = "#pragma omp requires unified_shared_memory\n" if shared_memory else ""
    program = clang_offload(requires + KINDS, tmp_path / "program")
    for path in (program, stripped(program)):
        (file,) = dumped_files(path)
        kinds = [(e["kind"], e["size"], e["images"]) for e in file["entries"]]
        assert kinds[:4] == [
            ("link", 8, ["present"]),
            ("global", 8, ["present"]),
            ("indirect", 8, ["present"]),
            ("kernel", 0, ["present"]),
        ]
        assert kinds[4:] == ([("requires", 0, ["unrelated"])] if shared_memory else [])
        assert omptool("verify", "--ignore", "OMP116", path).stdout.count("no findings") == 1


@pytest.mark.slow
def test_a_clang_program_without_any_entry(tmp_path: Path) -> None:
    """Only the image leads to the descriptor."""
    program = clang_offload("int main(void) { return 0; }", tmp_path / "program")
    for path in (program, stripped(program)):
        (file,) = dumped_files(path)
        assert file["entries"] == []
        assert [descriptor["images"] for descriptor in file["descriptors"]] == [[0]]
        assert omptool("verify", path).exit_code == 0


@pytest.mark.slow
def test_two_abis_in_one_program(tmp_path: Path) -> None:
    """Each table is for the image that is registered with it."""
    (file,) = dumped_files(build_fixture("mixed_clang", tmp_path))
    containers = [image["container"] for image in file["images"]]
    assert sorted(containers) == ["offload-binary", "omptool"]
    for entry in file["entries"]:
        of_clang = entry["flags"] is not None
        its = containers.index("offload-binary" if of_clang else "omptool")
        assert entry["images"][its] == "present"
        assert entry["images"][1 - its] == "unrelated"
    assert sorted(descriptor["images"] for descriptor in file["descriptors"]) == [[0], [1]]


@pytest.mark.parametrize("linker", LINKERS)
@pytest.mark.parametrize("reverse", [False, True], ids=["", "reversed"])
def test_images_are_numbered_as_devices_are(
    work: Path, tmp_path: Path, linker: str, reverse: bool
) -> None:
    """The order of triples on the command line decides, wherever linkers put the images."""
    images = {X86_64: work / "image.so", f"{NVPTX}:sm_70": work / "image.ptx"}
    targets = sorted(images, reverse=reverse)
    order = {target: images[target] for target in targets}
    out = bundled(work / "host.o", tmp_path / "bundled.o", order)
    flags = (f"-L{libdir()}", "-lomptarget")
    program = link(tmp_path / "program", out, linker=linker, flags=flags)
    for path in (out, program, stripped(program)):
        (file,) = dumped_files(path)
        shown = [(image["index"], image["triple"]) for image in file["images"]]
        assert shown == [(index, target.split(":")[0]) for index, target in enumerate(targets)]
        assert [descriptor["images"] for descriptor in file["descriptors"]] == [[0, 1]]
        assert omptool("verify", "--ignore", "OMP116", path).stdout.count("no findings") == 1


@pytest.mark.slow
def test_a_device_image_of_clang_on_its_own(tmp_path: Path) -> None:
    program = clang_offload(OPENMP, tmp_path / "program")
    (file,) = dumped_files(program)
    (image,) = file["images"]
    alone = tmp_path / "image.so"
    alone.write_bytes(program.read_bytes()[image["offset"] :][: image["size"]])
    (bare,) = dumped_files(alone)
    assert bare["host"] is None
    assert bare["images"][0]["kernels"] == image["kernels"]
    assert len(image["kernels"]) == 2


def test_a_host_of_another_architecture(tmp_path: Path) -> None:
    flags = ("--target=aarch64-linux-gnu", "-ffreestanding", "-c")
    (file,) = dumped_files(compile_c(HOST, tmp_path / "host.o", *flags, compiler="clang-19"))
    assert file["host"] == {"machine": "aarch64", "type": "object"}
    assert [entry["name"] for entry in file["entries"]] == ["table", "first", "second"]
    assert [entry["symbol"] for entry in file["entries"]] == ["table", "first", "second"]


def test_names_of_files_in_json(work: Path, tmp_path: Path) -> None:
    """JSON is Unicode, names of files are bytes."""
    raw = os.fsencode(tmp_path) + b"/gr\xfcn\n"
    shutil.copy(os.fsencode(work / "program"), raw)
    missing = os.fsdecode(raw + b"-missing")
    name = str(tmp_path) + "/gr\\xfcn\n"
    for command in ("dump", "verify"):
        result = omptool(command, "--json", os.fsdecode(raw), missing)
        assert result.exit_code == 2
        said = document(command, result.stdout)
        assert [file["path"] for file in said["files"]] == [name]
        assert [error["path"] for error in said["errors"]] == [name + "-missing"]
        assert r"gr\xfcn\n-missing" in result.stderr


def test_a_terminal_that_cannot_show_a_name(tmp_path: Path) -> None:
    source = HOST.replace("OMPTARGET_KERNEL(first)", 'OMPTARGET_ENTRY("gr\u00fcn", first, 0)')
    path = compile_c(source, tmp_path / "names.o", "-c")
    result = CliRunner(charset="ascii").invoke(cli, ["dump", str(path)])
    assert result.exit_code == 0
    assert r"gr\xfcn" in result.stdout
