# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Doctor prints the errors that verify finds in the program's files, and exits 1."""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path

import pytest
from clangs import INSTALLED, OFFLOADING, compiled, tool
from documents import document
from fixture_programs import OMPTOOL
from toolchain import compile_c, omptool

from omptool.installation import libdir
from omptool.probes.machine import cpu_features
from packager.machine.checks import unfit
from packager.machine.facts import ImageFate, Machine, Owner
from packager.model import Contents, DeviceImage

X86_64, AARCH64 = "x86_64-pc-linux-gnu", "aarch64-unknown-linux-gnu"
SOURCE = """\
int main(void) {
  int x = 0;
#pragma omp target map(tofrom : x)
  x = 1;
  return x - 1;
}
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "program.c"
    path.write_text(SOURCE)
    return path


def errors(path: Path) -> list[str]:
    done = omptool("doctor", "--json", path)
    assert done.exit_code == 1
    found = document("doctor", done.stdout)["findings"]
    return [one["code"] for one in found if one["severity"] == "error"]


@pytest.mark.offloads
def test_objects_that_gcc_linked(source: Path, tmp_path: Path) -> None:
    """The linker wrapper of clang never saw the archive."""
    call(*tool(INSTALLED, "clang"), *OFFLOADING[:2], "-c", source, "-o", tmp_path / "a.o")
    call("ar", "rcs", tmp_path / "liba.a", tmp_path / "a.o")
    libraries = ("-l:libomp.so.5", f"-L{libdir()}", "-lomptarget", f"-Wl,-rpath,{libdir()}")
    whole = ("-Wl,--whole-archive", tmp_path / "liba.a", "-Wl,--no-whole-archive")
    call("gcc", "-o", tmp_path / "program", *whole, *libraries)
    assert errors(tmp_path / "program") == ["OMP101"]
    text = omptool("doctor", tmp_path / "program").stdout
    assert "OMP101 error: 1 entry in omp_offloading_entries but no descriptor" in text
    assert "give clang its offload flags" in text


@pytest.mark.offloads
def test_a_file_without_its_entries(source: Path, tmp_path: Path) -> None:
    path = compiled(source, tmp_path)
    assert omptool("doctor", path).exit_code == 0
    removed = tmp_path / "removed"
    call("objcopy", "-R", "omp_offloading_entries", path, removed)
    assert errors(removed) == ["OMP103"]
    first, *_ = omptool("doctor", removed).stdout.splitlines()
    assert first.startswith(f"{removed}: its entries are not found: the descriptor at 0x")


def call(*words: object) -> None:
    subprocess.run([str(word) for word in words], check=True)


@pytest.mark.offloads
def test_an_image_for_another_cpu(source: Path, tmp_path: Path) -> None:
    """No machine has features that only AMD's or only Intel's processors have had."""
    other = "knm" if "fma4" in Path("/proc/cpuinfo").read_text() else "bdver4"
    path = compiled(source, tmp_path, "-Xopenmp-target", f"-march={other}")
    assert "OMP205" in errors(path)
    first, *_ = omptool("doctor", path).stdout.splitlines()
    assert f"or ends by SIGILL: image 0 is for {other}, and this machine's processor lacks" in first


@pytest.mark.offloads
def test_the_line_about_an_illegal_instruction(source: Path, tmp_path: Path) -> None:
    """The line names the processor if the image's container declares one."""
    source.write_text(SOURCE.replace("  x = 1;", '  __asm__("ud2");'))
    for options, expected in (
        ((), r"team 0\n"),
        (("-Xopenmp-target", "-march=x86-64-v2"), r"team 0: the image is for x86-64-v2; this .+\n"),
    ):
        path = compiled(source, tmp_path, *options)
        done = subprocess.run([OMPTOOL, "run", path], capture_output=True, text=True, check=False)
        assert done.returncode == -signal.SIGILL
        line = r"omptarget: kernel \S+ ends by SIGILL at 0x\w+, in thread 0 of "
        assert re.fullmatch(line + expected, done.stderr)


