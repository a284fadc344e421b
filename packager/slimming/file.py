# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Slim one file that is no package."""

from __future__ import annotations

from pathlib import Path

from packager.slimming.request import Request
from packager.slimming.slimmed import Slimmed


def slim_file(source: Path, out: Path | None, name: str, request: Request) -> Slimmed | None:
    raise NotImplementedError
