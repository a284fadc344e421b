# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool bundle` and `omptool emit`: entries, refusals, what is left behind."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from fixture_programs import OMPTOOL
from places import INCLUDE, TESTS

from omptool.cli import cli

TRIPLE = "x86_64-pc-linux-gnu"
HOST = (TESTS / "omptool" / "commands" / "sources" / "bundle_host.c").read_text()
PLAIN = (TESTS / "omptool" / "commands" / "sources" / "bundle_plain.c").read_text()
DEVICE = (TESTS / "omptool" / "commands" / "sources" / "bundle_device.c").read_text()


PTX = """
.version 6.4
.target sm_75
.address_size 64
.visible .entry first(.param .u64 p) { ret; }
.visible .global .align 4 .b8 table[16];
.visible .entry second(.param .u64 p) { ret; }
"""

BITCODE = 'target triple = "{}"\ndefine void @__omp_offloading_first(ptr %p) {{\n  ret void\n}}\n'


def compile_object(folder: Path, name: str, source: str, *flags: str) -> Path:
    (folder / f"{name}.c").write_text(source)
    out = folder / f"{name}.o"
    command = ["gcc", "-O1", f"-I{INCLUDE}", *flags, str(folder / f"{name}.c"), "-o", str(out)]
    subprocess.run(command, check=True)
    return out


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """host.o with its own entries, plain.o without, image.so with both kernels and the table."""
    folder = tmp_path_factory.mktemp("bundle")
    compile_object(folder, "host", HOST, "-c")
    compile_object(folder, "plain", PLAIN, "-c")
    compile_object(folder, "image", DEVICE, "-shared", "-fPIC").rename(folder / "image.so")
    return folder


