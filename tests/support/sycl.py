# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs in the form of Intel's linker, by the assembler: Intel's tools are not installed.

The layout is that of shipped libraries (dpnp, bitsandbytes, oneMKL): images end to end in
`__CLANG_OFFLOAD_BUNDLE__sycl-<target>`, pairs in `.tgtimg`, descriptors of `__sycl_register_lib`.
"""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import zstandard
from toolchain import compile_c, run

SPIRV_FORMAT, NATIVE, COMPRESSED = 2, 1, 4
ZE_INFO = """---
version:         '1.53'
kernels:
  - name:            {0}
    execution_env:
      grf_count:       128
      private_size:    512
      slm_size:        1024
      spill_size:      64
    payload_arguments:
      - arg_type:        arg_byvalue
        size:            8
  - name:            {1}
    execution_env:
      grf_count:       256
functions:
  - name:            helper
kernels_misc_info:
  - name:            {0}
...
"""


class Part(NamedTuple):
    """An image as it is in the file."""

    data: bytes
    target: str = "spir64"
    form: int = 0
    size: int | None = None  # size in .tgtimg, if not the number of bytes


def spirv(*kernels: str, version: int = 0x10000) -> bytes:
    """Return a module with kernels of these names."""
    words = [0x07230203, version, 0, 64, 0, *_words(14, 2, 2)]
    for name in kernels:
        literal = name.encode() + b"\0"
        literal += bytes(-len(literal) % 4)
        words += _words(15, 6, 1, *struct.unpack(f"<{len(literal) // 4}I", literal))
    return struct.pack(f"<{len(words)}I", *words)


def _words(opcode: int, *operands: int) -> list[int]:
    return [(1 + len(operands)) << 16 | opcode, *operands]


def packed(data: bytes, target: str = "spir64") -> Part:
    """Return an image as `--offload-compress` writes it; `.tgtimg` has its inflated size."""
    return Part(zstandard.ZstdCompressor().compress(data), target, COMPRESSED, len(data))


def zebin(folder: Path, first: str = "first", second: str = "second") -> bytes:
    """Make native code for Intel's GPUs: an ELF file of machine 205, for device 12.60.7."""
    config = 12 << 22 | 60 << 14 | 7
    note = b"".join(
        struct.pack("<III", 8, 4, kind) + b"IntelGT\0" + struct.pack("<I", value)
        for kind, value in ((1, 1270), (6, config))
    )
    (folder / "info").write_text(ZE_INFO.format(first, second))
    (folder / "note").write_bytes(note)
    plain = compile_c(f"void {first}(void) {{}}", folder / "plain.o", "-c")
    run(
        "objcopy", f"--add-section=.ze_info={folder / 'info'}",
        f"--add-section=.note.intelgt.compat={folder / 'note'}", plain, folder / "zebin",
    )  # fmt: skip
    found = bytearray((folder / "zebin").read_bytes())
    struct.pack_into("<H", found, 18, 205)
    return bytes(found)


def opencl_elf(module: bytes) -> bytes:
    """Pack SPIR-V as ocloc does: ELF of type 0xff02 with a section of type 0xff000009."""
    names = b"\0SPIRV Object\0.shstrtab\0"
    header, row = 64, 64
    module_at = header + 3 * row
    names_at = module_at + len(module)
    ident = b"\x7fELF\2\1\1".ljust(16, b"\0")
    found = struct.pack(
        "<16sHHIQQQIHHHHHH", ident, 0xFF02, 0, 1, 0, 0, header, 0, 64, 56, 0, row, 3, 2
    )
    found += bytes(row)
    found += struct.pack("<IIQQQQIIQQ", 1, 0xFF000009, 0, 0, module_at, len(module), 0, 0, 8, 0)
    found += struct.pack("<IIQQQQIIQQ", 14, 3, 0, 0, names_at, len(names), 0, 0, 1, 0)
    return found + module + names


def ocloc(members: Sequence[tuple[str, bytes]]) -> bytes:
    """Return an archive in ocloc's form, with blank members that align the others."""
    out = io.BytesIO(b"!<arch>\n")
    out.seek(0, io.SEEK_END)
    for number, (name, data) in enumerate(members):
        for title, content in ((f"pad_{number}", b" " * 8), (name, data)):
            head = f"{title}/".ljust(16) + "0".ljust(12) + "0".ljust(6) * 2 + "644".ljust(8)
            out.write((head + str(len(content)).ljust(10)).encode() + b"`\n" + content)
            out.write(b"\n" * (len(content) % 2))
    return out.getvalue()


def source(
    folder: Path,
    parts: Sequence[Part],
    *,
    version: int = 3,
    registers: bool = True,
    exported: bool = False,
) -> str:
    """Return C with images in sections by target, and a constructor that registers them."""
    lines = []
    for number, part in enumerate(parts):
        path = folder / f"part{number}"
        path.write_bytes(part.data)
        lines += [
            f'.section __CLANG_OFFLOAD_BUNDLE__sycl-{part.target}, "a"',
            f'.balign 16\nimage{number}: .incbin "{path}"\nend{number}:',
        ]
    lines += ['.section .tgtimg, "awo", @progbits, .data', ".balign 16"]
    for number, part in enumerate(parts):
        size = len(part.data) if part.size is None else part.size
        lines.append(f".quad image{number}, {size}")
    lines += ['.section .data.rel.ro, "aw"', ".balign 16", "records:"]
    for number, part in enumerate(parts):
        manifest = ", 0, 0" if version < 3 else ""
        lines.append(f".short {version}\n.byte 4, {part.form}\n.long 0")
        lines.append(f".quad target{number}, 0, 0{manifest}, image{number}, end{number}")
        lines.append(".quad 0, 0, 0, 0")
    lines += [f'target{n}: .asciz "{part.target}"' for n, part in enumerate(parts)]
    lines += [".balign 8", "sycl_binaries:", f".short 1, {len(parts)}", ".long 0"]
    lines += [".quad records, 0, 0", ".text"]
    lines += [".globl sycl_binaries"] if exported else []
    visible = "default" if exported else "hidden"
    calls = "__sycl_register_lib(sycl_binaries);" if registers else ""
    return f"""
__asm__({json.dumps(chr(10).join(lines))});
extern char sycl_binaries[] __attribute__((visibility("{visible}")));
void __sycl_register_lib(void *);
__attribute__((constructor)) static void sycl_descriptor_reg(void) {{ {calls} }}
"""


def sample(folder: Path, *flags: str) -> Path:
    """Build a library with an image of each kind."""
    members = [("64.12.60.7", zebin(folder)), ("generic_ir", opencl_elf(spirv("first")))]
    parts = [packed(ocloc(members), "spir64_gen"), Part(spirv("first")), packed(spirv("second"))]
    return library(folder, parts, flags=flags)


def library(
    folder: Path,
    parts: Sequence[Part],
    *,
    version: int = 3,
    registers: bool = True,
    exported: bool = False,
    flags: Sequence[str] = (),
) -> Path:
    """Build the library of `source`."""
    text = source(folder, parts, version=version, registers=registers, exported=exported)
    return compile_c(text, folder / "libsycl_user.so", "-shared", "-fPIC", "-O1", *flags)
