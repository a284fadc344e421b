# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LLVM's machine for a join: the processor, its features, and the version of PTX."""

from __future__ import annotations

import re

from llvmlite import binding as llvm

from packager.lowering.joining.kept import definitions, is_local
from packager.lowering.joining.request import Device
from packager.lowering.pipeline import target_machine

_PTX = re.compile(r"\+ptx(\d+)")
_VERSION = re.compile(r"^\.version (\d+)\.(\d+)", re.MULTILINE)


def plain(device: Device, level: int) -> llvm.TargetMachine:
    """Return the requested machine, with the oldest PTX version that its processor accepts."""
    return _machine(device, level, _without_ptx(device.features))


def suited(
    machine: llvm.TargetMachine, module: llvm.ModuleRef, device: Device, level: int
) -> llvm.TargetMachine:
    """Return the machine with the requested PTX version, else with that of the code's compiler.

    Never an older one than the processor needs: clang without a CUDA toolkit always declares ptx42.
    """
    if not device.is_text:
        return machine
    wanted = _PTX.findall(device.features) or _compiled_for(module)
    newest = max(map(int, wanted), default=0)
    if newest <= _oldest(machine):
        return machine
    others = _without_ptx(device.features)
    return _machine(device, level, ",".join(filter(None, [others, f"+ptx{newest}"])))


def _without_ptx(features: str) -> str:
    return ",".join(word for word in features.split(",") if word and not _PTX.fullmatch(word))


def _oldest(machine: llvm.TargetMachine) -> int:
    empty = llvm.parse_assembly("")
    empty.triple = machine.triple
    empty.data_layout = str(machine.target_data)
    found = _VERSION.search(machine.emit_assembly(empty))
    return int(found[1] + found[2]) if found else 0


def _compiled_for(module: llvm.ModuleRef) -> list[str]:
    functions = (v for v in definitions(module) if v.is_function and not is_local(v))
    return [
        version
        for function in functions
        for text in function.attributes
        for version in _PTX.findall(text.decode())
    ]


def _machine(device: Device, level: int, features: str) -> llvm.TargetMachine:
    return target_machine(device.llvm_triple, device.cpu, features, level)
