# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs and images of a GPU kit, linked and ready to run where there is no compiler."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TESTS = HERE.parent
ROOT = TESTS.parent
sys.path.insert(0, str(TESTS / "support"))
import nvptx  # noqa: E402
from clangs import INSTALLED, libraries, tool  # noqa: E402
from fixture_programs import NVPTX, OMPTOOL, call, compile_host, lower  # noqa: E402
from lowered import summing  # noqa: E402
from whole_programs import SOUND  # noqa: E402

from omptool.installation import libdir  # noqa: E402

SPIRV = "spirv64-unknown-unknown"
SOURCES = HERE / "sources"
APPLICATIONS = {"stream": ("30000", "3"), "stencil": ("20", "70", "11"), "nbody": ("60", "5")}
# Architectures that PTX for sm_75 is assembled for; the driver compiles it for other GPUs.
ARCHITECTURES = ("sm_90", "sm_80", "sm_75")
AMDGCN = "amdgcn-amd-amdhsa"
AMDS = ("gfx906", "gfx908", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201")
# The machine's C++ library need not be this one.
STATIC = ("-static-libstdc++", "-static-libgcc")
# Functions that the driver's compiler defines.
OF_THE_DRIVER = {"malloc", "free", "vprintf", "__assertfail"}
TOO_NEW = ".version 9.9"


class NotBuiltError(Exception):
    """A program that a compiler does not make."""


@dataclass(frozen=True)
class Tools:
    """NVIDIA's, where they are."""

    ptxas: Path | None
    libdevice: Path | None

    def cubins(self, ptx: Path) -> dict[str, Path]:
        """Assemble PTX for each architecture, if there is an assembler."""
        made = {}
        for architecture in ARCHITECTURES if self.ptxas else ():
            cubin = ptx.with_suffix(f".{architecture}")
            call(self.ptxas, f"-arch={architecture}", ptx, "-o", cubin)
            made[architecture] = cubin
        return made


def all_programs(kit: Path, tools: Tools, only: str = "") -> tuple[list[Any], list[Any]]:
    """Build clang's and portable programs; return manifest lines of the built and unbuilt ones."""
    wanted: list[Callable[[], list[dict[str, Any]]]] = []
    names = []
    for version in nvptx.VERSIONS[::-1]:
        for source in [*SOUND, *sorted((TESTS / "programs" / "applications").glob("*.c"))]:
            name = f"{source.stem}, clang {version}"
            if only in name:
                names.append(name)
                wanted.append(partial(_of_clang, kit, tools, version, source))
    if only in "portable kernels":
        names.append("portable kernels")
        wanted.append(partial(_portable, kit, tools))
    built, not_built = [], []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, outcome in zip(names, pool.map(_outcome, wanted), strict=True):
            if isinstance(outcome, str):
                not_built.append({"name": name, "why": outcome})
            else:
                built += outcome
    return built, not_built


def _outcome(make: Callable[[], list[dict[str, Any]]]) -> list[dict[str, Any]] | str:
    try:
        return make()
    except (AssertionError, NotBuiltError) as error:
        told = [line for line in str(error).splitlines() if re.search("undefined|error", line)]
        return (told or [str(error)])[0].removeprefix(f"{ROOT}/")[:300]


def _of_clang(kit: Path, tools: Tools, version: str, source: Path) -> list[dict[str, Any]]:
    """Build a program with cubins, and another with PTX alone."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        host, ptx = sides(tools, version, source, folder)
        forms = {"PTX": {nvptx.ARCHITECTURE: ptx}}
        if cubins := tools.cubins(ptx):
            forms = {"cubin": cubins, **forms}
        arguments = APPLICATIONS.get(source.stem)
        lines = []
        for form, images in forms.items():
            file = f"programs/{source.stem}-{version}-{form.lower()}"
            nvptx.registered(version, host, images, folder / "app", *STATIC)
            shutil.copy(folder / "app", kit / file)
            lines.append(
                {
                    "name": f"{source.stem}, clang {version}, {form}",
                    "file": file,
                    "arguments": list(arguments or ()),
                    "output": None if arguments else "ok\n",
                    "plugins": ["cuda", *(["liboffload of CUDA"] if form == "cubin" else ())],
                }
            )
        return lines


def sides(tools: Tools, version: str, source: Path, folder: Path) -> tuple[Path, Path]:
    """Build a program's host object and PTX; check that the driver defines all its externals."""
    flags = ("-O2", "-fopenmp-extensions", "-fopenmp-version=51", "-DWIDE=double")
    host = nvptx.host_object(version, source, folder, *flags)
    ptx = nvptx.device_ptx(version, source, folder, *flags, libdevice=tools.libdevice)
    text = ptx.read_text()
    declared = re.findall(r"\.extern \.func[^;]*?([A-Za-z_$][\w$]*)\s*\n?\s*[(;]", text)
    lacking = set(declared) - OF_THE_DRIVER
    if lacking:
        raise NotBuiltError(f"its PTX calls what nothing defines: {', '.join(sorted(lacking))}")
    return host, ptx


def _portable(kit: Path, tools: Tools) -> list[dict[str, Any]]:
    """Build fixtures/portable, with each kind of image in a program of its own."""
    fixture = ROOT / "fixtures" / "portable"
    expected = (fixture / "expected.txt").read_text()
    lines = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for form in ("cubin", "PTX"):
            if form == "cubin" and not tools.ptxas:
                continue
            images = nvidias(tools, fixture / "kernels.ll", folder, form == "cubin")
            images[SPIRV] = lower(fixture / "kernels.ll", folder / "k.spv", triple=SPIRV)
            images |= amds(fixture / "kernels.ll", folder)
            file = f"programs/portable-{form.lower()}"
            bundled_program(fixture / "host.c", images, folder, kit / file)
            lines.append(
                {
                    "name": f"portable kernels, {form}",
                    "file": file,
                    "arguments": [],
                    "output": expected,
                    "plugins": ["cuda", "opencl", "liboffload"],
                }
            )
    return lines


def nvidias(tools: Tools, ir: Path, folder: Path, as_cubins: bool) -> dict[str, Path]:
    """Lower portable kernels for NVIDIA's GPUs; return the images by target."""
    ptx = lower(ir, folder / f"{ir.stem}.ptx", "--cpu", nvptx.ARCHITECTURE, triple=NVPTX)
    if not as_cubins or not tools.ptxas:
        return {f"{NVPTX}:{nvptx.ARCHITECTURE}": ptx}
    return {f"{NVPTX}:{where}": cubin for where, cubin in tools.cubins(ptx).items()}


def amds(ir: Path, folder: Path) -> dict[str, Path]:
    """Portable kernels for AMD's GPUs, by where `omptool bundle` puts them."""
    return {
        f"{AMDGCN}:{gpu}": lower(ir, folder / f"{ir.stem}.{gpu}", "--cpu", gpu, triple=AMDGCN)
        for gpu in AMDS
    }


def bundled_program(
    source: Path, images: dict[str, Path], folder: Path, out: Path, *flags: str
) -> None:
    """Build the program of a host source for the documents' interface."""
    host = compile_host(source, folder / "host.o", "-Wno-missing-field-initializers", *flags)
    given = [word for where, image in images.items() for word in ("--image", f"{where}={image}")]
    call(OMPTOOL, "bundle", host, "--force", *given, "-o", folder / "bundled.o")
    linked = (f"-L{libdir()}", "-lomptarget", "-lm")
    call("gcc", folder / "bundled.o", *linked, "-o", out)


def images_of_the_suite(kit: Path, tools: Tools) -> None:
    """Make the image of conformance_tests."""
    support = ROOT / "runtime" / "tests" / "support" / "images"
    out = kit / "images" / "conformance.ptx"
    lower(support / "conformance.ll", out, "--cpu", nvptx.ARCHITECTURE, triple=NVPTX)
    tools.cubins(out)
    amds(support / "conformance.ll", kit / "images")
    module = out.with_suffix(".spv")
    call("spirv-as", "--target-env", "spv1.2", support / "conformance.spvasm", "-o", module)


def faults_by_hand(kit: Path, tools: Tools) -> None:
    """Make the programs of kit/faults.py, of portable kernels."""
    faults, host = kit / "faults", SOURCES / "faults.c"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ptx = lower(SOURCES / "faults.ll", folder / "f.ptx", "--cpu", "sm_75", triple=NVPTX)
        bundled_program(host, {f"{NVPTX}:sm_75": ptx}, folder, faults / "faults")
        for architecture, cubin in tools.cubins(ptx).items():
            only = {f"{NVPTX}:{architecture}": cubin}
            bundled_program(host, only, folder, faults / f"faults.{architecture}")
        ptx.write_text(
            re.sub(r"^\.version .*$", TOO_NEW, ptx.read_text(), count=1, flags=re.MULTILINE)
        )
        bundled_program(host, {f"{NVPTX}:sm_75": ptx}, folder, faults / "faults.too_new")


def more_faults(kit: Path, tools: Tools) -> None:
    """Make the other programs of kit/faults.py: 1,000 arguments, a region of clang's."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ir = folder / "sum.ll"
        ir.write_text(summing(1000))
        ptx = lower(ir, folder / "sum.ptx", "--cpu", "sm_75", triple=NVPTX)
        many = TESTS / "support" / "sources" / "many_arguments.c"
        only = {f"{NVPTX}:sm_75": ptx}
        bundled_program(many, only, folder, kit / "faults" / "arguments", "-DCOUNT=1000")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        host_side, ptx = sides(tools, INSTALLED, SOURCES / "faults_clang.c", folder)
        nvptx.registered(INSTALLED, host_side, {"sm_75": ptx}, folder / "app", *STATIC)
        shutil.copy(folder / "app", kit / "faults" / "faults_clang")


def programs_of_figures(kit: Path, tools: Tools) -> None:
    """Make the programs of kit/figures.py."""
    figures = kit / "figures"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        host, ptx = sides(tools, INSTALLED, SOURCES / "constructs.c", folder)
        images = tools.cubins(ptx) or {nvptx.ARCHITECTURE: ptx}
        # libomp precedes our library: both define routines, and ours have versions that LLVM's
        # libomptarget lacks.
        first = (*STATIC, f"-L{libomp().parent}", "-lomp")
        nvptx.registered(INSTALLED, host, images, folder / "app", *first)
        shutil.copy(folder / "app", figures / "constructs")
        portable = nvidias(tools, SOURCES / "portable.ll", folder, as_cubins=True)
        bundled_program(SOURCES / "portable.c", portable, folder, figures / "portable")
    call("gcc", "-O2", SOURCES / "bare.c", "-ldl", "-o", figures / "bare")
    lower(SOURCES / "bare.ll", figures / "bare.ptx", "--cpu", "sm_75", triple=NVPTX)


def needed(file: Path) -> list[str]:
    """Return the libraries that an ELF file needs."""
    said = _readelf("-d", file)
    return re.findall(r"\(NEEDED\).*\[(.*)\]", said)


def newest_glibc(files: Sequence[Path]) -> str:
    """Return the newest glibc version that the files need."""
    found = {
        tuple(map(int, version.split(".")))
        for file in files
        for version in re.findall(r"Name: GLIBC_([0-9.]+)", _readelf("-V", file))
    }
    return ".".join(map(str, max(found, default=(2, 0))))


def _readelf(option: str, file: Path) -> str:
    done = subprocess.run(
        ["readelf", "-W", option, file], capture_output=True, text=True, check=True
    )
    return done.stdout


def libomp() -> Path:
    """Return libomp of the clang whose programs use it."""
    return Path(libraries(INSTALLED)) / "libomp.so.5"


def clang_name() -> str:
    """Return the name of the compiler that made the programs."""
    said = subprocess.run(
        [*tool(INSTALLED), "--version"], capture_output=True, text=True, check=False
    )
    return said.stdout.splitlines()[0]
