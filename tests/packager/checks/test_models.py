# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks on models: findings of each, and none for similar models without the fault.

No file is read and no compiler runs. Other tests in this folder show that readers make such models
of real files.
"""

from __future__ import annotations

import builtins
import io
import os
from typing import Any

import pytest

from packager.checks import CHECKS, Earlier, against, verify
from packager.model import (
    Contents,
    Descriptor,
    DeviceImage,
    DeviceSymbol,
    EntryTable,
    FatBinary,
    Finding,
    KernelCode,
    Links,
    OffloadEntry,
    Registration,
)

X86_64, NVPTX, AMD = "x86_64-pc-linux-gnu", "nvptx64-nvidia-cuda", "amdgcn-amd-amdhsa"
KERNEL = DeviceSymbol("k", "kernel", 0)
GLOBAL = DeviceSymbol("g", "global", 4)
BOTH = (KERNEL, GLOBAL)
SIZE = 0x100  # of an image
TABLE = 0x1000  # address of the entries
RECORD = 32
REGISTER = "__tgt_register_lib@VERS1.0"


def contents(*symbols: DeviceSymbol, **more: Any) -> Contents:
    """Return the contents of a shared object for x86-64 with these symbols; `more` changes them."""
    said: dict[str, Any] = {"kind": "elf", "machine": "x86_64", "form": "shared object"}
    return Contents(**{**said, "symbols": symbols, **more})


def image(inner: Contents, index: int = 0, **more: Any) -> DeviceImage:
    """Return an image with `inner`, at an offset of its own."""
    offset = 0x4000 + index * SIZE
    own = DeviceImage(index, "raw", X86_64, "", offset, SIZE, offset, inner)
    return own._replace(**more)


def table(*entries: OffloadEntry, **more: Any) -> EntryTable:
    """Return a table in LLVM 19's form, for image 0."""
    size = RECORD * len(entries)
    placed = tuple(e._replace(number=n, place=n) for n, e in enumerate(entries))
    own = EntryTable("omp_offloading_entries", "llvm-19", RECORD, 0x2000, size, TABLE, placed, (0,))
    return own._replace(**more)


def entry(name: str, **more: Any) -> OffloadEntry:
    """Return a kernel's entry; `more` changes fields."""
    return OffloadEntry(0, "kernel", name, None, None, 0, 0)._replace(**more)


ENTRIES = (entry("k"), entry("g", kind="global", size=4))


def program(*images: DeviceImage, entries: EntryTable | None = None, **more: Any) -> FatBinary:
    """Return a correct program of clang 19 with these images or one; `more` adds the fault."""
    images = images or (image(contents(*BOTH)),)
    entries = table(*ENTRIES) if entries is None else entries
    indices = tuple(one.index for one in images)
    end = TABLE + entries.size
    descriptor = Descriptor(0x3000, 0x3000, indices, TABLE, end, ".init_array[0]")
    own = FatBinary(
        "app", "x86_64", "executable", "llvm-19", images,
        (entries._replace(images=indices),), (descriptor,),
        imports=(REGISTER,), needed=("libomptarget.so.19.1",),
    )  # fmt: skip
    return own._replace(**more)


def descriptor(**more: Any) -> tuple[Descriptor, ...]:
    """Return the descriptor of a correct program with the fields in `more` changed."""
    (own,) = program().descriptors
    return (own._replace(**more),)


def holding(*symbols: DeviceSymbol, entries: EntryTable | None = None, **more: Any) -> FatBinary:
    """Return a program whose one image has these symbols and the contents in `more`."""
    return program(image(contents(*symbols, **more)), entries=entries)


def for_target(triple: str, kind: str, arch: str = "", **more: Any) -> DeviceImage:
    """Return an image declared for a GPU; `more` changes its contents."""
    machine = triple.split("-", maxsplit=1)[0]
    said = {"kind": kind, "machine": machine, "form": None, "arch": arch or None, **more}
    return image(contents(*BOTH, **said), triple=triple, arch=arch)


def of_proposal(*places: DeviceSymbol | None) -> FatBinary:
    """Return a program of 2013, without names of entries; the image's table has `places`."""
    entries = table(*(one._replace(name="") for one in ENTRIES), abi="proposal")
    binary = holding(*BOTH, entries=entries, places=places)
    return binary._replace(abi="proposal", imports=("__tgt_register_lib@LIBTARGET_2013",))


def of_document(*listed: DeviceSymbol, **more: Any) -> FatBinary:
    """Return a program of the documents' ABI, whose image lists these in its own table."""
    entries = table(*ENTRIES, abi="interface")
    binary = holding(*BOTH, entries=entries, table=listed, **more)
    imports = ("__tgt_register_lib@OMPTARGET_4.5",)
    return binary._replace(abi="interface", imports=imports, needed=("libomptarget.so",))


