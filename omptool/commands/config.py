# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`omptool config`: print the folders of the installation for build systems."""

from __future__ import annotations

import click

from omptool import __version__
from omptool.errors import reported
from omptool.installation import cmakedir, exampledir, includedir, libdir


@click.command()
@click.option("--libdir", "show_libdir", is_flag=True, help="Folder of libomptarget.so.")
@click.option("--includedir", "show_includedir", is_flag=True, help="Folder of omptarget.h.")
@click.option("--exampledir", "show_exampledir", is_flag=True, help="Folder of the examples.")
@click.option("--cmakedir", "show_cmakedir", is_flag=True, help="Folder of omptoolConfig.cmake.")
@click.option("--version", "show_version", is_flag=True, help="Version of omptool.")
def command(
    show_libdir: bool,
    show_includedir: bool,
    show_exampledir: bool,
    show_cmakedir: bool,
    show_version: bool,
) -> None:
    """Print where the runtime, its headers and examples are installed.

    Prints one line for each option, in the order libdir, includedir, exampledir, cmakedir, version.
    pkg-config finds the same values in `$(omptool config --libdir)/pkgconfig`.
    """
    asked = (show_libdir, show_includedir, show_exampledir, show_cmakedir, show_version)
    if not any(asked):
        raise click.UsageError(
            "give at least one of --libdir, --includedir, --exampledir, --cmakedir, --version"
        )
    with reported("config"):
        lines = [libdir()] if show_libdir else []
        lines += [includedir()] if show_includedir else []
        lines += [exampledir()] if show_exampledir else []
        lines += [cmakedir()] if show_cmakedir else []
    for line in lines:
        click.echo(line)
    if show_version:
        click.echo(__version__)
