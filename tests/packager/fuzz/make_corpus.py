# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the seeds of corpus/ with the tools whose formats they are: small files of every kind.

Usage: PYTHONPATH=tests/support python tests/packager/fuzz/make_corpus.py   (needs ptxas, too)

What else is in corpus/ was found by fuzzing, and is kept so that it stays found.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import kpacks
import sycl
from places import DATA, INCLUDE, TESTS
from toolchain import (
    HOST,
    MAIN,
    NVPTX,
    OPENMP,
    PTX,
    X86_64,
    bundled,
    compile_c,
    fake_runtime,
    omptool,
    run,
)

CORPUS = Path(__file__).parent / "corpus"
AMD = "amdgcn-amd-amdhsa"
HOST_ID = "host-x86_64-unknown-linux--"
AMD_KERNEL = f"""
target triple = "{AMD}"
define amdgpu_kernel void @first(ptr addrspace(1) %p) {{
  store i32 1, ptr addrspace(1) %p
  ret void
}}
"""
SPIRV = """
OpCapability Kernel
OpCapability Addresses
OpMemoryModel Physical64 OpenCL
OpEntryPoint Kernel %1 "first"
%v = OpTypeVoid
%f = OpTypeFunction %v
%1 = OpFunction %v None %f
%l = OpLabel
OpReturn
OpFunctionEnd
"""
SMALL = ("-nostdlib", "-Wl,-z,noseparate-code", "-Wl,--build-id=none", "-Wl,-z,norelro")


def main() -> None:
    """Make every seed again; keep seeds of other origin."""
    CORPUS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        made = (
            images,
            bundles,
            nested,
            hosts,
            windows,
            gcc_programs,
            archives,
            packages,
            of_sycl,
            of_rocm,
        )
        for path in (path for make in made for path in make(work)):
            shutil.copyfile(path, CORPUS / f"seed-{path.name}")
    for path in DATA.glob("*.fatbin"):
        shutil.copyfile(path, CORPUS / f"seed-{path.name}")
    thin = ("llvm-ar-19", "rcS", "--thin", "seed-thin.a", "seed-hip-packed-section.o")
    subprocess.run(thin, cwd=CORPUS, check=True)


def images(work: Path) -> list[Path]:
    """Make bare device images."""
    (work / "image.ptx").write_text(PTX)
    nowhere = (f"-ffile-prefix-map={work}=", "-fdebug-compilation-dir=.")
    debug = ("-shared", "-fPIC", "-gdwarf-5", *nowhere, f"-ffile-prefix-map={INCLUDE}=", *SMALL)
    compile_c(HOST, work / "debug.so", *debug, compiler="clang-19")
    (work / "amd.ll").write_text(AMD_KERNEL)
    (work / "module.spvasm").write_text(SPIRV)
    compile_c(HOST, work / "image.so", "-shared", "-fPIC", "-s", *SMALL)
    run("llc-19", "-mcpu=gfx90a", "-filetype=obj", work / "amd.ll", "-o", work / "amd.o")
    run("ld.lld-19", "-shared", work / "amd.o", "-o", work / "image.co")
    run("env", "-C", work, "llvm-as-19", "amd.ll", "-o", "image.bc")
    run("spirv-as", work / "module.spvasm", "-o", work / "image.spv")
    target = (work / "image.ptx").read_text().replace("sm_70", "sm_80").replace("7.0", "8.0")
    (work / "new.ptx").write_text(target)
    run("ptxas", "-arch=sm_80", work / "new.ptx", "-o", work / "image.cubin")
    names = [f"image.{kind}" for kind in ("so", "ptx", "co", "bc", "spv", "cubin")]
    return [work / name for name in (*names, "debug.so")]


def of_sycl(work: Path) -> list[Path]:
    """Make a library for SYCL, and the native code in it."""
    (work / "zebin").write_bytes(sycl.zebin(work))
    library = sycl.sample(work, "-s", *SMALL).rename(work / "sycl.so")
    return [library, work / "zebin"]


