# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finished files that register no images are given them: `bundle` of an executable or library."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import clangs
import edited
import pytest
import running
from clangs import FULL, OFFLOADING
from edited import GPU, ON_DEVICE, REGION, on_llvms, on_ours
from fixture_programs import compile_host, lower, runtime_flags
from linking import LINKERS, link
from places import FIXTURES
from products import Products
from toolchain import PTX, X86_64, compile_c, omptool, run

from omptool.installation import libdir
from packager.hosts.load import load

pytestmark = pytest.mark.slow
MANDATORY = {"OMP_TARGET_OFFLOAD": "MANDATORY"}
SOURCES = Path(__file__).parent / "sources"
PLAIN = (SOURCES / "plain.c").read_text()


def given(path: Path, out: Path, image: Path, *options: object) -> Path:
    """Return what `bundle` makes of a finished file."""
    done = omptool("bundle", path, "--image", f"{X86_64}={image}", *options, "-o", out)
    assert done.exit_code == 0, done.output
    return out


@pytest.mark.offloads
@pytest.mark.parametrize("flags", [(), ("-no-pie",)], ids=["pie", "no-pie"])
def test_a_host_of_the_document_is_registered(tmp_path: Path, flags: tuple[str, ...]) -> None:
    """The program has a table of entries that nothing registers."""
    source = FIXTURES / "saxpy" / "host.c"
    host = compile_host(source, tmp_path / "host.o", "-fno-pie" if flags else "-fPIE")
    app = link(tmp_path / "app", host, flags=(*flags, *runtime_flags()))
    image = lower(FIXTURES / "saxpy" / "kernels.ll", tmp_path / "kernels.so")
    out = given(app, tmp_path / "out", image)
    done = running.run(out, **MANDATORY)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (FIXTURES / "saxpy" / "expected.txt").read_text()
    assert load(out).descriptors[0].registered_by == ".init_array[0]"
    assert "already registers device images: `omptool edit`" in refused(out, image)


@pytest.mark.offloads
@pytest.mark.parametrize("version", FULL)
def test_clangs_objects_need_no_wrapper_at_the_link(
    products: Products, tmp_path: Path, version: str
) -> None:
    """Any linker links them; their images come afterwards."""
    whole = edited.program(products, version, "pie")
    app = products.made(f"unregistered-{version}", lambda folder: unregistered(version, folder))
    # The source file is the same, because its inode is in the names of its kernels.
    out = given(app, tmp_path / "out", whole.with_name("own.so"), "--abi", "llvm")
    assert load(out).tables[0].abi == load(whole).tables[0].abi
    assert on_llvms(out, version) == ON_DEVICE
    assert on_ours(out, **MANDATORY) == ON_DEVICE


def unregistered(version: str, folder: Path) -> Path:
    """Link a program of region.c without its clang's driver."""
    flags = ["-fopenmp-new-driver"] if version == "14" else []
    host, app = folder / "app.o", folder / "app"
    run(*clangs.tool(version), "-O1", *OFFLOADING, *flags, "-c", REGION, "-o", host)
    paths = ("-Wl,--no-as-needed", f"-Wl,-rpath-link,{clangs.own_runtime(version)}")
    run("gcc", *paths, host, *clangs.linked_libraries(version), "-o", app)
    return app


