"""`omptool devices`: plugins found or refused, and the devices behind them."""

from __future__ import annotations

import json
from typing import Any

import click

from omptool.console import echo
from omptool.errors import reported
from omptool.probes.ask import ask_plugins
from packager.machine.facts import FAILS


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """Show the runtime's plugins, why any was refused, and the devices of each.

    Numbers are those of a program that has an image for every plugin, in this order. Plugins are
    looked for on OMPTOOL_PLUGIN_PATH and beside the runtime.

    Exits 0 when there is a device, 3 when there is none, or a plugin ends the programs that ask it.
    """
    with reported("devices"):
        plugins = ask_plugins(()).plugins
    if as_json:
        click.echo(json.dumps({"schema": 1, "plugins": plugins}, indent=2))
    else:
        click.echo(_table(plugins))
    fatal = [plugin for plugin in plugins if plugin["state"] == FAILS]
    for plugin in fatal:
        what = f"plugin {plugin['name']} ({plugin['path']})"
        echo(f"Error: {what} ends programs: {plugin['reason']}", err=True)
    ctx.exit(0 if not fatal and any(plugin["devices"] for plugin in plugins) else 3)


def _table(plugins: list[dict[str, Any]]) -> str:
    """The plugins, and below them what is known of their devices."""
    if not plugins:
        return "no plugins"
    from tabulate import tabulate

    described = [
        (
            device["number"],
            plugin["name"],
            device["name"] or "",
            device["architecture"] or "",
            device["units"] or "",
            f"{device['memory'] / 2**30:.1f} GiB" if device["memory"] else "",
            device["driver"] or "",
            ", ".join(device["images"] or ()),
        )
        for plugin in plugins
        for device in plugin["devices"]
        if device["name"] or device["architecture"]
    ]

    rows = [
        (
            plugin["name"],
            plugin["state"],
            " ".join(str(device["number"]) for device in plugin["devices"]) or "-",
            plugin["path"],
            plugin["reason"] or "",
        )
        for plugin in plugins
    ]
    table = tabulate(rows, headers=("plugin", "state", "device numbers", "path", "reason"))
    if not described:
        return table
    headers = ("device", "plugin", "name", "architecture", "units", "memory", "driver", "takes")
    return f"{table}\n\n{tabulate(described, headers=headers)}"
