"""Files that others have built keep their images and run after an edit and any two other tools.

Where a tool breaks the file that nobody has edited, it may break the edited one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import edited
import pytest
import shipped
from edited import GPU
from next_tools import FEW, TOOLS, apply
from products import Products
from toolchain import X86_64, omptool

from packager.checks import verify
from packager.hosts.load import load

pytestmark = pytest.mark.slow
LARGE = 20 << 20  # of larger files not every pair is tried
LLVM = "/usr/lib/llvm-19"
FILES = (
    # Programs that move, by binutils' linker, gold and lld.
    "cp", "mawk", "openssl", "dpkg", "apt-get", "readelf", "cmake", "ninja", "mold", "m4",
    f"{LLVM}/bin/llvm-nm", f"{LLVM}/bin/FileCheck", "ruff",
    # Programs of fixed addresses.
    "python3.11", "node", "x86_64-linux-gnu-gcov-tool-12", "x86_64-linux-gnu-cpp-12",
    # Debian's libraries: one that can be started, one with many zeros, some of gold's.
    "libcrypto.so.3", "libgmp.so.10", "libm.so.6", "libcap.so.2", "libtsan.so.2", "libXdmcp.so.6",
    "libsqlite3.so.0", "libquadmath.so.0", f"{LLVM}/lib/libomp.so.5", f"{LLVM}/lib/libarcher.so",
    # Wheels' libraries that begin with code.
    "mypy:librt/time.*.so", "mypy:librt/vecs.*.so", "mypy:librt/base64.*.so",
    "mypy:*__mypyc.*.so",
    # Of Rust, linked by lld.
    "rpds:rpds/rpds.*.so", "hypothesis:hypothesis/_native.*.so", "orjson:orjson/orjson.*.so",
    "pydantic_core:pydantic_core/*.so", "cryptography:cryptography/hazmat/bindings/*.so",
    # Not repaired by auditwheel.
    "charset_normalizer:charset_normalizer/cd.*.so", "cffi:_cffi_backend.*.so",
    # Repaired by auditwheel, some of them twice.
    "numpy:numpy/linalg/lapack_lite.*.so", "numpy:numpy/_core/_multiarray_umath.*.so",
    "numpy:numpy.libs/libgfortran*", "numpy:numpy.libs/libquadmath*",
    "numpy:numpy.libs/libscipy_openblas*", "pillow:PIL/_imaging.*.so", "pillow:pillow.libs/libxcb*",
    "pillow:pillow.libs/libwebp-*", "pillow:pillow.libs/libXau*",
    "pillow:pillow.libs/libbrotlicommon*",
)  # fmt: skip
QUICK = ("cp", "x86_64-linux-gnu-gcov-tool-12", "mypy:librt/time.*.so")


class Shipped:
    """A file that others have built, and the same with two images, in folders of their own."""

    def __init__(self, name: str, products: Products, folder: Path) -> None:
        self.origin = shipped.found(name, products)
        self._folder = folder
        self._count = 0
        self._said = shipped.does(self.origin, self.origin)
        symbols = shipped.some_symbols(self.origin)
        image = shipped.defining(symbols, folder / "image.so")
        ptx = shipped.defining_for_gpu(symbols, folder / "gpu.ptx")
        self.larger = shipped.defining_for_gpu(symbols, folder / "larger.ptx")
        self.larger.write_text(ptx.read_text() + "// more\n" * 10_000)
        (folder / "names").write_text("".join(f"{symbol.name}\n" for symbol in symbols))
        options = ("--image", f"{X86_64}={image}", "--entries", folder / "names")
        given = self.next()
        done = omptool("bundle", self.origin, *options, "-o", given)
        assert done.exit_code == 0, done.output
        self.edited = self.next()
        done = omptool("edit", given, "--add", f"{GPU}:sm_70={ptx}", "-o", self.edited)
        assert done.exit_code == 0, done.output
        self.images = [(X86_64, image.read_bytes()), (GPU, ptx.read_bytes())]
        self.expect(self.edited, self.images)

    def next(self) -> Path:
        """Return a place for another file of the same name."""
        self._count += 1
        folder = self._folder / str(self._count)
        folder.mkdir()
        return folder / self.origin.name

    def expect(self, path: Path, images: edited.Images | None) -> None:
        """Raise AssertionError unless a file does what it did, and has these images."""
        assert shipped.does(path, self.origin) == self._said
        if images is not None:
            assert edited.images(path) == images, "its images are not those of before"
            errors = [finding for finding in verify(load(path)) if finding.severity == "error"]
            assert errors == []

    def after(self, path: Path, tool: str, images: edited.Images | None) -> tuple[Path, str]:
        """Return what a tool makes of a file, and what is wrong with that, or nothing."""
        out = self.next()
        try:
            apply(tool, path, out)
            self.expect(out, images)
        except AssertionError as error:
            return out, f"{tool}: {error}"
        return out, ""

    def expect_broken(self, tools: Sequence[str], wrong: str) -> None:
        """Raise AssertionError if the file that nobody has edited is fine after the same tools."""
        path = self.origin
        for tool in tools:
            path, why = self.after(path, tool, None)
            if why:
                return
        raise AssertionError(f"after {' and '.join(tools)}, which leave {path.name} fine: {wrong}")

    def replaced(self, path: Path, image: Path) -> Path:
        """Return the file with another image for GPUs."""
        out = self.next()
        done = omptool("edit", path, "--replace", f"{GPU}={image}", "-o", out)
        assert done.exit_code == 0, done.output
        self.expect(out, [self.images[0], (GPU, image.read_bytes())])
        return out


@pytest.mark.parametrize("name", QUICK)
def test_a_few_tools(products: Products, tmp_path: Path, name: str) -> None:
    tried(Shipped(name, products, tmp_path), FEW)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", FILES)
def test_all_tools(products: Products, tmp_path: Path, name: str) -> None:
    file = Shipped(name, products, tmp_path)
    tried(file, TOOLS if file.origin.stat().st_size < LARGE else FEW)


def tried(file: Shipped, tools: Sequence[str]) -> None:
    """Use each pair of tools, in both orders, and an edit after the first of them."""
    for first in tools:
        one, wrong = file.after(file.edited, first, file.images)
        if wrong:
            file.expect_broken([first], wrong)
            continue
        again = file.replaced(one, file.larger)
        images = [file.images[0], (GPU, file.larger.read_bytes())]
        for second in tools:
            for path, wanted in ((one, file.images), (again, images)):
                two, wrong = file.after(path, second, wanted)
                two.unlink(missing_ok=True)
                if wrong:
                    file.expect_broken([first, second], wrong)
        one.unlink()
        again.unlink()
