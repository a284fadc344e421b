# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Refuse names of plugins and numbers of devices that this machine does not have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from omptool.errors import fail
from omptool.probes.ask import ONLY, ask_plugins, listed
from omptool.probes.in_own_process import NoAnswerError
from packager.errors import MissingToolError
from packager.wording import runs, there_are

WRONG_USAGE = 2


def check_plugins(names: Sequence[str], environment: Mapping[str, str]) -> None:
    """End with one line if a name is no plugin's."""
    try:
        known = listed({name: value for name, value in environment.items() if name != ONLY})
    except NoAnswerError:  # the runtime will say so
        return
    for name in names:
        if name not in known:
            which = ", ".join(known) or "none"
            fail(f"--plugin {name}: there is no such plugin; known plugins: {which}", WRONG_USAGE)


def check_device(number: int, environment: Mapping[str, str]) -> None:
    """End with one line if no device has this number, whatever images a program has."""
    try:
        plugins = ask_plugins((), dict(environment)).plugins
    except MissingToolError:
        return
    count = sum(len(row["devices"]) for row in plugins)
    if number and number >= count:
        numbers = f"; known numbers: {runs(range(count))}" if count else ""
        fail(f"--device {number}: {there_are(count, 'device')}{numbers}", WRONG_USAGE)
