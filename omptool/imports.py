# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Import click, pathlib and tabulate without modules that they rarely use.

These modules take a third of the start of a command: `inspect`, for instance, is imported for
`cleandoc`. During such an import a stand-in takes the module's place. It has the few names that are
used, and forwards all others to the module, which it imports then.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class StandIn(ModuleType):
    """Stands in for a module that has not been imported."""

    def __init__(self, name: str, **known: object) -> None:
        super().__init__(name)
        vars(self).update(known)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # those of the import system
            raise AttributeError(name)
        return getattr(self.module(), name)

    def module(self) -> ModuleType:
        """Import and return the module."""
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return import_module(self.__name__)

    def later(self, name: str) -> Callable[..., Any]:
        """Return a function that calls the module's function."""

        def call(*values: Any, **named: Any) -> Any:
            return getattr(self.module(), name)(*values, **named)

        return call


@contextmanager
def standing_in(*modules: StandIn) -> Iterator[None]:
    """Replace modules in the block, except those that have been imported."""
    placed = [one for one in modules if one.__name__ not in sys.modules]
    sys.modules.update({one.__name__: one for one in placed})
    try:
        yield
    finally:
        for one in placed:
            if sys.modules.get(one.__name__) is one:
                del sys.modules[one.__name__]


def import_click() -> None:
    """Import click and pathlib. Messages of click are not translated: it has no translations."""
    inspect = StandIn("inspect")
    vars(inspect)["cleandoc"] = lambda text: (
        inspect.module().cleandoc(text) if "\n" in text else text.expandtabs().lstrip()
    )
    url = StandIn("urllib.parse")
    vars(url)["quote_from_bytes"] = url.later("quote_from_bytes")
    with standing_in(url):
        import pathlib  # noqa: F401
    with standing_in(
        inspect,
        StandIn("gettext", gettext=lambda text: text, ngettext=_plural),
        StandIn("uuid", UUID=type("UUID", (), {})),  # types of options that no command has
        StandIn("datetime", datetime=type("datetime", (), {})),
    ):
        import click  # noqa: F401


def _plural(one: str, many: str, number: int) -> str:
    return one if number == 1 else many


def import_tabulate() -> Any:
    """Import and return tabulate."""
    if "tabulate" in sys.modules:
        return sys.modules["tabulate"]
    dataclasses = StandIn("dataclasses")
    vars(dataclasses)["is_dataclass"] = lambda of: hasattr(of, "__dataclass_fields__")
    html = StandIn("html")
    vars(html)["escape"] = html.later("escape")
    metadata = StandIn("importlib.metadata", version=lambda _: "unknown")
    vars(metadata)["PackageNotFoundError"] = LookupError
    wrapping = StandIn("textwrap", TextWrapper=object)  # for cells of several lines
    with standing_in(metadata, html, dataclasses, wrapping):
        return import_module("tabulate")
