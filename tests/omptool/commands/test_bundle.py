# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool bundle` and `omptool emit`: entries and images."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from bundle_inputs import DEVICE, PTX, TRIPLE, compile_object, made
from fixture_programs import OMPTOOL
from toolchain import omptool

BITCODE = 'target triple = "{}"\ndefine void @__omp_offloading_first(ptr %p) {{\n  ret void\n}}\n'


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("bundle"))


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
    """The entries have names, by which the runtime pairs them."""
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


def test_a_list_may_come_from_a_pipe(work: Path, tmp_path: Path) -> None:
    image = ["--image", f"{TRIPLE}={work}/image.so", "-MF", f"{tmp_path}/d", "-o", f"{tmp_path}/o"]
    words = [OMPTOOL, "bundle", f"{work}/plain.o", "--entries", "-", *image]
    for text, code in (("first\n", 0), ("firsst\n", 2)):
        done = subprocess.run(words, input=text, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
    assert done.stderr.startswith("Error: standard input: entry firsst is not defined by the host")
    assert table_of(tmp_path / "o") == [("first", 0)]
    assert (tmp_path / "d").read_text() == f"{tmp_path}/o: {work}/plain.o {work}/image.so\n"


@pytest.mark.parametrize("alias", ["amdgpu9.0a", "amdgpu"])
def test_a_host_gets_an_image_under_llvm_24s_name(work: Path, tmp_path: Path, alias: str) -> None:
    """amdgpu9.0a-amd-amdhsa is gfx90a, and amdgpu any of AMD's GPUs."""
    from packager.hosts.load import load

    source, image, out = (tmp_path / name for name in ("k.ll", "k.image", "out.o"))
    kernels = "".join(
        f"define void @{name}(ptr %p) {{ ret void }}\n" for name in ("first", "second")
    )
    source.write_text(f"@table = global [4 x i32] zeroinitializer\n{kernels}")
    triple = f"{alias}-amd-amdhsa"
    assert omptool("lower", source, "--triple", triple, "-o", image).exit_code == 0
    done = omptool("bundle", work / "host.o", "--image", f"{triple}={image}", "-o", out)
    assert (done.exit_code, done.output) == (0, "")
    (found,) = load(out).images
    assert (found.triple, found.kind, found.processor) == (triple, "amdgcn", "gfx90a")
    assert table_of(out) == [("first", 0), ("table", 16), ("second", 0)]
    assert omptool("verify", out).exit_code == 0
    wrong = f"amdgpu9.06-amd-amdhsa={image}"
    refused = omptool("bundle", work / "host.o", "--image", wrong, "-o", tmp_path / "none")
    assert refused.exit_code == 1
    assert "is declared for amdgpu9.06-amd-amdhsa but holds code for gfx90a" in refused.stderr


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
        ("amdgcn-amd-amdhsa", ""),
        ("aarch64-unknown-linux-gnu", ""),
        (
            "riscv64-unknown-linux-gnu",
            "is bitcode for riscv64, which no plugin of omptool compiles",
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