def of_rocm(work: Path) -> list[Path]:
    """Make an archive of a library's kernels."""
    content = kpacks.archive("zstd-per-kernel", {f"{kpacks.LIBRARY}#0": ("gfx1100", "gfx90a")})
    (work / "one.kpack").write_bytes(content)
    return [work / "one.kpack"]


def bundles(work: Path) -> list[Path]:
    """Make containers that are whole files."""
    bundler = ("clang-offload-bundler-19", f"-targets={HOST_ID},hipv4-{AMD}--gfx90a")
    files = ("-input=/dev/null", f"-input={work / 'amd.o'}")
    run(*bundler, "-type=bc", *files, f"-output={work / 'bundle'}")
    run(*bundler, "-type=bc", "-compress", *files, f"-output={work / 'bundle.ccob'}")
    texts = (f"-input={work / 'amd.ll'}", f"-input={work / 'amd.ll'}")
    run(*bundler, "-type=ll", *texts, f"-output={work / 'bundle.ll'}")
    parts = (
        f"--image=file={work / 'image.ptx'},triple={NVPTX},arch=sm_70,kind=openmp",
        f"--image=file={work / 'image.bc'},triple={X86_64},kind=openmp",
    )
    run("clang-offload-packager-19", "-o", work / "packed", *parts)
    joint = (
        "emit",
        "--force",
        "--format",
        "offload-binary",
        "--abi",
        "llvm-23",
        "-o",
        work / "joint",
    )
    named = (f"{NVPTX}:sm_70={work / 'image.ptx'}", f"{X86_64}={work / 'image.bc'}")
    assert omptool(*joint, *(word for one in named for word in ("--image", one))).exit_code == 0
    return [work / name for name in ("bundle", "bundle.ccob", "bundle.ll", "packed", "joint")]


def nested(work: Path) -> list[Path]:
    """Make nested containers, and one with a malformed part beside a sound one."""
    parts = (f"--image=file={work / 'bundle.ccob'},triple={AMD},arch=gfx90a,kind=openmp",)
    run("clang-offload-packager-19", "-o", work / "nested", *parts)
    damaged = bytearray((work / "packed").read_bytes())
    damaged[16] = 0xFF  # the offset of the first OffloadBinary's entry
    (work / "damaged").write_bytes(damaged)
    return [work / "nested", work / "damaged"]


def hosts(work: Path) -> list[Path]:
    """Make objects and programs with images in sections."""
    runtime = fake_runtime(work)
    host = compile_c(HOST + MAIN, work / "host.o", "-c", "-fPIC")
    object_ = bundled(host, work / "bundled.o", {f"{NVPTX}:sm_70": work / "image.ptx"})
    start = compile_c("void _start(void) {}", work / "start.o", "-c")
    for name, flag in (("program", "-pie"), ("program-fixed", "-no-pie")):
        run("gcc", object_, start, flag, *SMALL, "-Wl,--no-as-needed", runtime, "-o", work / name)
    run("llvm-strip-19", "--strip-sections", work / "program", "-o", work / "program-headless")
    compile_c(OPENMP, work / "clang.o", "-c", "-fopenmp", f"-fopenmp-targets={X86_64}",
              "-g0", "-fno-asynchronous-unwind-tables", compiler="clang-19")  # fmt: skip
    empty = compile_c("int unused;", work / "hip.o", "-c")
    for name, content in (("hip", "bundle"), ("hip-packed", "bundle.ccob")):
        section = f".hip_fatbin={work / content}"
        run("objcopy", "--add-section", section, empty, work / f"{name}-section.o")
    names = ("bundled.o", "program", "program-fixed", "program-headless", "clang.o",
             "hip-section.o", "hip-packed-section.o")  # fmt: skip
    return [work / name for name in names]


GCC_SOURCE = (TESTS / "packager" / "fuzz" / "gcc_program.c").read_text()
GCC_FOLDER = Path("/usr/lib/gcc/x86_64-linux-gnu/12")


