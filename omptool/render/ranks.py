# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Render the devices that other ranks of an MPI job have."""

from __future__ import annotations

from packager.machine.facts import Plugins


def tables(plugins: Plugins, width: int | None) -> list[str]:
    """Return a table of these devices, cut to a width; empty without such devices."""
    from omptool.render.tables import table

    rows = [
        {"device": one["number"], "where": one["title"]}
        for row in plugins
        for one in row["devices"]
        if one["title"]
    ]
    return [table("devices of other ranks", rows, width, ["where"])] if rows else []