@pytest.mark.offloads
@pytest.mark.parametrize("linker", LINKERS)
def test_a_program_that_never_knew_a_runtime(tmp_path: Path, linker: str) -> None:
    """The program imports the library; its own constructors still get their arguments."""
    host = tmp_path / "plain.o"
    compile_c(PLAIN, host, "-c")
    app = link(tmp_path / "app", host, linker=linker)
    image = compile_c("void first(void *p) { *(int *)p = 2; }", tmp_path / "i.so", "-shared")
    (tmp_path / "names").write_text("first\ncounter\n")
    assert "has no omptarget_entries section" in refused(app, image)
    out = tmp_path / "out"
    options = ("--entries", tmp_path / "names", "--force")
    given(app, out, image, *options)
    binary = load(out)
    assert "libomptarget.so" in binary.needed
    assert set(binary.imports) == {
        "__tgt_register_lib@OMPTARGET_4.5", "__tgt_unregister_lib@OMPTARGET_4.5"
    }  # fmt: skip
    assert [(e.name, e.size) for e in binary.entries] == [("first", 0), ("counter", 4)]
    ptx = tmp_path / "gpu.ptx"
    ptx.write_text(PTX)
    again = edited.edited(out, tmp_path / "again", "--add", f"{GPU}={ptx}", "--remove", "0")
    for changed in (out, edited.stripped(out, "strip"), edited.patched(out), again):
        done = running.run(changed, "argument")
        assert (done.returncode, done.stderr) == (0, ""), changed
        assert done.stdout == "constructed with 2, argument, destroyed\n"


def test_a_library_is_registered_when_it_is_loaded(tmp_path: Path) -> None:
    """Another file may define its variable: the loader decides, by the name."""
    library = compile_c(PLAIN, tmp_path / "libplain.so", "-shared", "-fPIC")
    image = compile_c("int counter;", tmp_path / "i.so", "-shared")
    (tmp_path / "names").write_text("counter\n")
    given(library, library, image, "--entries", tmp_path / "names")
    (entry,) = load(library).entries
    assert (entry.name, entry.symbol) == ("counter", "counter")
    opener = compile_c(OPENER, tmp_path / "opener")
    loaded = running.run(opener, library, LD_LIBRARY_PATH=str(libdir()))
    assert (loaded.returncode, loaded.stderr) == (0, "")
    assert loaded.stdout.startswith("constructed with 2, ")
    assert loaded.stdout.endswith("destroyed\n")


def test_constructors_that_are_bound_by_name_are_called(tmp_path: Path) -> None:
    source = (SOURCES / "named.c").read_text()
    library = compile_c(source, tmp_path / "libnamed.so", "-shared", "-fPIC", "-nostartfiles")
    image = compile_c("void kernel(void *p) {}", tmp_path / "i.so", "-shared")
    (tmp_path / "names").write_text("kernel\n")
    given(library, library, image, "--entries", tmp_path / "names", "--force")
    opener = compile_c(OPENER, tmp_path / "opener")
    loaded = running.run(opener, library, LD_LIBRARY_PATH=str(libdir()))
    assert (loaded.returncode, loaded.stderr, loaded.stdout) == (0, "", "named\nnamed\n")


OPENER = """
#include <dlfcn.h>
int main(int count, char **words) { return count < 2 || dlopen(words[1], RTLD_NOW) == 0; }
"""


def refused(path: Path, image: Path, *options: object) -> str:
    """Return the message of a refused `bundle`."""
    out = path.with_name("refused")
    done = omptool("bundle", path, "--image", f"{X86_64}={image}", *options, "-o", out)
    assert done.exit_code == 2, done.output
    assert done.stderr.count("\n") == 1
    assert not out.exists()
    return done.stderr


def test_what_nothing_would_register_is_refused(tmp_path: Path) -> None:
    image = compile_c("void first(void *p) {}", tmp_path / "i.so", "-shared", "-fPIC")
    (tmp_path / "names").write_text("first\n")
    (tmp_path / "other").write_text("firts\n")
    names = ("--entries", tmp_path / "names")
    for kind in ("-static", "-static-pie"):
        static = compile_c(PLAIN, tmp_path / "app", kind)
        assert "is static: no runtime would be loaded for it" in refused(static, image, *names)
    app = compile_c(PLAIN, tmp_path / "app")
    assert "entry firts is not defined" in refused(app, image, "--entries", tmp_path / "other")
    stripped = tmp_path / "stripped"
    run("strip", app, "-o", stripped)
    assert "entry first is not defined by the host" in refused(stripped, image, *names)
    done = subprocess.run([app], env=os.environ, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("constructed")