ABSENT = DeviceSymbol("other", "kernel", 0)
LONG = DeviceSymbol("g", "global", 8)
UNLISTED = DeviceSymbol("k", "kernel", 0, listed=False)
STALE = DeviceSymbol("__omp_offloading_1_2_old_l3", "kernel", 0)
OBJECT: dict[str, Any] = {"type": "object", "descriptors": (), "imports": (), "needed": ()}
SM_80, SM_89 = (for_target(NVPTX, "cubin", arch) for arch in ("sm_80", "sm_89"))
CUDA = (Registration("cuda", None, 0, (0,), ".init_array[0]"),)

Case = tuple[str, FatBinary, list[str]]
CASES: list[Case] = [
    ("a sound program", program(), []),
    ("the documents' program", of_document(*BOTH), []),
    ("the proposal's program", of_proposal(*BOTH), []),
    ("nothing at all", FatBinary("file", None, None, None, (), (), ()), []),
    # OMP101
    ("no descriptor", program(descriptors=()), ["OMP101 error"]),
    ("an object", program(**OBJECT), ["OMP101 info"]),
    ("an object of bitcode", program(**OBJECT, is_bitcode=True), ["OMP101 info", "OMP101 info"]),
    ("no image", program(descriptors=descriptor(images=())), ["OMP101 error"]),
    ("no constructor", program(descriptors=descriptor(registered_by=None)), ["OMP101 warning"]),
    ("no call", program(descriptors=descriptor(registered_by=None), imports=()), ["OMP101 error"]),
    ("untraced", program(descriptors=descriptor(registered_by=None, is_traced=False)), []),
    ("no version", of_document(*BOTH)._replace(imports=("__tgt_register_lib",)), ["OMP101 error"]),
    # OMP102
    ("no runtime", program(needed=("libc.so.6",)), ["OMP102 error"]),
    # OMP103
    ("half a record", program(entries=table(*ENTRIES, size=RECORD + 8)), ["OMP103 error"]),
    ("a short range", program(descriptors=descriptor(entries_end=TABLE + RECORD)),
     ["OMP103 error"]),
    ("bounds for the linker", program(descriptors=descriptor(entries_begin=None)), []),
    # OMP104
    ("two generations", program(tables=(
        table(*ENTRIES), table(entry("k"), record_size=56, size=56, offset=0x2800, address=0x1800),
    )), ["OMP104 error"]),
    ("no names in it", holding(KERNEL, entries=table(entry("k"), entry(""))),
     ["OMP104 error", "OMP105 error"]),
    # OMP105
    ("a missing kernel", holding(GLOBAL), ["OMP105 error"]),
    ("an unlisted kernel", holding(GLOBAL, UNLISTED), ["OMP105 error"]),
    ("an image that hides all", holding(is_opaque=True), []),
    ("a place for it alone", of_proposal(None, GLOBAL), ["OMP105 error"]),
    # OMP106
    ("another order", of_document(GLOBAL, KERNEL), ["OMP106 warning"]),
    ("another order by names", holding(*BOTH, table=(GLOBAL, KERNEL)), ["OMP106 info"]),
    ("too few places", of_proposal(KERNEL), ["OMP105 error", "OMP106 error"]),
    # OMP107
    ("an old kernel", holding(*BOTH, STALE), ["OMP107 warning"]),
    ("a function of clang's", holding(*BOTH, ABSENT), []),
    ("a kernel for nobody", of_document(*BOTH, symbols=(*BOTH, ABSENT)), ["OMP107 warning"]),
    # OMP108
    ("a name twice", holding(*BOTH, entries=table(*ENTRIES, entry("k"))), ["OMP108 info"]),
    ("two of a name", holding(*BOTH, entries=table(*ENTRIES, entry("k", size=1))),
     ["OMP108 error"]),
    ("twice in the image", holding(*BOTH, table=(*BOTH, KERNEL)), ["OMP108 info"]),
    ("a region without entry", program(unlisted=("k2",)), ["OMP108 error"]),
    # OMP109
    ("another size", holding(KERNEL, LONG), ["OMP109 error"]),
    ("another kind", holding(GLOBAL, DeviceSymbol("k", "global", 4)), ["OMP109 error"]),
    ("another size by place", of_proposal(KERNEL, LONG), ["OMP109 error"]),
    # OMP110
    ("another machine", holding(*BOTH, machine="aarch64"), ["OMP110 error"]),
    ("an executable", holding(*BOTH, form="executable"), ["OMP110 error"]),
    ("damage", holding(is_opaque=True, problem="runs past the end"), ["OMP110 error"]),
    ("no bytes", program(image(contents(*BOTH), size=0)), ["OMP110 error"]),
    ("another kind than declared", program(image(contents(*BOTH), declared_kind="ptx")),
     ["OMP110 error"]),
    ("another processor", program(SM_80._replace(arch="sm_90")), ["OMP110 error"]),
    ("a newer GPU for PTX", program(for_target(NVPTX, "ptx", "sm_70")._replace(arch="sm_90")),
     ["OMP110 warning", "OMP116 info"]),
    ("any setting of a feature", program(
        for_target(AMD, "amdgcn", "gfx90a")._replace(arch="gfx90a:xnack+")), []),
    ("the opposite of a feature", program(
        for_target(AMD, "amdgcn", "gfx90a:xnack-")._replace(arch="gfx90a:xnack+")),
     ["OMP110 error"]),
    # OMP111
    ("a fault", program(faults=("OffloadBinary at 0x10 has no magic",)), ["OMP111 error"]),
    ("shared bytes", program(image(contents(*BOTH), offset=0x2010)), ["OMP111 error"]),
    # OMP112
    ("one target twice", program(SM_80, SM_80._replace(index=1, offset=0x9000)),
     ["OMP112 warning"]),
    ("an older GPU first", program(SM_80, SM_89._replace(index=1, offset=0x9000)),
     ["OMP112 warning"]),
    ("the newer GPU first", program(SM_89, SM_80._replace(index=1, offset=0x9000)), []),
    # OMP113
    ("containers", program(image(contents(*BOTH), is_wrapped=True)), ["OMP113 warning"]),
    # OMP114
    ("the runtime's functions", holding(*BOTH, links=Links(undefined=("__kmpc_fork_call",))),
     ["OMP114 error"]),
    ("with its library", holding(
        *BOTH, links=Links(undefined=("__kmpc_fork_call",), needed=("libomp.so.5",))), []),
    ("libc's functions", holding(*BOTH, links=Links(undefined=("puts",))), []),
    ("what CUDA defines", program(
        for_target(NVPTX, "cubin", "sm_80", links=Links(undefined=("malloc",)))), []),
    ("what CUDA does not define", program(
        for_target(NVPTX, "cubin", "sm_80", links=Links(undefined=("mine",)))), ["OMP114 error"]),
    ("SPIR-V without the runtime's library", program(
        for_target("spirv64-intel", "spirv", links=Links(undefined=("__kmpc_target_init",)))),
     ["OMP114 error", "OMP116 warning"]),
    ("SPIR-V whose driver defines the rest", program(
        for_target("spirv64-intel", "spirv", links=Links(undefined=("_Z13get_global_idj",)))),
     ["OMP116 warning"]),
    ("an object of SPIR-V, whose device link is to come", program(
        for_target("spirv64-intel", "spirv", links=Links(undefined=("__kmpc_target_init",))),
        type="object", descriptors=()), ["OMP101 info"]),
    # OMP115
    ("a second runtime", holding(*BOTH, links=Links(needed=("libomptarget.so.22.1",))),
     ["OMP115 warning"]),
    ("a folder of its own", holding(*BOTH, links=Links(search=("/opt/lib",))), ["OMP115 warning"]),
    ("a renamed libomp", program(
        image(contents(*BOTH, links=Links(needed=("libomp.so.5",)))),
        needed=("libomptarget.so.19.1", "libomp-6a3e1b2c.so.5")), ["OMP115 error"]),
    # OMP116
    ("PTX", program(for_target(NVPTX, "ptx", "sm_80")), ["OMP116 info"]),
    ("PTX beside a cubin", program(
        SM_80, for_target(NVPTX, "ptx", "sm_90")._replace(index=1, offset=0x9000)), []),
    ("bitcode", holding(kind="bitcode", form=None, is_opaque=True), ["OMP116 warning"]),
    ("bitcode for CUDA's runtime", program(
        image(contents(kind="bitcode", form=None, is_opaque=True)), registrations=CUDA),
     ["OMP116 info"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("binary", "expected"), [pytest.param(*rest, id=name) for name, *rest in CASES]
)
def test_a_model(binary: FatBinary, expected: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Checks look at the model alone: none opens a file."""
    for module, name in ((builtins, "open"), (io, "open"), (os, "open")):
        monkeypatch.setattr(module, name, _refused)
    assert [f"{one.code} {one.severity}" for one in verify(binary)] == expected


def _refused(*_: object, **__: object) -> None:
    raise AssertionError("a check opens a file")


def test_the_table_has_every_code_of_the_structure() -> None:
    found = {word.split()[0] for _, _, expected in CASES for word in expected}
    assert found == {f"OMP{number}" for number in range(101, 117)}
    assert found < CHECKS.keys()


def between(one: FatBinary, other: FatBinary) -> list[Finding]:
    """Return the findings about two files of one program."""
    earlier = Earlier()
    earlier.add(one._replace(path="a.o"))
    return against(earlier, other._replace(path="b.o"), CHECKS)


FIRST = program(SM_89, image(contents(*BOTH), 1), codes=(KernelCode(0, "k", b"1"),))


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        pytest.param(FIRST, [], id="alike"),
        pytest.param(FIRST._replace(codes=(KernelCode(0, "k", b"2"),)), ["OMP108"], id="code"),
        pytest.param(FIRST._replace(images=(SM_80, FIRST.images[1])), [], id="another GPU"),
        pytest.param(FIRST._replace(images=FIRST.images[::-1]), ["OMP127"], id="order"),
    ],
)
def test_two_models(second: FatBinary, expected: list[str]) -> None:
    assert [one.code for one in between(FIRST, second)] == expected
