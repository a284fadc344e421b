# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An edit refuses in one line, and leaves files alone when it fails or is killed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import edited
import gccs
import pytest
from clangs import OFFLOADING, tool
from edited import GPU, REGION, images
from fixture_programs import OMPTOOL, build_once
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from linking import FAST_LINKER
from products import Products
from toolchain import compile_c, omptool, run

from packager.editing.edit import edit
from packager.editing.request import Change, Named, Replacement
from packager.errors import PackagerError
from packager.files.checksums import Checksums
from packager.files.reader import OpenFiles
from packager.hosts.host_file import open_host
from packager.writers.requests import ImageRequest

SIZE = 150 << 20
DATA_LAST = REGION.with_name("data_last.ld")
FIELDS = 0x40 + 13 * 56  # the headers of the program


@pytest.fixture
def app(products: Products) -> Path:
    return edited.program(products, "19", "pie")


def said(path: Path, out: Path, *options: object) -> str:
    """Return the message of a refused `edit`; check that it writes nothing."""
    before = set(out.parent.iterdir())
    done = omptool("edit", path, *options, "-o", out)
    assert done.exit_code in (1, 2), done.output
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1, done.stderr
    assert set(out.parent.iterdir()) == before
    return done.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--remove", "3"), "lists no image 3; it lists image 0 (x86_64-pc-linux-gnu)"),
        (("--remove", GPU), f"lists no image {GPU}"),
        (("--remove", "0", "--replace", "0={own}"), "is changed twice"),
        (("--add", "x86_64={own}"), "two images for x86_64-pc-linux-gnu"),
        (("--add", f"{GPU}=nowhere"), "image nowhere: No such file"),
        (("--add", f"{GPU}=/dev/null"), "image /dev/null: is not a regular file"),
        (("--remove", ""), "'' is neither the number of an image nor TRIPLE[:ARCH]"),
        (("--remove", "0"), "lists no device image: every region runs on the host; not written"),
        (("--replace", "0"), "'0' is neither N=FILE nor TRIPLE[:ARCH]=FILE"),
        (("--order", "1,0"), "--order must name each image once; the images are 0"),
        (("--order", "0,"), "order '0,' is not N,N,…"),
        (("--remove", "0", "--descriptor", "2"), "no descriptor 2; --descriptor takes 0"),
        (("--add", f"{GPU}:sm_70={{ptx}}"), "not written without --force"),
    ],
)
def test_a_wrong_request_is_one_line(
    app: Path, tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    names = {"own": app.with_name("own.so"), "ptx": app.with_name("gpu.ptx")}
    words = [option.format(**names) for option in options]
    assert message in said(app, tmp_path / "out", *words)


def test_nothing_to_do_is_wrong_usage(app: Path, tmp_path: Path) -> None:
    assert omptool("edit", app, "-o", tmp_path / "out").exit_code == 2


def test_an_image_is_not_written_over(app: Path, tmp_path: Path) -> None:
    image = Path(shutil.copy(app.with_name("own.so"), tmp_path / "image"))
    assert "would overwrite another file" in said(app, image, "--replace", f"0={image}")


def test_files_that_cannot_be_edited_are_named(app: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    remove = ("--remove", "0")
    bare = tmp_path / "bare"
    run("llvm-objcopy-19", "--strip-sections", app, bare)
    assert "has no section headers" in said(bare, out, *remove)
    assert "has no descriptor of device images: `omptool bundle`" in said(OMPTOOL_ELF, out, *remove)
    assert "is not an executable or a shared library" in said(
        app.with_name("gpu.ptx"), out, *remove
    )
    compiled = tmp_path / "object.o"
    run(*tool("19"), "-fopenmp", "-c", REGION, "-o", compiled)
    assert "is not an executable or a shared library" in said(compiled, out, *remove)
    cuda = compile_c(CUDA, tmp_path / "cuda")
    assert "has no image 0; it has none" in said(cuda, out, *remove)
    assert "only --remove works on CUDA's images" in said(cuda, out, "--order", "0")


@pytest.mark.parametrize("change", [("--remove", "0"), ("--replace", "0={own}")])
def test_a_last_segment_with_no_gap_in_front_is_refused(
    app: Path, tmp_path: Path, change: tuple[str, str]
) -> None:
    """patchelf would stretch that segment over the names of sections behind it."""
    option, value = change
    flags = (*OFFLOADING, "-shared", "-fPIC", "-nostartfiles", f"-Wl,-T,{DATA_LAST}", FAST_LINKER)
    library = tmp_path / "library.so"
    run(*tool("19"), "-O1", REGION, *flags, "-o", library)
    refused = said(library, tmp_path / "out", option, value.format(own=app.with_name("own.so")))
    what = "has no room for the names of sections in front of its last segment"
    assert refused == f"Error: {library}: {what}\n"


OMPTOOL_ELF = Path("/bin/true")
# Sections of nvcc's programs, without its code.
CUDA = """
__attribute__((section(".nv_fatbin"), aligned(8))) static const unsigned char fatbin[16] =
  {0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0};
__attribute__((section(".nvFatBinSegment"))) struct { unsigned magic, version; const void *data;
  void *other; } wrapper = {0x466243b1, 1, fatbin, 0};
int main(void) { return wrapper.version != 1; }
"""


@pytest.mark.exhaustive
def test_gccs_programs_are_not_edited(tmp_path: Path) -> None:
    app = gccs.compiled(GCC, tmp_path / "app")
    out = tmp_path / "out"
    assert "its images are GCC's" in said(app, out, "--remove", "0")
    (tmp_path / "names").write_text("main\n")
    image = app.with_name("image.so")
    compile_c("int main;", image, "-shared")
    options = ("--image", f"x86_64={image}", "--entries", tmp_path / "names", "-o", out)
    done = omptool("bundle", app, *options)
    assert done.exit_code == 2
    assert "its images are GCC's" in done.stderr


GCC = """
int main(void) {
  int x = 0;
#pragma omp target map(tofrom : x)
  x = 1;
  return x != 1;
}
"""


@pytest.mark.slow
def test_one_of_several_descriptors_must_be_named(products: Products, tmp_path: Path) -> None:
    """A program and its library, linked into one file."""
    app = build_once("saxpy", products)
    host = app.with_name("host-bundled.o")
    run("ld", "-r", host, "-o", tmp_path / "first.o")
    run("objcopy", "-L", "main", "--rename-section", ".init_array.00000=.init_array.00001",
        "--weaken", host, tmp_path / "second.o")  # fmt: skip
    from fixture_programs import runtime_flags

    both = tmp_path / "both"
    run("gcc", tmp_path / "first.o", tmp_path / "second.o", *runtime_flags(), "-o", both)
    out = tmp_path / "out"
    refused = said(both, out, "--remove", "0")
    assert "has 2 descriptors: choose one by --descriptor (0, 1)" in refused
    edited.edited(both, out, "--remove", "1", "--descriptor", "1")
    assert len(images(out)) == 1


@pytest.mark.slow
def test_killed_it_leaves_the_file_as_it_was(app: Path, tmp_path: Path) -> None:
    """Whenever that is: before it writes, while it copies, when it has checked."""
    target = Path(shutil.copy(app, tmp_path / "app"))
    image = tmp_path / "large"
    shutil.copy(app.with_name("own.so"), image)
    os.truncate(image, SIZE)
    content = target.read_bytes()
    command = [OMPTOOL, "edit", str(target), "--replace", f"0={image}", "-o", str(target)]
    for delay in (0.1, 0.2, 0.3):
        with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
            time.sleep(delay)
            process.send_signal(signal.SIGKILL)
        if target.stat().st_size > SIZE:  # it was faster: whole, then
            assert len(images(target)[0][1]) == SIZE
        else:
            assert target.read_bytes() == content
        shutil.copy(app, target)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_damaged_file_is_an_error_or_edited(
    products: Products, tmp_path: Path, data: st.DataObject
) -> None:
    app = edited.program(products, "19", "pie")
    content = bytearray(app.read_bytes())
    headers = st.integers(0, FIELDS) | st.integers(len(content) - 0x900, len(content) - 1)
    at = data.draw(headers | st.integers(0, len(content) - 1))
    new = data.draw(st.binary(min_size=1, max_size=8) | st.just(b"\xff" * 8))
    content[at : at + len(new)] = new
    damaged, out = tmp_path / "damaged", tmp_path / "damaged.out"
    damaged.write_bytes(content)
    ptx, own = app.with_name("gpu.ptx"), app.with_name("own.so")
    change = Change([ImageRequest(GPU, "sm_70", ptx)], [Replacement(Named("0", 0), own)])
    try:
        with (
            open_host(damaged) as host, OpenFiles() as files, Checksums(files, [ptx, own]) as sums
        ):  # fmt: skip
            edit(host, change, out, files, sums, force=True)
    except PackagerError:
        assert not out.exists()
    out.unlink(missing_ok=True)
