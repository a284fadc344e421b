# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files that others have built keep their images and run after an edit and any two other tools.

Where a tool breaks the file that nobody has edited, it may break the edited one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import edited
import pytest
import shipped
from edited import GPU
from next_tools import FEW, TOOLS, apply
from products import Products
from toolchain import X86_64, omptool

from packager.checks import verify
from packager.elf.headers import STT_FUNC, STT_OBJECT
from packager.hosts.load import load
from packager.writers.host_object import HostSymbol

pytestmark = pytest.mark.slow
LARGE = 20 << 20  # largest file for which every pair is tried
LLVM = "/usr/lib/llvm-19"
FILES = (
    # Position-independent programs, by binutils' linker, gold and lld.
    "cp", "mawk", "openssl", "dpkg", "apt-get", "readelf", "objdump", "eu-readelf", "cmake",
    "ninja", "mold", "man", f"{LLVM}/bin/llvm-nm",
    # Position-dependent programs.
    "/usr/bin/python3", "node", "x86_64-linux-gnu-gcov-tool-12", "x86_64-linux-gnu-cpp-12",
    # Debian's libraries: an executable one, one for large pages, some by gold.
    "libcrypto.so.3", "libgmp.so.10", "libexpat.so.1", "libcap.so.2", "libXdmcp.so.6",
    "libsqlite3.so.0", "libquadmath.so.0", "libxml2.so.2", f"{LLVM}/lib/libomp.so.5",
    f"{LLVM}/lib/libarcher.so",
    # Wheels' libraries that begin with code.
    "mypy:librt/time.*.so", "mypy:librt/vecs.*.so", "mypy:librt/base64.*.so",
    "mypy:*__mypyc.*.so",
    # Rust's libraries, linked by lld.
    "rpds:rpds/rpds.*.so", "hypothesis:hypothesis/_native.*.so", "orjson:orjson/orjson.*.so",
    "pydantic_core:pydantic_core/*.so", "cryptography:cryptography/hazmat/bindings/*.so",
    # Libraries that auditwheel has not repaired.
    "charset_normalizer:charset_normalizer/cd.*.so", "cffi:_cffi_backend.*.so",
    # Libraries that auditwheel has repaired, some of them twice.
    "numpy:numpy/linalg/lapack_lite.*.so", "numpy:numpy/_core/_multiarray_umath.*.so",
    "numpy:numpy.libs/libquadmath*",
    "numpy:numpy.libs/libscipy_openblas*", "pillow:PIL/_imaging.*.so", "pillow:pillow.libs/libxcb*",
    "pillow:pillow.libs/libwebp-*", "pillow:pillow.libs/libXau*",
    "pillow:pillow.libs/libbrotlicommon*",
)  # fmt: skip
QUICK = ("cp", "x86_64-linux-gnu-gcov-tool-12", "mypy:librt/time.*.so")


class Subject:
    """A file, the same with two images after an edit, and what shows that each of them works."""

    def __init__(
        self, folder: Path, origin: Path, does: Callable[[Path], str], images: edited.Images
    ) -> None:
        self.origin, self.images = origin, images
        self._folder, self._does = folder, does
        self._count = 0
        self._said = does(origin)

    def next(self) -> Path:
        """Return a place for another file of the same name."""
        self._count += 1
        folder = self._folder / str(self._count)
        folder.mkdir()
        return folder / self.origin.name

    def expect(self, path: Path, images: edited.Images | None) -> None:
        """Check that a file works like the original, and has these images."""
        assert self._does(path) == self._said
        if images is not None:
            assert edited.images(path) == images, "its images are not those of before"
            errors = [finding for finding in verify(load(path)) if finding.severity == "error"]
            assert errors == []

    def after(self, path: Path, tool: str, images: edited.Images | None) -> tuple[Path, str]:
        """Run a tool on a file; return the result, and its fault or ""."""
        out = self.next()
        try:
            apply(tool, path, out)
            self.expect(out, images)
        except AssertionError as error:
            return out, f"{tool}: {error}"
        return out, ""

    def expect_broken(self, tools: Sequence[str], wrong: str) -> None:
        """Check that the original file is broken after the same tools."""
        path = self.origin
        for tool in tools:
            path, why = self.after(path, tool, None)
            if why:
                return
        raise AssertionError(f"after {' and '.join(tools)}, which leave {path.name} fine: {wrong}")

    def changed(self, path: Path, images: edited.Images, *options: object) -> Path:
        """Edit a file so that it has these images."""
        out = self.next()
        done = omptool("edit", path, *options, "-o", out)
        assert done.exit_code == 0, done.output
        self.expect(out, images)
        return out


