# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A source to an object: the host's code, and that of each device beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from packager.compiling import fortran
from packager.compiling.command import STANDARD_INPUT, CompileCommand, Input
from packager.compiling.compilers import clangs_release
from packager.compiling.targets import APART, FOR_GPUS, OPENMP, QUIET, Target, offloading
from packager.errors import UsageError
from packager.files.temporary import unused
from packager.linking.tools import Tools
from packager.records import NamedTuple

DeviceCommand = tuple[tuple[str, ...], list[str]]  # a compiler, and its options


class Compiling(NamedTuple):
    """The command and the targets that sources are compiled with."""

    command: CompileCommand
    targets: Sequence[Target]
    compiles_devices: bool  # or the host alone
    includes: Path  # folder of omptarget.h
    release: int | None = None  # clang's release; None: another compiler
    compiles_fortran: bool = False  # compiled for devices, too, by a flang

    def words(self) -> list[str]:
        """Return the options that compile every source."""
        quiet = (
            self.release is not None and self.command.end == "program"
        )  # the link has use for the others
        return [*self.command.compiler, *self.command.compiling(), *([QUIET] if quiet else [])]

    @property
    def links_openmp(self) -> bool:
        """Return whether the compiler that links is to add OpenMP's library."""
        return self.compiles_fortran if self.command.fortran else self.compiles_devices

    def including(self) -> list[str]:
        """Return the options that put omptarget.h's folder after all other include folders."""
        return ["-idirafter", str(self.includes)]


DeviceWords = Callable[[Input, Target, str, Compiling], DeviceCommand]


def compile_source(source: Input, out: Path, how: Compiling, tools: Tools) -> int:
    """Compile a source to `out`; returns the exit code of the first compiler that failed, or 0."""
    if source.kind == "fortran":
        return _compile_fortran(source, out, how, tools)
    words = how.words()
    tools.options_at = len(how.command.compiler)
    if source.kind == "assembly":
        return tools.pass_on([*words, "-c", str(source.path), "-o", str(out)])
    words += how.including()
    if not how.compiles_devices:
        return tools.pass_on([*words, *_asked_for(source, how), "-o", str(out)])
    words += _offloading(how.targets, how.release or 0)
    others = [target for target in how.targets if target.compiler]
    if others and str(source.path) == STANDARD_INPUT:
        raise UsageError(
            "standard input can be read only once: with several compilers, give a file"
        )
    host = unused(tools.folder, f"{source.path.stem}.o") if others else out
    code = tools.pass_on([*words, *_asked_for(source, how), "-o", str(host)])
    if code or not others:
        return code
    return _compile_devices(source, others, _for_device, host, out, how, tools)


def _compile_fortran(source: Input, out: Path, how: Compiling, tools: Tools) -> int:
    """Compile a source of Fortran, by flang for the host and each device apart."""
    command = how.command
    words = [*command.fortran, *command.compiling()]
    tools.options_at = len(command.fortran)
    if not how.compiles_fortran:
        return tools.pass_on([*words, "-c", str(source.path), "-o", str(out)])
    if str(source.path) == STANDARD_INPUT:
        raise UsageError("standard input can be read only once: for host and devices, give a file")
    host = unused(tools.folder, f"{source.path.stem}.o")
    words += fortran.of_the_host(how.targets)
    code = tools.pass_on([*words, "-c", str(source.path), "-o", str(host)])
    if code:
        return code
    return _compile_devices(source, how.targets, _fortran_device, host, out, how, tools)


def _compile_devices(
    source: Input, targets: Sequence[Target], words: DeviceWords, host: Path, out: Path,
    how: Compiling, tools: Tools,
) -> int:  # fmt: skip
    """Compile a source for each target, and write the object `host` with that code to `out`."""
    made: list[tuple[Target, str, Path]] = []
    for target, arch in _each(targets):
        path = unused(tools.folder, f"{source.path.stem}-{target.triple}-{arch or 'any'}")
        compiler, options = words(source, target, arch, how)
        tools.options_at = len(compiler)
        code = tools.pass_on([*compiler, *options, "-o", str(path)])
        if code:
            return code
        if not tools.is_dry:
            path.touch()  # reserves the name
        made.append((target, arch, path))
    if not tools.is_dry:
        from packager.compiling.device_code import add  # slow to load, and unused with clang alone

        add(host, made, out)
    return 0


def _asked_for(source: Input, how: Compiling) -> list[str]:
    """Return the arguments that name a source; C stays C if the user chose no compiler."""
    is_c = how.command.is_cxx_found and source.path.suffix == ".c"
    return ["-c", *(["-x", "c"] if is_c else []), str(source.path)]


def compile_elsewhere(how: Compiling, tools: Tools) -> int:
    """Run a compile step that makes no object, such as -E, for the host alone.

    Clang would write the devices' output into the host's.
    """
    command = how.command
    words = [*command.driver, *command.words]
    tools.options_at = len(command.driver)
    if how.compiles_fortran:
        words.append(OPENMP)
    elif command.of_kind("source") or command.of_kind("header"):
        words += how.including()
        if how.compiles_devices:
            has_table = command.end == "code" and (how.release or 0) >= APART
            words += _of_the_host(how.targets) if has_table else [OPENMP]
    return tools.pass_on(words)


def _offloading(targets: Sequence[Target], release: int) -> list[str]:
    """Return the options that make the host's compiler offload."""
    own = [target for target in targets if not target.compiler]
    return offloading(own, release) if own else _of_the_host(targets)


def _of_the_host(targets: Sequence[Target]) -> list[str]:
    """Return the options that make clang write the entry table, but no device code."""
    return [OPENMP, f"-fopenmp-targets={targets[0].triple}", "--offload-host-only"]


def _each(targets: Sequence[Target]) -> Iterator[tuple[Target, str]]:
    for target in targets:
        for arch in target.archs or ("",):
            yield target, arch


def _for_device(source: Input, target: Target, arch: str, how: Compiling) -> DeviceCommand:
    words = how.command.compiling(device=True)
    words += ["-idirafter", str(how.includes), OPENMP, f"-fopenmp-targets={target.triple}"]
    words += target.named([arch] if arch else [])
    words += FOR_GPUS if target.is_gpu else ()
    words += target.corrected(clangs_release(target.compiler) or 0)
    return target.compiler, [*words, "--offload-device-only", *_asked_for(source, how)]


def _fortran_device(source: Input, target: Target, arch: str, how: Compiling) -> DeviceCommand:
    words = [*how.command.compiling(device=True), *fortran.of_device(target, arch)]
    return how.command.fortran, [*words, "-c", str(source.path)]
