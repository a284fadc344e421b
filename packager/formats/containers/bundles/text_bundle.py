# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Text bundles of clang-offload-bundler: the assembly, IR or sources of several targets."""

from __future__ import annotations

from packager.formats.containers.bundles import clang_bundle

NAME = clang_bundle.NAME
probe = clang_bundle.probe_text
parse = clang_bundle.parse_text
