# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A kernel's code as this machine's disassemblers write it; PTX is text already."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from packager.errors import FindingError, MissingToolError, UsageError
from packager.files.reader import Reader
from packager.files.temporary import store, temporary_folder
from packager.hosts.load import load_all
from packager.model import DeviceImage, ImageKind
from packager.naming.demangle import demangled
from packager.processes.programs import search_folders, tool_environment, which
from packager.questions.kernels import kernels
from packager.questions.offered import near
from packager.questions.wanted import Wanted
from packager.records import NamedTuple

SECONDS = 600
SHOWN = 5  # names of kernels in a message
VERSIONED = re.compile(r"-(\d+)")


class Tool(NamedTuple):
    """A disassembler: its arguments for a kernel, and the kernel's part of its output."""

    name: str
    arguments: Callable[[str, str], list[str]]  # file, kernel
    part: Callable[[str, str], str]  # answer, kernel


class Disassembled(NamedTuple):
    """A kernel's code in one image."""

    number: int  # number of the image across all members of an archive
    image: DeviceImage
    kernel: str
    tool: str  # "" of PTX
    text: str


def disassemble(source: Path, wanted: Wanted, pattern: str) -> Iterator[Disassembled]:
    """Yield the code of the kernel that `pattern` matches, for each wanted image that has it.

    Raises FindingError if no kernel matches and UsageError if several do. After all other images,
    raises UsageError if a tool rejects an image, and MissingToolError if PATH has no tool for one.
    """
    name = _meant(source, wanted, pattern)
    index = 0
    fault: MissingToolError | UsageError | None = None
    for loaded in load_all(source):
        for image, data in zip(loaded.binary.images, loaded.data, strict=True):
            has_it = any(kernel.name == name for kernel in kernels(loaded.binary, image))
            if has_it and wanted(index, loaded.binary, image):
                try:
                    yield Disassembled(index, image, name, *_asked(image, data, name))
                except (MissingToolError, UsageError) as error:
                    fault = fault or error
            index += 1
    if fault:
        raise fault


def _meant(source: Path, wanted: Wanted, pattern: str) -> str:
    """Return the one kernel with this name, or else with this text in its name."""
    names: dict[str, None] = {}
    for loaded in load_all(source):
        for image in wanted.images(loaded.binary):
            names |= {kernel.name: None for kernel in kernels(loaded.binary, image)}
    exact = [name for name in names if pattern in (name, demangled(name))]
    is_meant = Wanted(kernels=(pattern,)).names
    found = exact or [name for name in names if is_meant(name)]
    if not found:
        raise FindingError(f"no kernel is called {pattern}{near(pattern, names)}")
    if len(found) > 1:
        some = ", ".join(found[:SHOWN])
        more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        raise UsageError(f"{pattern} means {len(found)} kernels: {some}{more}")
    return found[0]


def _asked(image: DeviceImage, data: Reader, kernel: str) -> tuple[str, str]:
    """Return the name of the tool that disassembles an image, and its output."""
    if image.kind == "ptx":
        return "", _of_ptx(data.bytes().decode("utf-8", "backslashreplace"), kernel)
    tools = TOOLS.get(image.kind)
    if not tools:
        raise UsageError(f"nothing disassembles {image.kind} images")
    found = [(tool, path) for tool in tools for path in installed(tool.name)]
    if not found:
        names = " or ".join(tool.name for tool in tools)
        raise MissingToolError(f"{image.kind} images need {names}, which is not on PATH")
    said: list[str] = []
    with temporary_folder() as folder:
        file = folder / "image"
        store(file, data.pieces())
        for tool, path in found:
            text, fault = _run(tool, path, file, kernel)
            if text:
                return Path(path).name, text
            said.append(f"{Path(path).name}: {fault}")
    raise UsageError(f"image {image.index} is not disassembled: {'; '.join(said)}")


def installed(name: str) -> list[str]:
    """Return the paths of a program on PATH: unversioned, then by version, newest first."""
    found: dict[int, str] = {}
    for folder in search_folders():
        for path in Path(folder).glob(f"{name}-*"):
            version = VERSIONED.fullmatch(path.name[len(name) :])
            if version and os.access(path, os.X_OK):
                found.setdefault(int(version[1]), str(path))
    plain = which(name)
    versions = [found[number] for number in sorted(found, reverse=True)]
    return [plain, *versions] if plain else versions


def _run(tool: Tool, path: str, file: Path, kernel: str) -> tuple[str, str]:
    """Return the tool's disassembly of a kernel and "", or "" and the reason of its failure."""
    command = [path, *tool.arguments(str(file), kernel)]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="backslashreplace",
            env=tool_environment(),
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "", f"it took more than {SECONDS} s"
    except OSError as error:
        return "", str(error.strerror)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        return "", lines[0].replace(str(file), "the image")
    text = tool.part(done.stdout, kernel).strip("\n")
    return text, "" if text else "it does not show the kernel"


# ---- the part about a kernel ----


def _of_ptx(text: str, kernel: str) -> str:
    return _block(text, rf"^.*\.entry\s+{re.escape(kernel)}\s*[({{\s]", r"^\s*\}\s*$")


def _of_sections(text: str, kernel: str) -> str:
    """Return the kernel's section in nvdisasm's output."""
    head = rf"^//-+ \.text\.{re.escape(kernel)} -*$"
    return _block(text, head, r"(?=^//-+ )", is_last_open=True)


def _of_llvm(text: str, kernel: str) -> str:
    return _block(text, rf'^define .*@"?{re.escape(kernel)}"?\(', r"^\}$")


def _of_objdump(text: str, kernel: str) -> str:
    return _block(text, rf"^[0-9a-f]+ <{re.escape(kernel)}>:$", r"(?=^$|\Z)", is_last_open=True)


def _of_spirv(text: str, kernel: str) -> str:
    entry = re.search(rf'OpEntryPoint \w+ (%\S+) "{re.escape(kernel)}"', text)
    if not entry:
        return ""
    return _block(text, rf"^\s*{re.escape(entry[1])} = OpFunction ", r"^\s*OpFunctionEnd$")


def _block(text: str, begin: str, end: str, *, is_last_open: bool = False) -> str:
    """Return the text from the first line that matches `begin` to the next match of `end`."""
    first = re.search(begin, text, re.MULTILINE)
    if not first:
        return ""
    last = re.compile(end, re.MULTILINE).search(text, first.end())
    if last is None:
        return text[first.start() :] if is_last_open else ""
    return text[first.start() : last.end()]


def _whole(text: str, _: str) -> str:
    return text if "Function :" in text else ""


def _objdump(file: str, kernel: str) -> list[str]:
    return ["-d", "--no-show-raw-insn", f"--disassemble-symbols={kernel}", file]


_OBJDUMP = Tool("llvm-objdump", _objdump, _of_objdump)
# Disassemblers in the order of trying.
TOOLS: dict[ImageKind, Sequence[Tool]] = {
    "cubin": (
        Tool("nvdisasm", lambda file, _: ["-c", file], _of_sections),
        Tool("cuobjdump", lambda file, kernel: ["-sass", "-fun", kernel, file], _whole),
    ),
    "amdgcn": (_OBJDUMP,),
    "elf": (_OBJDUMP,),
    "bitcode": (Tool("llvm-dis", lambda file, _: [file, "-o", "-"], _of_llvm),),
    "spirv": (Tool("spirv-dis", lambda file, _: ["--no-color", file], _of_spirv),),
}