def omptool(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


def table_of(out: Path) -> list[tuple[str, int]]:
    from packager.hosts.load import load

    return [(entry.name, entry.size) for entry in load(out).entries]


def test_host_table_is_kept_in_its_order(work: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.o"
    done = omptool("bundle", work / "host.o", "--image", f"{TRIPLE}={work}/image.so", "-o", out)
    assert (done.exit_code, done.output) == (0, "")
    assert table_of(out) == [("first", 0), ("table", 16), ("second", 0)]


def test_auto_takes_the_image_order(work: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.o"
    image = f"{TRIPLE}={work}/image.so"
    done = omptool("bundle", work / "plain.o", "--entries", "auto", "--image", image, "-o", out)
    assert (done.exit_code, done.output) == (0, "")
    assert table_of(out) == [("first", 0), ("table", 16), ("second", 0)]


def test_list_is_taken_in_its_order(work: Path, tmp_path: Path) -> None:
    out, names = tmp_path / "out.o", tmp_path / "names"
    names.write_text("# the two that matter\nfirst\n\nsecond  # last\n")
    image = f"{TRIPLE}={work}/image.so"
    done = omptool("bundle", work / "plain.o", "--entries", names, "--image", image, "-o", out)
    assert done.exit_code == 0, done.output
    assert table_of(out) == [("first", 0), ("second", 0)]


def test_auto_takes_the_order_of_the_image_that_has_one(work: Path, tmp_path: Path) -> None:
    """Bitcode lists its kernels in no order that counts."""
    (tmp_path / "kernels.ll").write_text(
        "@table = global [4 x i32] zeroinitializer\n"
        "define void @second() { ret void }\ndefine void @first() { ret void }\n"
    )
    bitcode, out = tmp_path / "kernels.bc", tmp_path / "out.o"
    subprocess.run(["llvm-as-19", tmp_path / "kernels.ll", "-o", bitcode], check=True)
    images = ("--image", f"amdgcn-amd-amdhsa={bitcode}", "--image", f"{TRIPLE}={work}/image.so")
    done = omptool("bundle", work / "plain.o", "--entries", "auto", *images, "-o", out)
    assert done.exit_code == 0, done.output
    assert [name for name, _ in table_of(out)] == ["first", "table", "second"]


def test_list_in_another_order_than_the_image_is_a_warning(work: Path, tmp_path: Path) -> None:
    """Its entries have names, by which the runtime finds them."""
    out, names = tmp_path / "out.o", tmp_path / "names"
    names.write_text("second\nfirst\n")
    arguments = ("bundle", work / "plain.o", "--entries", names, "-o", out)
    done = omptool(*arguments, "--image", f"{TRIPLE}={work}/image.so")
    assert done.exit_code == 0
    assert "OMP106 warning: " in done.stderr
    assert table_of(out) == [("second", 0), ("first", 0)]


def test_list_in_another_order_is_refused_where_entries_have_no_names(
    work: Path, tmp_path: Path
) -> None:
    device = DEVICE.replace("OMPTARGET_", "LIBTARGET_").replace("omptarget.h", "libtarget.h")
    image = compile_object(tmp_path, "proposal", device, "-shared", "-fPIC")
    out, names = tmp_path / "out.o", tmp_path / "names"
    names.write_text("second\ntable\nfirst\n")
    options = ("--abi", "proposal", "--entries", names, "-o", out)
    arguments = ("bundle", work / "plain.o", *options)
    done = omptool(*arguments, "--image", f"{TRIPLE}={image}")
    assert done.exit_code == 1
    assert "OMP106" in done.stderr
    assert not out.exists()
    forced = omptool(*arguments, "--force", "--image", f"{TRIPLE}={image}")
    assert forced.exit_code == 0
    assert "OMP106" in forced.stderr
    assert out.exists()


def test_kernel_that_no_image_has_is_refused(work: Path, tmp_path: Path) -> None:
    out, names = tmp_path / "out.o", tmp_path / "names"
    names.write_text("only_host\n")
    image = f"{TRIPLE}={work}/image.so"
    done = omptool("bundle", work / "plain.o", "--entries", names, "--image", image, "-o", out)
    assert done.exit_code == 1
    assert "OMP105" in done.stderr
    assert "only_host" in done.stderr
    assert list(tmp_path.iterdir()) == [names]


def test_two_triples_make_one_object_in_the_order_given(work: Path, tmp_path: Path) -> None:
    from packager.hosts.load import load

    ptx = tmp_path / "image.ptx"
    ptx.write_text(PTX)
    out = tmp_path / "out.o"
    images = ["--image", f"nvptx64:sm_75={ptx}", "--image", f"x86_64-linux-gnu={work}/image.so"]
    done = omptool("bundle", work / "host.o", *images, "-o", out)
    assert done.exit_code == 0, done.output
    found = [(i.triple, i.arch, i.kind) for i in load(out).images]
    assert found == [("nvptx64-nvidia-cuda", "sm_75", "ptx"), (TRIPLE, "", "elf")]


def test_dependency_file_names_every_input(work: Path, tmp_path: Path) -> None:
    rule, out = tmp_path / "out.d", tmp_path / "out.o"
    arguments = ("bundle", work / "host.o", "--image", f"{TRIPLE}={work}/image.so")
    assert omptool(*arguments, "-MD", rule, "-o", out).exit_code == 0
    assert rule.read_text() == f"{out}: {work}/host.o {work}/image.so\n"


def test_a_relocation_of_no_symbol_is_named(work: Path, tmp_path: Path) -> None:
    from packager.elf.headers import RELA, SHT_RELA, read
    from packager.files.reader import Reader

    data = bytearray((work / "host.o").read_bytes())
    at = next(s.offset for s in read(Reader(bytes(data))).sections if s.type == SHT_RELA)
    place, kind, addend = RELA.unpack_from(data, at)
    RELA.pack_into(data, at, place, 0xFFFFFFFF << 32 | kind & 0xFFFFFFFF, addend)
    (tmp_path / "host.o").write_bytes(data)
    image = ("--image", f"{TRIPLE}={work}/image.so", "-o", tmp_path / "out.o")
    done = omptool("bundle", tmp_path / "host.o", *image)
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "symbol 4294967295" in done.stderr


def test_relocations_that_are_not_read_are_said(work: Path, tmp_path: Path) -> None:
    compact = "-Wa,--crel,--allow-experimental-crel"
    words = ["clang-19", f"-I{INCLUDE}", compact, "-c", f"{work}/host.c"]
    subprocess.run([*words, "-o", tmp_path / "host.o"], check=True)
    image = ("--image", f"{TRIPLE}={work}/image.so", "-o", tmp_path / "out.o")
    done = omptool("bundle", tmp_path / "host.o", *image)
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "section omptarget_entries has CREL relocations, which are not supported" in done.stderr


@pytest.mark.parametrize("command", ["bundle", "emit"])
@pytest.mark.parametrize(
    ("options", "name"),
    [
        (["-MD"], "out.d"),
        (["-MD", "-MF", "rule"], "rule"),
        (["-MF", "rule"], "rule"),
        (["-MD", "rule"], "rule"),
        (["-MF", "rule", "-MD", "rule"], "rule"),
    ],
)
def test_dependency_files_as_compilers_name_them(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, options: list[str],
    name: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    inputs = [f"{work}/host.o"] if command == "bundle" else []
    words = (command, *inputs, "--image", f"{TRIPLE}={work}/image.so", *options, "-o", "out.o")
    done = omptool(*words)
    assert (done.exit_code, done.output) == (0, "")
    named = " ".join([*inputs, f"{work}/image.so"])
    assert Path(name).read_text() == f"out.o: {named}\n"
    assert {path.name for path in tmp_path.iterdir()} == {"out.o", name}


def test_two_dependency_files_are_refused(work: Path, tmp_path: Path) -> None:
    words = ("emit", "--image", f"{TRIPLE}={work}/image.so", "-MD", "a.d", "-MF", "b.d")
    done = omptool(*words, "-o", tmp_path / "out.o")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "-MD a.d and -MF b.d name two files for one rule" in done.stderr


def test_dependency_file_is_bytes_that_make_reads(work: Path, tmp_path: Path) -> None:
    odd = tmp_path / os.fsdecode(b"a \xff:#$%\\ .o")
    shutil.copy(work / "host.o", odd)
    rule = tmp_path / "out.d"
    image = ("--image", f"{TRIPLE}={work}/image.so")
    out = f"{tmp_path}//o:#.o"  # by that name make knows it
    assert omptool("bundle", odd, *image, "-MD", rule, "-o", out).exit_code == 0
    done = subprocess.run(["make", "-ndf", rule], capture_output=True, check=False)
    seen = os.fsencode(odd)
    made = os.fsencode(out)
    assert b"Prerequisite '%s' is older than target '%s'." % (seen, made) in done.stdout


@pytest.mark.parametrize(
    ("host", "out", "fault"),
    [
        ("a\nb.o", "out.o", "its name has a line break"),
        ("a;b.o", "out.o", "its name has a semicolon"),
        ("a.o", "o|.o", "its name has a vertical bar"),
        ("a.o", "o%.o", "its name has a %"),
    ],
)
def test_what_no_rule_can_name(work: Path, tmp_path: Path, host: str, out: str, fault: str) -> None:
    shutil.copy(work / "host.o", tmp_path / host)
    image = ("--image", f"{TRIPLE}={work}/image.so")
    words = (*image, "-MD", tmp_path / "d", "-o", tmp_path / out)
    done = omptool("bundle", tmp_path / host, *words)
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert fault in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == [host]


@pytest.mark.parametrize("command", ["bundle", "emit"])
def test_a_plugins_own_format_is_for_its_plugin(work: Path, tmp_path: Path, command: str) -> None:
    from packager.hosts.load import load

    (tmp_path / "own").write_bytes(b"\x01own format of a plugin" * 9)
    host = [work / "host.o"] if command == "bundle" else []
    image = ("--image", f"fpga-acme-none={tmp_path}/own")
    done = omptool(command, *host, *image, "-o", tmp_path / "out.o")
    assert done.exit_code == 0
    assert done.stderr == (
        "Note: triple fpga-acme-none is unknown: only its plugin can check images for it\n"
    )
    assert [image.kind for image in load(tmp_path / "out.o").images] == ["unknown"]
    assert omptool("verify", tmp_path / "out.o").exit_code == 0


def test_a_triple_that_looks_misspelt_is_said(work: Path, tmp_path: Path) -> None:
    image = ("--image", f"nvptx46-nvidia-cuda={work}/image.so")
    done = omptool("bundle", work / "host.o", *image, "-o", tmp_path / "out.o")
    assert "triple nvptx46-nvidia-cuda: did you mean nvptx64-nvidia-cuda?" in done.stderr


@pytest.mark.parametrize(
    ("triple", "meant"),
    [("cuda", "nvptx64:ARCH, such as nvptx64:sm_80"), ("x86-64", "x86_64"), ("opencl", "spirv64")],
)
def test_what_users_call_a_triple_is_said(
    work: Path, tmp_path: Path, triple: str, meant: str
) -> None:
    image = ("--image", f"{triple}={work}/image.so")
    done = omptool("bundle", work / "host.o", *image, "-o", tmp_path / "out.o")
    assert f": did you mean {meant}?\n" in done.stderr


@pytest.mark.parametrize(("names", "fault"), [("gone", "is in no image"), ("f\nf", "twice")])
def test_emit_names_the_list_that_is_at_fault(
    work: Path, tmp_path: Path, names: str, fault: str
) -> None:
    from packager.hosts.load import load

    image = f"{TRIPLE}={work}/image.so"
    known = load(work / "image.so").images[0].symbols[0].name
    listed = tmp_path / "names.txt"
    listed.write_text(names.replace("f", known))
    done = omptool("emit", "--image", image, "--entries", listed, "-o", tmp_path / "out.o")
    assert done.exit_code == 2
    assert done.stderr.startswith(f"Error: {listed}: ")
    assert fault in done.stderr


def test_existing_output_keeps_its_mode_and_link(work: Path, tmp_path: Path) -> None:
    real, out = tmp_path / "real.o", tmp_path / "out.o"
    real.write_text("old")
    real.chmod(0o640)
    out.symlink_to(real)
    arguments = ("bundle", work / "host.o", "--image", f"{TRIPLE}={work}/image.so", "-o", out)
    assert omptool(*arguments).exit_code == 0
    assert out.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert real.read_bytes()[:4] == b"\x7fELF"


BAD = [
    pytest.param(["missing.o"], {}, 2, "missing.o: No such file or directory", id="no-host"),
    pytest.param(["."], {}, 2, "is a directory", id="host-is-directory"),
    pytest.param(["empty"], {}, 2, "empty: is empty", id="host-is-empty"),
    pytest.param(["image.so"], {}, 2, "has no omptarget_entries section", id="host-is-linked"),
    pytest.param(["plain.o"], {}, 2, "has no omptarget_entries section", id="no-entries"),
    pytest.param(
        ["host.o", "--entries", "auto"], {}, 2, "has an omptarget_entries section", id="two-tables"
    ),
    pytest.param(["host.o"], {"image": "image.so"}, 2, "is not TRIPLE[:ARCH]=", id="image-form"),
    pytest.param(
        ["host.o"], {"image": f"{TRIPLE}=gone"}, 2, "gone: No such file", id="no-image"
    ),
    pytest.param(["host.o"], {"image": f"{TRIPLE}=empty"}, 2, "is empty", id="empty-image"),
    pytest.param(
        ["host.o"], {"image": "nvptx64-nvidia-cuda=image.so"}, 1, "OMP110", id="other-machine"
    ),
    pytest.param(
        ["host.o", "--image", "amd64-linux={work}/image.so"], {}, 2, "two images for", id="twice"
    ),
    pytest.param(
        ["plain.o", "--entries", "names"], {}, 2, "near: first", id="unknown-entry"
    ),
    pytest.param(["plain.o", "--entries", "empty"], {}, 2, "lists no entry", id="empty-list"),
    pytest.param(["plain.o", "--entries", "gone"], {}, 2, "gone: No such file", id="no-list"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "how", "code", "message"), BAD)
def test_bad_input_is_one_line(
    work: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    how: dict[str, str],
    code: int,
    message: str,
) -> None:
    monkeypatch.chdir(work)
    (work / "empty").write_text("")
    (work / "names").write_text("firsst\n")
    image = how.get("image", f"{TRIPLE}=image.so")
    arguments = [argument.format(work=work) for argument in arguments]
    done = omptool("bundle", *arguments, "--image", image, "-o", tmp_path / "out.o")
    assert done.exit_code == code, done.output
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["bundle", "emit"])
@pytest.mark.parametrize(("out", "message"), [
    pytest.param("folder", "is a directory", id="directory"),
    pytest.param("/dev/null", "is not a regular file", id="device"),
    pytest.param("gone/out.o", "No such file or directory", id="no-folder"),
])  # fmt: skip
def test_unwritable_output_is_one_line(
    work: Path, tmp_path: Path, command: str, out: str, message: str
) -> None:
    (tmp_path / "folder").mkdir()
    host = [work / "host.o"] if command == "bundle" else []
    done = omptool(command, *host, "--image", f"{TRIPLE}={work}/image.so", "-o", tmp_path / out)
    assert done.exit_code == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_pipe_is_no_output(work: Path) -> None:
    ends = os.pipe()
    done = omptool("emit", "--image", f"{TRIPLE}={work}/image.so", "-o", f"/dev/fd/{ends[1]}")
    for end in ends:
        os.close(end)
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "is not a regular file" in done.stderr


def test_a_response_file_has_words(work: Path, tmp_path: Path) -> None:
    words = tmp_path / "words"
    words.write_text(f"--image '{TRIPLE}={work}/image.so'\n-o {tmp_path}/'an out.o'")
    assert omptool("bundle", work / "host.o", f"@{words}").exit_code == 0
    assert (tmp_path / "an out.o").exists()
    words.write_text(f"@{words}")
    done = omptool("emit", f"@{words}")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert f"{words}: more than 16 response files" in done.stderr


def test_a_list_may_come_from_a_pipe(work: Path, tmp_path: Path) -> None:
    image = ["--image", f"{TRIPLE}={work}/image.so", "-MF", f"{tmp_path}/d", "-o", f"{tmp_path}/o"]
    words = [OMPTOOL, "bundle", f"{work}/plain.o", "--entries", "-", *image]
    for text, code in (("first\n", 0), ("firsst\n", 2)):
        done = subprocess.run(words, input=text, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
    assert done.stderr.startswith("Error: standard input: entry firsst is not defined by the host")
    assert table_of(tmp_path / "o") == [("first", 0)]
    assert (tmp_path / "d").read_text() == f"{tmp_path}/o: {work}/plain.o {work}/image.so\n"


def test_failing_rule_leaves_no_output(work: Path, tmp_path: Path) -> None:
    image = f"{TRIPLE}={work}/image.so"
    arguments = ("bundle", work / "host.o", "--image", image, "-o", tmp_path / "out.o")
    done = omptool(*arguments, "-MD", tmp_path / "gone" / "out.d")
    assert done.exit_code == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("clash", [["-o", "host.o"], ["-o", "image.so"], ["-o", "o", "-MD", "o"]])
def test_outputs_never_replace_other_files(work: Path, tmp_path: Path, clash: list[str]) -> None:
    for name in ("host.o", "image.so"):
        shutil.copy(work / name, tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    words = [str(tmp_path / word) if not word.startswith("-") else word for word in clash]
    image = f"{TRIPLE}={tmp_path}/image.so"
    done = omptool("bundle", tmp_path / "host.o", "--image", image, *words)
    assert done.exit_code == 2
    assert "would overwrite another file" in done.stderr
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("flags", [["-flto"], ["-flto", "-ffat-lto-objects"]])
def test_host_for_link_time_optimisation_is_refused(
    work: Path, tmp_path: Path, flags: list[str]
) -> None:
    host = compile_object(tmp_path, "lto", HOST, "-c", *flags)
    done = omptool("bundle", host, "--image", f"{TRIPLE}={work}/image.so", "-o", tmp_path / "o")
    assert done.exit_code == 2
    assert "was compiled with -flto" in done.stderr


def test_two_images_are_told_apart_by_their_bytes(work: Path, tmp_path: Path) -> None:
    ptx = tmp_path / "image.ptx"
    ptx.write_text(PTX)
    images = ["--image", f"nvptx64={ptx}", "--image", f"nvptx64:sm_75={ptx}"]
    done = omptool("bundle", work / "host.o", *images, "-o", tmp_path / "out.o")
    assert done.exit_code == 2
    assert "two images for nvptx64-nvidia-cuda:sm_75" in done.stderr


def test_symbolic_link_to_itself_is_one_line(work: Path, tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    image = f"{TRIPLE}={work}/image.so"
    done = omptool("bundle", work / "host.o", "--image", image, "-o", tmp_path / "loop")
    assert done.exit_code == 2
    assert "symbolic link to itself" in done.stderr


def test_bundling_twice_is_refused(work: Path, tmp_path: Path) -> None:
    image = f"{TRIPLE}={work}/image.so"
    once = tmp_path / "once.o"
    assert omptool("bundle", work / "host.o", "--image", image, "-o", once).exit_code == 0
    done = omptool("bundle", once, "--image", image, "-o", tmp_path / "twice.o")
    assert done.exit_code == 2
    assert "already holds device images" in done.stderr


def test_emit_lists_what_the_images_define(work: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.o"
    arguments = ("emit", "--entries", "auto", "--image", f"{TRIPLE}={work}/image.so", "-o", out)
    assert omptool(*arguments).exit_code == 0
    assert table_of(out) == [("first", 0), ("table", 16), ("second", 0)]
    undefined = subprocess.run(["nm", "-u", out], capture_output=True, text=True, check=True).stdout
    assert "U first" in undefined


@pytest.mark.parametrize(
    ("triple", "said"),
    [
        ("x86_64-pc-linux-gnu", ""),
        ("nvptx64-nvidia-cuda", ""),
        ("spirv64-unknown-unknown", ""),
        ("amdgcn-amd-amdhsa", "is bitcode for amdgcn, which no plugin of omptool compiles"),
        (
            "aarch64-unknown-linux-gnu",
            "is bitcode for aarch64, which no plugin of omptool compiles",
        ),
    ],
)
def test_bitcode_that_no_plugin_compiles(tmp_path: Path, triple: str, said: str) -> None:
    (tmp_path / "k.ll").write_text(BITCODE.format(triple))
    subprocess.run(["llvm-as-19", tmp_path / "k.ll", "-o", tmp_path / "k.bc"], check=True)
    (tmp_path / "names").write_text("__omp_offloading_first\n")
    host = compile_object(tmp_path, "host", "void __omp_offloading_first(void) {}", "-c")
    words = ("--image", f"{triple}={tmp_path}/k.bc", "--entries", tmp_path / "names")
    result = omptool("bundle", host, *words, "-o", tmp_path / "out.o")
    assert result.exit_code == 0, result.output
    assert bool(result.stderr) == bool(said)
    assert said in result.stderr
