# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Named tuples that are quick to define: the start of a command defines some eighty.

typing.NamedTuple compiles the annotation of each field, which takes four times as long as the rest
of its work. No code here reads annotations at run time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import NamedTuple
else:
    from collections import namedtuple

    class _Definition(type):
        """Makes a named tuple of the annotations in a class, as typing.NamedTuple does."""

        def __new__(cls, name, bases, namespace):
            if not bases:
                return super().__new__(cls, name, bases, namespace)
            fields = namespace.pop("__annotations__", {})
            defaults = [namespace.pop(field) for field in fields if field in namespace]
            module = namespace["__module__"]
            found = namedtuple(name, fields, defaults=defaults, module=module)
            found.__annotations__ = fields
            for key, value in namespace.items():
                setattr(found, key, value)
            return found

    class NamedTuple(metaclass=_Definition):
        """The base of named tuples."""


__all__ = ["NamedTuple"]
