"""Text bundles of clang-offload-bundler: the assembly, IR or sources of several targets."""

from __future__ import annotations

from packager.formats.clang_bundle import NAME
from packager.formats.clang_bundle import parse_text as parse
from packager.formats.clang_bundle import probe_text as probe

__all__ = ["NAME", "parse", "probe"]