def windows(work: Path) -> list[Path]:
    """Make a COFF object and an executable for Windows."""
    (work / "images").write_bytes((work / "packed").read_bytes())
    (work / "fatbin").write_bytes((DATA / "zstd.fatbin").read_bytes())
    source = TESTS / "packager" / "hosts" / "coff.s"
    triple = "-triple=x86_64-pc-windows-msvc"
    run("llvm-mc-19", "-filetype=obj", triple, f"-I={work}", source, "-o", work / "coff.obj")
    link = ("lld-link-19", "-entry:main", "-subsystem:console", "-Brepro")
    run(*link, work / "coff.obj", f"-out:{work / 'coff.exe'}")
    return [work / "coff.obj", work / "coff.exe"]


def gcc_programs(work: Path) -> list[Path]:
    """Link as gcc does for NVIDIA's GPUs, with the user's PTX alone: GCC's own library is large."""
    (work / "gcc.c").write_text(GCC_SOURCE)
    bounds = [GCC_FOLDER / f"crtoffload{part}.o" for part in ("begin", "table", "end")]
    gcc = ("env", "-C", work, "PATH=/usr/bin:/bin", "gcc-12")
    offload = ("-O1", "-fopenmp", "-foffload=nvptx-none", "-foffload-options=-misa=sm_35")
    files = (work / "gcc.c", bounds[0], bounds[2], "-lgomp", "-lc")
    run(*gcc, *offload, "-save-temps", "-nostdlib", *files, "-o", "whole")
    text = (work / "whole.xnvptx-none.c").read_text()
    first, _, rest = text.partition("static const char ptx_code_1[]")
    entries = rest.partition("static const struct ptx_obj")[2]
    objects, _, others = entries.partition("ptx_objs[] = {")
    others = others.partition("};")[2]
    own = "{ptx_code_0, sizeof (ptx_code_0)}"
    trimmed = f"{first}static const struct ptx_obj{objects}ptx_objs[] = {{{own}}};{others}"
    (work / "trimmed.c").write_text(trimmed)
    names = ("GOMP_offload_register_ver", "GOMP_offload_unregister_ver", "GOMP_target_ext")
    code = "\n".join(f"void {name}(void) {{}}" for name in names)
    fake = compile_c(code, work / "libgomp.so", "-shared", "-Wl,-soname,libgomp.so.1")
    host = next(work.glob("whole-gcc.o"))
    run("objcopy", "-w", "-R", ".gnu.lto*", "-R", ".gnu.offload_lto*", host, work / "gcc.o")
    inputs = (bounds[0], work / "gcc.o", work / "trimmed.c", *bounds[1:])
    run(*gcc, "-O1", *inputs, fake, "-no-pie", "-s", *SMALL, "-o", "gcc-program")
    return [work / "gcc-program"]


def archives(work: Path) -> list[Path]:
    """Names that are too long for a header, as GNU's and BSD's archives have them."""
    long_name = work / "an_object_with_a_long_name.o"
    shutil.copyfile(work / "hip-packed-section.o", long_name)
    for name, form in (("gnu.a", "gnu"), ("bsd.a", "bsd")):
        run("llvm-ar-19", "rcS", f"--format={form}", work / name, long_name)
    run("llvm-ar-19", "rcS", work / "outer.a", work / "gnu.a")
    return [work / name for name in ("gnu.a", "bsd.a", "outer.a")]


def packages(work: Path) -> list[Path]:
    """Pack PTX into a wheel and a Debian package."""
    run("env", "-C", work, "zip", "-q", "-X", "packed.whl", "image.ptx")
    root = work / "root"
    (root / "DEBIAN").mkdir(parents=True)
    lines = ("Package: p", "Version: 1", "Architecture: all", "Maintainer: n", "Description: d")
    (root / "DEBIAN" / "control").write_text("\n".join((*lines, "")))
    shutil.copy(work / "image.ptx", root)
    run("dpkg-deb", "--root-owner-group", "-Znone", "-b", root, work / "packed.deb")
    return [work / "packed.whl", work / "packed.deb"]


if __name__ == "__main__":
    main()
