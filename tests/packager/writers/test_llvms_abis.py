# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files that are written for LLVM's ABIs run on LLVM's own runtime of that release, and on ours."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import clangs
import pytest
import running
from clangs import FULL, NEWEST
from linking import LINKERS, link
from machine import lacks
from places import TESTS
from products import Products
from toolchain import NVPTX, PTX, X86_64, compile_c, omptool, run, stripped

from packager.checks import verify
from packager.hosts.load import load, load_all
from packager.layouts import WRITTEN
from packager.model import FatBinary

SOURCES = TESTS / "packager" / "writers" / "generations"
REGIONS = SOURCES / "regions.c"
OFFLOADED = "2 4 60 8, 11, on the host: 0\n"
# Programs of wrappers as text, by the forms; then all programs, and what they print.
TEXTS = {"of-ir": "llvm-ir", "of-asm": "asm"}
EXPECTED = {
    "bundled": OFFLOADED,
    "emitted": OFFLOADED,
    "listed": "0: 15 25\n",
    "of-ir": OFFLOADED,
    "of-asm": OFFLOADED,
}


@pytest.fixture(params=FULL)
def version(request: pytest.FixtureRequest) -> str:
    """Provide the release of a clang and of its runtime."""
    return str(request.param)


def abi(version: str) -> str:
    return f"llvm-{version}"


def linked(
    version: str, out: Path, *objects: Path, linker: str = "bfd", flags: tuple[str, ...] = ()
) -> Path:
    """Link a program with LLVM's runtime, without clang's driver."""
    # Undefined symbols in LLVM's own libraries do not concern the program.
    search = f"-Wl,-rpath-link,{clangs.own_runtime(version)}"
    options = (*flags, "-Wl,--allow-shlib-undefined", search)
    link(out, *objects, *clangs.linked_libraries(version), linker=linker, flags=options)
    return out


@pytest.fixture
def made(version: str, products: Products) -> Path:
    """Make a clang's objects of regions.c, and others written for it, one for each program."""

    def make(folder: Path) -> None:
        command = clangs.compiler(version, REGIONS)
        run(*command, REGIONS, "-o", folder / "whole")
        run(*command, "-c", REGIONS, "-o", folder / "host.o")
        for whole in load_all(folder / "whole"):
            (folder / "image.so").write_bytes(whole.data[0].bytes())
        linked(version, folder / "bundled", _bundled(folder))
        linked(version, folder / "emitted", folder / "host.o", _emitted(version, folder))
        linked(version, folder / "listed", _listed(version, folder))
        for name in TEXTS:
            linked(version, folder / name, folder / "host.o", _of_text(version, folder, name))

    return products.folder(f"generation-{version}", make)


def written(out: Path, *arguments: object) -> Path:
    done = omptool(*arguments, "-o", out)
    assert done.exit_code == 0, done.output
    return out


def _bundled(folder: Path) -> Path:
    """Bundle clang's object with its image."""
    image = ("--abi", "llvm", "--image", f"{X86_64}={folder}/image.so")
    return written(folder / "bundled.o", "bundle", folder / "host.o", *image)


def _emitted(version: str, folder: Path) -> Path:
    """Emit a wrapper of three images: two architectures of one triple, and the best one last."""
    (folder / "old.ptx").write_text(PTX)
    (folder / "new.ptx").write_text(PTX.replace("sm_70", "sm_90"))
    images = (f"{NVPTX}:sm_70=old.ptx", f"{NVPTX}:sm_90=new.ptx", f"{X86_64}=image.so")
    named = [word for image in images for word in ("--image", image.replace("=", f"={folder}/"))]
    return written(folder / "emitted.o", "emit", "--abi", abi(version), *named)


