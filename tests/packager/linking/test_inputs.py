# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A link's inputs are looked into where they may have device code."""

from __future__ import annotations

from packager.formats.containers import cuda_fatbin, llvm_offloading
from packager.formats.containers.bundles import clang_bundle
from packager.formats.host_records import entries, gcc_offload
from packager.layouts import IMAGE_SECTION_PREFIX
from packager.linking.inputs import OFFLOADING


def test_every_section_of_device_code_and_entries_shows_by_its_name() -> None:
    """Members of archives are not looked into otherwise."""
    names = [
        *entries.SECTIONS,
        *cuda_fatbin.SECTIONS,
        *llvm_offloading.NAMES,
        llvm_offloading.OLD_PREFIX,
        clang_bundle.SECTION_PREFIX,
        IMAGE_SECTION_PREFIX,
        ".hip_fatbin",
        gcc_offload.FUNCTIONS,
    ]
    assert [name for name in names if not OFFLOADING.search(name.encode())] == []
