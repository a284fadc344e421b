# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Choose the images of one container that the kept devices load. No I/O.

The rules of which GPU runs which code are in `packager.gpus`, which `doctor` uses, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial

from packager.gpus import is_generic, on_amd, on_nvidia
from packager.model import ImageKind
from packager.patterns import pattern
from packager.records import NamedTuple
from packager.slimming.keeps import AMD, INTEL, INTEL_DEVICE, NVIDIA, SPIRV, Kept

# Processors that are not on cards. CUDA's binary compatibility excludes them: they run only their
# own code, and no other processor runs it (Programming Guide, "Binary Compatibility").
TEGRA = ("sm_32", "sm_53", "sm_62", "sm_72", "sm_87", "sm_88", "sm_101", "sm_110")
COMPILED: dict[str, tuple[ImageKind, ...]] = {
    NVIDIA: ("ptx", "tileir", "bitcode"),
    AMD: ("spirv", "bitcode"),
}
INTELS = (INTEL, "spir64_gen")
_NUMBER = pattern(r"(?:sm|compute)_(\d+)")


class Candidate(NamedTuple):
    """An image as its container describes it."""

    code: str  # nvptx64, amdgcn, spir64_gen, x86_64
    arch: str  # sm_90a, gfx90a:xnack-; "" where the container names none
    kind: ImageKind
    stored: int  # bytes in the file
    why_kept: str = ""  # why it stays whatever is kept; "" if it need not

    @property
    def target(self) -> str:
        """Return the image's target, with its kind if a driver compiles it."""
        name = self.arch or self.code or "unknown code"
        return f"{self.kind} {name}" if self.kind in ("ptx", "tileir", "bitcode") else name


class Choice(NamedTuple):
    """Kept images of a container, and kept devices without any."""

    stay: frozenset[int]
    lacking: tuple[Kept, ...]


# Returns the arch in the bytes of an image; the container's arch may lack a suffix.
OwnArch = Callable[[int], str]


def choose(
    images: Sequence[Candidate],
    keeps: Sequence[Kept],
    *,
    keep_ptx: bool,
    own_arch: OwnArch | None = None,
    is_best: bool = True,
) -> Choice:
    """Return the images of one container that stay.

    A runtime chooses the best of a container. Without `is_best` all that run are loaded, or are
    inputs of a linker.
    """
    stay = {n for n, image in enumerate(images) if image.why_kept}
    lacking = []
    for kept in keeps:
        mine = chosen(images, kept, own_arch) if is_best else loadable(images, kept)
        stay.update(mine)
        if not mine and _is_expected(images, kept):
            lacking.append(kept)
    if keep_ptx:
        stay.update(_compiled(images, keeps))
    return Choice(frozenset(stay), tuple(lacking))


def chosen(
    images: Sequence[Candidate], kept: Kept, own_arch: OwnArch | None = None
) -> frozenset[int]:
    """Return the images among which the runtime of a kept device chooses the one that it loads."""
    rows = [n for n, image in enumerate(images) if not image.why_kept]
    if kept.code == NVIDIA:
        found = _on_nvidia(images, rows, kept, own_arch or (lambda n: images[n].arch))
    elif kept.code == AMD:
        found = _on_amd(images, rows, kept)
    elif kept.code == INTEL:
        # SPIR-V is kept besides native code, because their kernels are not compared.
        found = [n for n in rows if _is_for_intel(images[n], kept) or _is_portable(images[n])]
    elif kept.code == SPIRV:
        found = [n for n in rows if _is_for_spirv(images[n], kept)]
    else:
        found = [n for n in rows if images[n].code == kept.code]
    return frozenset(found)


def loadable(images: Sequence[Candidate], kept: Kept) -> frozenset[int]:
    """Return the images that a kept device runs, or a driver or linker compiles for it."""
    rows = [n for n, image in enumerate(images) if not image.why_kept]
    if kept.code == NVIDIA:
        mine = [n for n in rows if images[n].code == NVIDIA]
        return frozenset(n for n in mine if _runs(images[n], kept, partial(_arch, images[n])))
    if kept.code == AMD:
        native = (n for n in rows if images[n].code == AMD and on_amd(images[n].arch, kept.name))
        compiled = (n for n in rows if images[n].kind == "spirv" and _is_of_amd(images[n]))
        return frozenset((*native, *compiled))
    return chosen(images, kept)


