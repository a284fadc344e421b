# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The entry point: finds a subcommand's module only when that subcommand is run."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from omptool import __version__
from omptool.process import SIGPIPE, StoppedError, ending_well

# Commands in the order of --help; each is omptool/commands/<name>.py with a `command`.
COMMANDS = {
    "lower": "LLVM IR to a device image.",
    "emit": "Write the wrapper object for device images, or a container of them.",
    "bundle": "Put device images into a host: an object, or a finished file.",
    "link": "Link device code with the host's link command.",
    "cc": "Compile and link sources for the host and for devices.",
    "dump": "Show the images, entries and descriptors in files.",
    "verify": "Check the device images in files against their hosts.",
    "extract": "Write device images to files of their own.",
    "edit": "Change the device images of an executable or library.",
    "slim": "Remove the device code that the named GPUs do not need.",
    "doctor": "Predict where a program's regions will run, and why.",
    "devices": "Show plugins and the devices a program would see.",
    "run": "Run a program on the bundled runtime.",
    "worker": "Serve the devices of this machine to a program of the same MPI job.",
    "timeline": "Write a page that shows a trace.",
    "stats": "Show the sums of a trace, or what grew since another.",
    "config": "Print where the runtime, its headers and examples are installed.",
}

# Commands that need Linux: its limits and signals of processes, its loader, or drivers.
OF_LINUX = ("lower", "link", "cc", "doctor", "devices", "run", "worker")

GUIDE = """\
omptool: the toolchain for OpenMP-offload fat binaries. First commands:

  omptool doctor --run ./app  run a program, and report where its regions ran, and why
  omptool doctor ./app        predict where they will run on this machine
  omptool verify FILE         check a file: entries, images, registration
  omptool dump FILE           show the contents of an object, executable, library or archive
  omptool run ./app           run a program on omptool's runtime
  omptool devices             show the devices, or why there are none

An example to build and change: cp "$(omptool config --exampledir)"/saxpy/* .
All commands: omptool help. More on one: omptool help dump, man omptool-dump."""


class LazyGroup(click.Group):
    """A group that imports one subcommand, not all of them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; without any, print a short guide and exit with 2."""
        if not args and not ctx.resilient_parsing:
            click.echo(GUIDE, err=True)
            ctx.exit(2)
        return super().parse_args(ctx, _as_options(args))

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, in the order of --help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command; on other systems than Linux, a stand-in for some."""
        if cmd_name not in COMMANDS:
            return None
        if cmd_name in OF_LINUX and sys.platform != "linux":
            return _elsewhere(cmd_name)
        command: click.Command = import_module(f"omptool.commands.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, and suggest a similar name for an unknown one."""
        if args[0] not in COMMANDS:
            from difflib import get_close_matches

            for close in get_close_matches(args[0], COMMANDS, n=1, cutoff=0.5):
                said = f"No such command {args[0]!r}; did you mean {close!r}?"
                raise click.UsageError(said, ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a subcommand. Raises StoppedError for a closed pipe, which click hides as code 1."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise StoppedError(SIGPIPE) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _elsewhere(name: str) -> click.Command:
    """Return a stand-in for the command that prints on which system it works."""

    def tell() -> None:
        from omptool.errors import fail

        others = ", ".join(one for one in COMMANDS if one not in OF_LINUX)
        code = 125 if name == "run" else 3  # the other codes of `run` are its program's
        fail(f"{name} works on Linux alone; on this system these commands work: {others}", code)

    settings: dict[str, Any] = {"ignore_unknown_options": True, "allow_extra_args": True}
    return click.Command(name, settings, tell, help=COMMANDS[name])


def _as_options(args: list[str]) -> list[str]:
    """Return the arguments with the words `help` and `version` as options."""
    if args[:1] == ["help"]:
        return [*args[1:2], "--help"]
    return ["--version"] if args == ["version"] else args


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", message="omptool %(version)s")
def cli() -> None:
    """Lower, bundle, inspect, verify and run OpenMP-offload fat binaries.

    Exit codes: 0 fine; 1 a fault was found; 2 wrong usage or a file that cannot be read or is
    malformed; 3 something on this machine is missing. `run` gives the program's own code.
    """


def main() -> None:
    """Run the command line. Under the name clang-linker-wrapper, run `omptool link`."""
    # Clang starts its wrapper by this name (`clang -B`).
    is_wrapper = Path(sys.argv[0]).name.startswith("clang-linker-wrapper")
    arguments = ["link", *sys.argv[1:]] if is_wrapper else None
    with ending_well():
        code = cli.main(arguments, prog_name="omptool", standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