def tried(file: Subject, path: Path, larger: Path, tools: Sequence[str]) -> None:
    """Use each pair of tools, in both orders, and some with an edit between them."""
    images = [file.images[0], (GPU, larger.read_bytes())]
    for first in tools:
        one, wrong = file.after(path, first, file.images)
        if wrong:
            file.expect_broken([first], wrong)
            continue
        again = file.changed(one, images, "--replace", f"{GPU}={larger}")
        for second in tools:
            for before, wanted in ((one, file.images), (again, images)):
                if before is again and second not in FEW:
                    continue
                two, wrong = file.after(before, second, wanted)
                two.unlink(missing_ok=True)
                if wrong:
                    file.expect_broken([first, second], wrong)
        one.unlink()
        again.unlink()


def tried_shipped(products: Products, folder: Path, name: str, tools: Sequence[str]) -> None:
    """Give a file that others have built two images, one after the other, and use the tools."""
    origin = shipped.found(name, products)
    symbols = shipped.some_symbols(origin)
    image = shipped.defining(symbols, folder / "image.so")
    ptx = shipped.defining_for_gpu(symbols, folder / "gpu.ptx")
    larger = shipped.defining_for_gpu(symbols, folder / "larger.ptx")
    larger.write_text(larger.read_text() + "// more\n" * 10_000)
    names = folder / "names"
    names.write_text("".join(f"{symbol.name}\n" for symbol in symbols))
    images = [(X86_64, image.read_bytes()), (GPU, ptx.read_bytes())]
    file = Subject(folder, origin, lambda path: shipped.does(path, origin), images)
    given = file.next()
    done = omptool(
        "bundle", origin, "--image", f"{X86_64}={image}", "--entries", names, "-o", given
    )
    assert done.exit_code == 0, done.output
    path = file.changed(given, images, "--add", f"{GPU}:sm_70={ptx}")
    tried(file, path, larger, tools if origin.stat().st_size < LARGE else FEW)


@pytest.mark.parametrize("name", QUICK)
def test_a_few_tools(products: Products, tmp_path: Path, name: str) -> None:
    tried_shipped(products, tmp_path, name, FEW)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", FILES)
def test_all_tools(products: Products, tmp_path: Path, name: str) -> None:
    tried_shipped(products, tmp_path, name, TOOLS)


@pytest.mark.exhaustive
@pytest.mark.parametrize("link", edited.LINKS)
def test_programs_of_each_linker(products: Products, tmp_path: Path, link: str) -> None:
    """Each linker puts the images of clang's programs elsewhere."""
    app = edited.program(products, "19", link)
    kinds = {"kernel": STT_FUNC, "global": STT_OBJECT}
    symbols = [
        HostSymbol(0, entry.name, kinds[entry.kind], entry.size, True)
        for entry in load(app).entries
    ]
    ptx = shipped.defining_for_gpu(symbols, tmp_path / "gpu.ptx")
    larger = shipped.defining_for_gpu(symbols, tmp_path / "larger.ptx")
    larger.write_text(larger.read_text() + "// more\n" * 10_000)
    images = [*edited.images(app), (GPU, ptx.read_bytes())]
    file = Subject(tmp_path, app, lambda path: edited.on_llvms(path, "19"), images)
    tried(file, file.changed(app, images, "--add", f"{GPU}:sm_70={ptx}"), larger, TOOLS)
