# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Containers of AMD's code objects by the real tools, for tests that damage or nest them."""

from __future__ import annotations

import shutil
from pathlib import Path

from toolchain import compile_c, omptool, run

AMD = "amdgcn-amd-amdhsa"
KERNEL = f"""
target triple = "{AMD}"
define amdgpu_kernel void @first(ptr addrspace(1) %p) {{
  store i32 1, ptr addrspace(1) %p
  ret void
}}
"""
HOST_ID = "host-x86_64-unknown-linux--"
ARCHS = ("gfx90a", "gfx906")


class Containers:
    """Each method makes one kind of container around files; all are in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "k.ll").write_text(KERNEL)
        run("llvm-as-19", folder / "k.ll", "-o", folder / "k.bc")
        self.images = [self._image(arch) for arch in ARCHS]

    def _image(self, arch: str) -> Path:
        path = self.folder / f"{arch}.co"
        run("llc-19", f"-mcpu={arch}", "-filetype=obj", self.folder / "k.ll", "-o", f"{path}.o")
        run("ld.lld-19", "-shared", f"{path}.o", "-o", path)
        return path

    def bundle(self, name: str, *inputs: Path, kind: str = "bc", packed: bool = False) -> Path:
        """Make a bundle with clang-offload-bundler, each input for another processor."""
        ids = ",".join(f"hip-{AMD}--{arch}" for arch in ARCHS[: len(inputs)])
        out = self.folder / name
        run(
            "clang-offload-bundler-19", f"-type={kind}", f"-targets={HOST_ID},{ids}",
            *(["-compress"] if packed else []), "-input=/dev/null",
            *(f"-input={path}" for path in inputs), f"-output={out}",
        )  # fmt: skip
        return out

    def packed(self, name: str, *inputs: Path) -> Path:
        """Make an OffloadBinary for each input, end to end."""
        out = self.folder / name
        parts = []
        for path, arch in zip(inputs, ARCHS, strict=False):
            parts.append(f"--image=file={path},triple={AMD},arch={arch},kind=openmp")
        run("clang-offload-packager-19", "-o", out, *parts)
        return out

    def joint(self, name: str, *inputs: Path) -> Path:
        """Make one OffloadBinary with an entry for each input."""
        out = self.folder / name
        words = ["emit", "--format", "offload-binary", "--abi", "llvm-23", "-o", str(out)]
        for path, arch in zip(inputs, ARCHS, strict=False):
            words += ["--image", f"{AMD}:{arch}={path}"]
        assert omptool(*words).exit_code == 0
        return out

    def archive(self, name: str, *inputs: Path, flags: str = "rcS") -> Path:
        """Make a static archive of files."""
        out = self.folder / name
        out.unlink(missing_ok=True)
        run("llvm-ar-19", flags, out, *inputs)
        return out

    def joined(self, name: str, *inputs: Path) -> Path:
        """Concatenate files."""
        out = self.folder / name
        out.write_bytes(b"".join(path.read_bytes() for path in inputs))
        return out

    def section(self, name: str, section: str, content: Path, *flags: str) -> Path:
        """Make an object with a section that holds a file."""
        plain = compile_c("int unused;", self.folder / "plain.o", "-c")
        out = self.folder / name
        run("objcopy", "--add-section", f"{section}={content}", *flags, plain, out)
        return out

    def copy(self, name: str, source: Path) -> Path:
        """Copy a file to another name."""
        shutil.copyfile(source, self.folder / name)
        return self.folder / name
