# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool devices`: plugins found or refused, and the devices behind them."""

from __future__ import annotations

import json
import os
from contextlib import nullcontext
from typing import Any

import click

from omptool.console import echo
from omptool.errors import reported
from omptool.options.colour import colour_option
from omptool.probes import workers
from omptool.probes.ask import ask_plugins
from packager.machine.facts import FAILS, FOLDERS

WRONG_USAGE = 2


@click.command()
@click.option(
    "--workers",
    "with_workers",
    is_flag=True,
    help="In an MPI job, print in rank 0 alone, with the devices of the other ranks.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@colour_option
@click.pass_context
def command(ctx: click.Context, with_workers: bool, as_json: bool) -> None:
    """Show the runtime's plugins, the devices of each, and why any plugin was refused.

    Device numbers are those of a program that has an image for every plugin, in this order. Plugins
    are in the folders of OMPTOOL_PLUGIN_PATH and beside the runtime.

    `mpirun -n 9 omptool devices --workers` also shows the devices that `omptool run --workers`
    gives a program there, each with the rank and the machine that has it.

    Exits 0 when there is a device, 3 when there is none, or a plugin ends the programs that ask it.
    """
    if with_workers:
        workers.serve_unless_first("devices --workers", WRONG_USAGE)
    asking = workers.asked() if with_workers else nullcontext(dict(os.environ))
    with reported("devices"), asking as environment:
        plugins = ask_plugins((), environment).plugins
    if as_json:
        click.echo(json.dumps({"schema": 1, "plugins": plugins}, indent=2))
    else:
        echo(_table(plugins))
    for plugin in plugins:
        if plugin["state"] == "refused":
            echo(f"Warning: {_refusal(plugin)}", err=True)
    fatal = [plugin for plugin in plugins if plugin["state"] == FAILS]
    for plugin in fatal:
        what = f"plugin {plugin['name']} ({plugin['path']})"
        echo(f"Error: {what} ends programs: {plugin['reason']}", err=True)
    ctx.exit(0 if not fatal and any(plugin["devices"] for plugin in plugins) else 3)


def _refusal(plugin: dict[str, Any]) -> str:
    """Return why the runtime does not use a plugin, or a folder of plugins."""
    if plugin["name"] == FOLDERS:
        return f"{FOLDERS} names {plugin['path']}, which cannot be read: {plugin['reason']}"
    return f"plugin {plugin['name']} was refused: {plugin['reason']}"


def _table(plugins: list[dict[str, Any]]) -> str:
    """Return the table of plugins, and of their devices below."""
    if not plugins:
        return "no plugins"
    from omptool.render import ranks
    from omptool.render.names import terminal_width
    from omptool.render.notes import Notes
    from omptool.render.tables import table

    width = terminal_width()
    notes = Notes(width=width)
    rows = [
        {
            "plugin": plugin["name"],
            "state": plugin["state"],
            "device numbers": " ".join(str(device["number"]) for device in plugin["devices"]),
            "path": plugin["path"],
            "note": notes.mark(plugin["reason"]),
        }
        for plugin in plugins
    ]
    blocks = [table("plugins", rows, width, ["path"], states=["state"]), *notes.lines()]
    described = _described(plugins)
    if described:
        blocks.append(table("devices", described, width, ["name", "driver", "takes"]))
    return "\n".join([*blocks, *ranks.tables(plugins, width)])


def _described(plugins: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            "device": device["number"],
            "plugin": plugin["name"],
            "name": device["name"],
            "architecture": device["architecture"],
            "units": device["units"],
            "memory": f"{device['memory'] / 2**30:.1f} GiB" if device["memory"] else None,
            "driver": device["driver"],
            "takes": ", ".join(device["images"] or ()),
        }
        for plugin in plugins
        for device in plugin["devices"]
        if device["name"] or device["architecture"]
    ]