@pytest.mark.offloads
def test_the_line_about_an_illegal_instruction_of_a_library(tmp_path: Path) -> None:
    """The runtime copies the images of libraries, which may be unloaded."""
    source, library = tmp_path / "work.c", tmp_path / "libwork.so"
    text = SOURCE.replace("main", "work").replace("  x = 1;", '  __asm__("ud2");')
    source.write_text(text)
    options = ("-shared", "-fPIC", "-Xopenmp-target", "-march=x86-64-v2")
    compiled(source, tmp_path, *options).rename(library)
    caller = "int work(void);\nint main(void) { return work(); }"
    linker = ("-Wl,--allow-shlib-undefined", f"-Wl,-rpath,{tmp_path}")
    path = compile_c(caller, tmp_path / "caller", str(library), *linker)
    done = subprocess.run([OMPTOOL, "run", path], capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGILL
    assert " team 0: the image is for x86-64-v2; this machine has " in done.stderr


@pytest.mark.offloads
def test_features_that_a_container_declares(source: Path, tmp_path: Path) -> None:
    """Clang's -foffload-lto writes them behind "feature", and names no processor for -mcpu."""
    other = "avx512fp16" if "fma4" in Path("/proc/cpuinfo").read_text() else "fma4"
    program = compiled(source, tmp_path)
    done = omptool("extract", program, "-o", tmp_path / "images")
    assert done.exit_code == 0
    (image,) = (tmp_path / "images").iterdir()
    clang, host = tool(INSTALLED, "clang"), tmp_path / "host.o"
    call(*clang, *OFFLOADING[:2], "--offload-host-only", "-c", source, "-o", host)
    asked = f"file={image},triple={X86_64},feature=+{other},feature=+sse2"
    done = omptool("bundle", host, "--image", asked, "-o", tmp_path / "bundled.o")
    assert done.exit_code == 0, done.stderr
    library = (f"-L{libdir()}", "-lomptarget", f"-Wl,-rpath,{libdir()}")
    path = tmp_path / "declares"
    call(*clang, "-fopenmp", tmp_path / "bundled.o", *library, "-o", path)
    said = f"image 0 is for features +{other},+sse2, and this machine's processor lacks"
    assert "OMP205" in errors(path)
    assert f"or ends by SIGILL: {said}" in omptool("doctor", path).stdout.splitlines()[0]


AARCH64_CPU = """\
processor\t: 0
BogoMIPS\t: 243.75
Features\t: fp asimd evtstrm aes crc32 atomics fphp asimdhp cpuid asimdrdm lrcpc dcpop asimddp
CPU implementer\t: 0x41
CPU part\t: 0xd0c
"""


@pytest.mark.parametrize(
    ("arch", "features", "lacks"),
    [
        ("neoverse-n1", "", ""),
        ("armv8.2-a+sve", "", "image 0 is for armv8.2-a+sve, and this machine's"),
        ("", "+v8.2a,+lse,+sve", "image 0 is for features +v8.2a,+lse,+sve, and this machine's"),
        ("neoverse-v1", "+i8mm", "image 0 is for neoverse-v1 with features +i8mm, and this"),
        ("of-tomorrow", "", ""),
    ],
)
def test_an_image_for_another_aarch64(tmp_path: Path, arch: str, features: str, lacks: str) -> None:
    """A Neoverse N1, as Linux describes it."""
    (tmp_path / "cpuinfo").write_text(AARCH64_CPU)
    here = Machine([], [], {}, [], {}, processor=cpu_features(tmp_path / "cpuinfo"))
    inside = Contents("elf", "aarch64", None)
    image = DeviceImage(0, "raw", AARCH64, arch, 0, 8, None, inside, features=features)
    found = unfit(here, ImageFate(image, (Owner("host", (0,)),), ""))
    assert found.startswith(lacks) if lacks else not found


@pytest.mark.offloads
def test_a_program_that_chooses_its_device(source: Path, tmp_path: Path) -> None:
    text = SOURCE.replace("int x = 0;", "int x = 0; omp_set_default_device(omp_get_num_devices());")
    source.write_text(f"#include <omp.h>\n{text}")
    first, *_ = omptool("doctor", compiled(source, tmp_path)).stdout.splitlines()
    assert first.endswith("runs on a device (1 device; predicted for the default device)")


@pytest.mark.offloads
def test_a_program_that_opens_libraries(source: Path, tmp_path: Path) -> None:
    """Libraries are not searched for: a hint names the command that sees them."""
    hint = (
        "OMP210 info: the program may open libraries itself (dlopen), which this prediction lacks"
    )
    assert "dlopen" not in omptool("doctor", compiled(source, tmp_path)).stdout
    (tmp_path / "opener").mkdir()
    source.write_text(f"#include <dlfcn.h>\n{SOURCE.replace('x - 1', 'dlopen(0, 1) == 0')}")
    done = omptool("doctor", compiled(source, tmp_path / "opener"))
    assert (done.exit_code, done.stdout.count(hint)) == (0, 1)
    assert "    `omptool doctor --run` sees their regions" in done.stdout
    plain = compile_c(source.read_text().replace("#pragma omp", "//"), tmp_path / "plain")
    assert omptool("doctor", plain).stdout.startswith(f"{plain}: no offload code\n{hint}")


@pytest.mark.offloads
def test_a_device_out_of_range(source: Path, tmp_path: Path) -> None:
    """The region is named in front of LLVM's words."""
    source.write_text(SOURCE.replace("map(tofrom", "device(3) map(tofrom"))
    done = under_run(compiled(source, tmp_path))
    region, llvms = done.stderr.splitlines()
    assert "region main:3 asks for device 3: 1 device is available" in region
    assert llvms.endswith("Device number '3' out of range, only 1 devices available")


def under_run(program: Path) -> subprocess.CompletedProcess[str]:
    command = [OMPTOOL, "run", str(program)]
    return subprocess.run(command, capture_output=True, text=True, check=False)