def _of_text(version: str, folder: Path, name: str) -> Path:
    """Compile a wrapper in text form by the clang."""
    ending = "ll" if name == "of-ir" else "s"
    options = ("--abi", abi(version), "--format", TEXTS[name])
    image = ("--image", f"{X86_64}={folder}/image.so")
    text = written(folder / f"{name}.{ending}", "emit", *options, *image)
    run(*clangs.tool(version), "-c", text, "-o", folder / f"{name}.o")
    return folder / f"{name}.o"


def _listed(version: str, folder: Path) -> Path:
    """Bundle an object that clang did not compile, with a table of ours."""
    host = compile_c((SOURCES / "plain.c").read_text(), folder / "plain.o", "-c")
    flags = ("-shared", "-fPIC")
    image = compile_c((SOURCES / "image.c").read_text(), folder / "plain.so", *flags)
    options = ("--abi", abi(version), "--entries", "auto", "--image", f"{X86_64}={image}")
    return written(folder / "listed.o", "bundle", host, *options)


def prints_on_llvms(version: str, program: Path, expected: str, *arguments: Path) -> None:
    """Check that every region runs on the device on LLVM's runtime, with the expected output."""
    done = subprocess.run(
        [program, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=running.PATIENCE,
        env=os.environ | running.MANDATORY | {"LD_LIBRARY_PATH": clangs.own_runtime(version)},
    )
    if "libffi is not available" in done.stderr:  # Intel's build opens it when it launches
        lacks("libffi is not here, which this runtime needs")
    assert (done.returncode, done.stdout) == (0, expected), done.stderr


def test_it_runs_on_llvms_runtime(version: str, made: Path) -> None:
    for name, expected in EXPECTED.items():
        prints_on_llvms(version, made / name, expected)


@pytest.mark.offloads
def test_it_runs_on_ours(made: Path) -> None:
    for name, expected in EXPECTED.items():
        done = running.run(made / name, **running.MANDATORY)
        assert (done.returncode, done.stdout) == (0, expected), done.stderr


def read(path: Path) -> FatBinary:
    """Read a file, and check that `verify` finds no error in it."""
    binary = load(path)
    assert not [finding for finding in verify(binary) if finding.severity == "error"]
    return binary


def test_it_is_read_as_what_it_was_written_for(version: str, made: Path, tmp_path: Path) -> None:
    program = Path(shutil.copy(made / "bundled", tmp_path))
    for path in (made / "bundled.o", program, stripped(program)):
        binary = read(path)
        assert binary.abi == abi(version)
        assert len(binary.descriptors) == 1
        first = binary.images[binary.descriptors[0].images[0]]
        assert (first.container, first.is_wrapped) == ("omptool", version == "16")
        kinds = sorted(entry.kind for entry in binary.entries)
        link = ["link"] if version != "14" else []
        assert kinds == ["global", "kernel", "kernel", *link]


def test_every_image_is_registered(version: str, made: Path) -> None:
    assert load(made / "emitted.o").abi == abi(version)
    (descriptor,) = load(made / "emitted").descriptors
    assert len(descriptor.images) == 3
    assert descriptor.registered_by == ".omp_offloading.descriptor_reg"


def test_a_table_of_ours(version: str, made: Path) -> None:
    symbols = run("nm", made / "listed.o")
    assert ("__tgt_register_requires" in symbols) == (version in ("14", "16"))
    assert ("atexit" in symbols) == (version not in ("14", "16"))
    binary = read(made / "listed")
    section = WRITTEN[abi(version)].entries_section
    assert (binary.abi, binary.tables[0].section) == (abi(version), section)


@pytest.mark.parametrize("version", [NEWEST], indirect=True)
@pytest.mark.parametrize("linker", LINKERS)
def test_every_linker_keeps_its_entries(
    version: str, made: Path, tmp_path: Path, linker: str
) -> None:
    """lld collects the entries of clang's objects beside a wrapper, unless a flag forbids it."""
    flags = ("-Wl,--gc-sections", "-pie")
    options = ("-Wl,-z,nostart-stop-gc",) if linker == "lld" else ()
    for objects in (("bundled.o",), ("host.o", "emitted.o")):
        more = flags + (options if len(objects) > 1 else ())
        inputs = [made / name for name in objects]
        out = linked(version, tmp_path / "app", *inputs, linker=linker, flags=more)
        prints_on_llvms(version, out, OFFLOADED)


@pytest.mark.parametrize("version", ["20"], indirect=True)
def test_records_of_llvm_20_are_where_19_has_its_own(version: str, made: Path) -> None:
    binary = read(made / "bundled")
    assert binary.abi == "llvm-20"
    assert [(table.section, table.record_size) for table in binary.tables] == [
        ("omp_offloading_entries", 56)
    ]
    prints_on_llvms(version, made / "bundled", OFFLOADED)


def test_records_of_another_size_are_refused(made: Path, version: str, tmp_path: Path) -> None:
    other, sizes = ("llvm-19", (56, 32)) if version in ("22", "23") else ("llvm-22", (32, 56))
    image = f"{X86_64}={made}/image.so"
    out = tmp_path / "o.o"
    done = omptool("bundle", made / "host.o", "--abi", other, "--image", image, "-o", out)
    assert done.exit_code == 2
    own = abi(version)
    assert done.stderr.endswith(
        f"has entries of {sizes[0]} bytes, as {own}; those of {other} have {sizes[1]}\n"
    )
    assert not out.exists()


def test_entries_say_what_to_write(version: str, made: Path, tmp_path: Path) -> None:
    """--abi is for hosts without entries, or with those of several ABIs."""
    image, out = ("--image", f"{X86_64}={made}/image.so"), tmp_path / "out.o"
    written(out, "bundle", made / "host.o", *image)
    assert out.read_bytes() == (made / "bundled.o").read_bytes()
    written_for = f"--abi=interface --image={image[1]}".split()
    done = omptool("bundle", made / "host.o", *written_for, "-o", out)
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "compiled by clang: use --abi llvm" in done.stderr


def test_no_generation_without_clangs_entries(tmp_path: Path) -> None:
    host = compile_c((SOURCES / "plain.c").read_text(), tmp_path / "plain.o", "-c")
    (tmp_path / "a.ptx").write_text(PTX)
    image = ("--image", f"{NVPTX}={tmp_path}/a.ptx", "-o", tmp_path / "out.o")
    done = omptool("bundle", host, "--abi", "llvm", "--entries", "auto", *image)
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "has no table of clang's entries: name its generation by --abi llvm-14, " in done.stderr
    done = omptool("emit", "--abi", "llvm", *image)
    assert done.exit_code == 2
    assert "--abi llvm is HOST's generation, and emit has no HOST: name one" in done.stderr


@pytest.mark.exhaustive
@pytest.mark.offloads
def test_a_library_is_registered_while_it_is_loaded(version: str, tmp_path: Path) -> None:
    source = SOURCES / "library.c"
    command = [*clangs.compiler(version, source), "-fPIC"]
    run(*command, "-shared", source, "-o", tmp_path / "whole.so")
    run(*command, "-Wno-unused-command-line-argument", "-c", source, "-o", tmp_path / "host.o")
    for whole in load_all(tmp_path / "whole.so"):
        (tmp_path / "image.so").write_bytes(whole.data[0].bytes())
    library = linked(version, tmp_path / "lib.so", _bundled(tmp_path), flags=("-shared",))
    loader = compile_c((SOURCES / "loader.c").read_text(), tmp_path / "loader", "-ldl")
    expected = "42 gone\n44 gone\n46 gone\n"
    if version != "23":  # Intel's build frees twice when clang's own library is dropped, too
        prints_on_llvms(version, loader, expected, library)
    done = running.run(loader, library, **running.MANDATORY)
    assert (done.returncode, done.stdout) == (0, expected), done.stderr