def _on_nvidia(
    images: Sequence[Candidate], rows: Sequence[int], kept: Kept, own_arch: OwnArch
) -> list[int]:
    """Return the cubins of the highest number that run, else the code to compile.

    Images of one number differ in a suffix alone: all of them stay. Where a cubin runs without a
    promise of CUDA's, the best code with one stays beside it.
    """
    rows = [n for n in rows if images[n].code == NVIDIA]

    def runs(n: int) -> bool:
        return _runs(images[n], kept, partial(own_arch, n))

    native = [n for n in rows if images[n].kind not in COMPILED[NVIDIA]]
    found = _best(images, native, runs)
    if not any(_is_promised(images[n], kept) for n in found):
        promised = _best(images, [n for n in native if _is_promised(images[n], kept)], runs)
        to_compile = [n for n in rows if images[n].kind in COMPILED[NVIDIA]]
        found += promised or _best(images, to_compile, runs)
    return found


def _is_promised(image: Candidate, kept: Kept) -> bool:
    """Return whether CUDA promises that a cubin of the GPU's family runs on it."""
    gpu, own = kept.name.rstrip("af"), image.arch.rstrip("af")
    return _number(own) == _number(gpu) or not {gpu, own}.intersection(TEGRA)


def _best(
    images: Sequence[Candidate], rows: Sequence[int], runs: Callable[[int], bool]
) -> list[int]:
    """Return the images that run, of the highest number."""
    by_number: dict[int, list[int]] = {}
    for n in rows:
        by_number.setdefault(_number(images[n].arch), []).append(n)
    for number in sorted(by_number, reverse=True):
        if found := [n for n in by_number[number] if runs(n)]:
            return found
    return []


def _arch(image: Candidate) -> str:
    return image.arch


def _runs(image: Candidate, kept: Kept, own_arch: Callable[[], str]) -> bool:
    """Return whether a GPU runs an image. Its bytes are read if a suffix matters."""
    is_ptx = image.kind in COMPILED[NVIDIA]
    if on_nvidia(image.arch, kept.name, is_ptx=is_ptx) is None:
        return False
    if _number(image.arch) == _number(kept.name):
        return True
    return on_nvidia(own_arch(), kept.name, is_ptx=is_ptx) is not None


@lru_cache(maxsize=1 << 10)  # large libraries have ten thousand images for a few names
def _number(arch: str) -> int:
    found = _NUMBER.match(arch)
    return int(found[1]) if found else 0


def _on_amd(images: Sequence[Candidate], rows: Sequence[int], kept: Kept) -> list[int]:
    """Return the code objects for a processor.

    Code objects of its family, and code to compile, are added if a setting of xnack or sramecc has
    no other.
    """
    native = [n for n in rows if images[n].code == AMD and images[n].kind not in COMPILED[AMD]]
    mine = [n for n in native if on_amd(images[n].arch, kept.name)]
    exact = [n for n in mine if is_generic(kept.name) or not is_generic(images[n].arch)]
    if any(_is_for_each_setting(images[n], kept) for n in exact):
        return exact
    if any(_is_for_each_setting(images[n], kept) for n in mine):
        return mine
    to_compile = [n for n in rows if images[n].kind in COMPILED[AMD] and _is_of_amd(images[n])]
    return mine + to_compile


def _is_for_each_setting(image: Candidate, kept: Kept) -> bool:
    """Return whether every GPU that the kept name stands for loads an image of its processor."""
    return set(image.arch.split(":")[1:]) <= set(kept.name.split(":")[1:])


def _is_of_amd(image: Candidate) -> bool:
    return image.code == AMD or "amd" in image.arch


def _is_portable(image: Candidate) -> bool:
    return image.kind in ("spirv", "bitcode") and image.code.startswith("spir")


def _is_for_intel(image: Candidate, kept: Kept) -> bool:
    """Return whether Intel's native code is for a device, or for an unknown one."""
    return image.code in INTELS and (
        image.arch == kept.name or not INTEL_DEVICE.fullmatch(image.arch)
    )


def _is_for_spirv(image: Candidate, kept: Kept) -> bool:
    if image.code == kept.name:
        return True
    is_compiled_before = "_" in kept.name or "_" in image.code
    return _is_portable(image) and not is_compiled_before


def _is_expected(images: Sequence[Candidate], kept: Kept) -> bool:
    """Return whether a container has code for other devices of the same kind."""
    return any(is_of_kind(image.code, kept) and not image.why_kept for image in images)


def is_of_kind(code: str, kept: Kept) -> bool:
    """Return whether an image's code is for devices of the same kind."""
    return code in (INTELS if kept.code == INTEL else (kept.code,))


def _compiled(images: Sequence[Candidate], keeps: Sequence[Kept]) -> list[int]:
    """Return the code that drivers of the kept devices compile."""
    codes = {kept.code for kept in keeps}
    return [
        n
        for n, image in enumerate(images)
        if (image.code in codes and image.kind in COMPILED.get(image.code, ()))
        or (AMD in codes and image.kind == "spirv" and _is_of_amd(image))
    ]
