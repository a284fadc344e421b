"""Which ABI a table of entries is for (DECISIONS 14)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from packager.generations import NAMES, of_release
from packager.layouts import (
    INTERFACE_ENTRY,
    PROPOSAL_ENTRY,
    PROPOSAL_REGISTER,
    REGISTER,
    VERSIONED_ENTRY,
    EntryLayout,
)
from packager.model import Abi

_LIBRARY = "libomptarget.so."
MAX_DIGITS = 5
# The ABIs of the documents, by their records and by what their registration is called.
DOCUMENTS: dict[EntryLayout, Abi] = {INTERFACE_ENTRY: "interface", PROPOSAL_ENTRY: "proposal"}
_REGISTRATIONS: dict[str, Abi] = {REGISTER: "interface", PROPOSAL_REGISTER: "proposal"}


def of_table(
    layout: EntryLayout,
    needed: Iterable[str],
    imports: Iterable[str],
    *,
    wrapped: bool,
    registered_wrapped: bool = False,
    by_array: bool = False,
    releases: Sequence[int] = (),
) -> Abi:
    """The ABI of a table of entries.

    `needed` are the file's DT_NEEDED; clang's library says its release since 15. `imports` may show
    calls that only some releases make. `wrapped`: images are in OffloadBinaries, so not LLVM 14's;
    `registered_wrapped`: it is these that are registered, as by 15 to 17. `by_array`: they are
    unregistered by a destructor, as until 18. `releases`: of clang, that compiled an object.
    """
    if layout in DOCUMENTS:
        return DOCUMENTS[layout]
    if layout is VERSIONED_ENTRY:
        return of_release(22).name
    for library in needed:
        release = release_of(library)
        if release:
            return of_release(release).name
    calls = {name.partition("@")[0] for name in imports}
    wrapped = wrapped or registered_wrapped
    if tuple(releases) == (18,):  # calls as 17 does, and its kernels are called as 19's
        return of_release(18).name
    if by_array or "__tgt_register_requires" in calls:  # until 18
        return of_release(16 if wrapped or "__tgt_target_kernel" in calls else 14).name
    return of_release(16 if registered_wrapped else 19).name


def release_of(library: str) -> int:
    """The release of LLVM that the name of a libomptarget says; 0 for another name."""
    release = library.removeprefix(_LIBRARY).split(".")[0]
    named = library.startswith(_LIBRARY) and release.isdecimal() and len(release) < MAX_DIGITS
    return int(release) if named else 0


def newest(abis: Iterable[Abi]) -> Abi:
    """The ABI that serves objects of all of `abis`, of which there is one: LLVM's latest."""
    return max(abis, key=lambda abi: NAMES.index(abi) if abi in NAMES else len(NAMES))


def of_imports(imports: Iterable[str]) -> Abi | None:
    """The ABI of a file without entries, by the version of the registration that it imports."""
    for name in imports:
        if name.startswith("__tgt_register_lib"):
            return _REGISTRATIONS.get(name, of_release(19).name)
    return None
