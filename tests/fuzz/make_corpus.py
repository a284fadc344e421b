"""Makes the seeds of corpus/ with the tools whose formats they are: small files of every kind.

Usage: PYTHONPATH=tests python tests/fuzz/make_corpus.py   (needs ptxas, too)

What else is in corpus/ was found by fuzzing, and is kept so that it stays found.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

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
    run,
)

CORPUS = Path(__file__).parent / "corpus"
DATA = Path(__file__).parent.parent / "data"
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
    """Every seed anew; those of other origin stay."""
    CORPUS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        for path in [*images(work), *bundles(work), *hosts(work), *archives(work)]:
            shutil.copyfile(path, CORPUS / f"seed-{path.name}")
    for path in DATA.glob("*.fatbin"):
        shutil.copyfile(path, CORPUS / f"seed-{path.name}")
    thin = ("llvm-ar-19", "rcS", "--thin", "seed-thin.a", "seed-hip-packed-section.o")
    subprocess.run(thin, cwd=CORPUS, check=True)


def images(work: Path) -> list[Path]:
    """Device images, bare."""
    (work / "image.ptx").write_text(PTX)
    (work / "amd.ll").write_text(AMD_KERNEL)
    (work / "module.spvasm").write_text(SPIRV)
    compile_c(HOST, work / "image.so", "-shared", "-fPIC", "-s", *SMALL)
    run("llc-19", "-mcpu=gfx90a", "-filetype=obj", work / "amd.ll", "-o", work / "amd.o")
    run("ld.lld-19", "-shared", work / "amd.o", "-o", work / "image.co")
    run("llvm-as-19", work / "amd.ll", "-o", work / "image.bc")
    run("spirv-as", work / "module.spvasm", "-o", work / "image.spv")
    target = (work / "image.ptx").read_text().replace("sm_70", "sm_80").replace("7.0", "8.0")
    (work / "new.ptx").write_text(target)
    run("ptxas", "-arch=sm_80", work / "new.ptx", "-o", work / "image.cubin")
    return [work / f"image.{kind}" for kind in ("so", "ptx", "co", "bc", "spv", "cubin")]


def bundles(work: Path) -> list[Path]:
    """Containers in files."""
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
    return [work / name for name in ("bundle", "bundle.ccob", "bundle.ll", "packed")]


def hosts(work: Path) -> list[Path]:
    """Objects and programs with images in sections."""
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


def archives(work: Path) -> list[Path]:
    """Names that are too long for a header, as GNU's and BSD's archives have them."""
    long_name = work / "an_object_with_a_long_name.o"
    shutil.copyfile(work / "hip-packed-section.o", long_name)
    for name, form in (("gnu.a", "gnu"), ("bsd.a", "bsd")):
        run("llvm-ar-19", "rcS", f"--format={form}", work / name, long_name)
    return [work / name for name in ("gnu.a", "bsd.a")]


if __name__ == "__main__":
    main()
