# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Complete values of options: triples, and codes of findings."""

from __future__ import annotations

import click


def triples(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Return the triples that omptool builds for and that begin so."""
    from packager.lowering.targets import FAMILIES

    return [triple for triple in FAMILIES if triple.startswith(incomplete)]


def code(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Return the codes of findings that begin so, in capitals or not."""
    from packager.checks import CHECKS

    return [code for code in CHECKS if code.startswith(incomplete.upper())]


def explained(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Return the codes with this prefix that --explain accepts, including doctor's."""
    from packager.machine.explained import known

    return [code for code in known() if code.startswith(incomplete.upper())]


def codes(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete the last code of a list."""
    before, comma, last = incomplete.rpartition(",")
    named = before.upper().split(",")
    return [f"{before}{comma}{one}" for one in code(ctx, param, last) if one not in named]
