# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a module of a target to its code: the pipeline of both workers, of `lower` and of a join."""

from __future__ import annotations

from llvmlite import binding as llvm

from packager.records import NamedTuple

_VECTORISE_FROM = 2  # clang's level


class Output(NamedTuple):
    """Options of a module's result."""

    triple: str  # triple of the family
    emit: str  # as in lower.request
    level: int  # optimisation level, 0 to 3
    is_text: bool  # LLVM writes assembly
    vectorises: bool


def initialise() -> None:
    """Load LLVM's code generators."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


def target_machine(triple: str, cpu: str, features: str, level: int) -> llvm.TargetMachine:
    """Return the machine that code is made for; `triple` is in LLVM's spelling."""
    return llvm.Target.from_triple(triple).create_target_machine(
        cpu=cpu, features=features, opt=level, reloc="pic", codemodel="small"
    )


def optimise(module: llvm.ModuleRef, machine: llvm.TargetMachine, output: Output) -> None:
    """Optimise the module; bitcode is vectorised later, when its processor is known."""
    options = llvm.create_pipeline_tuning_options(speed_level=output.level)
    is_bitcode = output.emit == "bc"
    vectorises = output.vectorises and not is_bitcode and output.level >= _VECTORISE_FROM
    options.slp_vectorization = vectorises
    options.loop_vectorization = vectorises
    options.loop_unrolling = not is_bitcode
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)


def emitted(module: llvm.ModuleRef, machine: llvm.TargetMachine, output: Output) -> bytes:
    """Return the code, assembly or bitcode of a module."""
    if output.emit == "bc":
        module.triple = output.triple  # whoever compiles it names the machine anew
        return bytes(module.as_bitcode())
    if output.emit == "asm" or output.is_text:
        return str(machine.emit_assembly(module)).encode()
    return bytes(machine.emit_object(module))
